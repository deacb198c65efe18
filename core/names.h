/* Corrections of misspelt names, and names of files. */
#ifndef GW_CORE_NAMES_H
#define GW_CORE_NAMES_H

#include <stdbool.h>

/* True if two names differ only in case, and in hyphens, underscores and spaces that are not
 * between digits: GPT-2 is gpt2. */
bool gw_names_agree(const char *a, const char *b);

/*
 * The nearest of the names (ended by NULL) if it is near enough, ignoring case, and has no other
 * number; else the first that continues the text with a hyphen, as bert-base for "BERT". NULL:
 * there is none, or one equals the text.
 */
const char *gw_find_nearest(const char *text, const char *const *names);

/* A file's name without folder and suffix, which the caller frees; NULL: no memory. */
char *gw_name_after(const char *path);

/* Prints "Did you mean ...?" on stderr, if there is a near name. */
void gw_print_nearest(const char *text, const char *const *names);

#endif
