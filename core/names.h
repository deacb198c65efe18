/* Which name was meant by a misspelt one, and what is named after a file. */
#ifndef GW_CORE_NAMES_H
#define GW_CORE_NAMES_H

#include <stdbool.h>

/*
 * Whether two names differ in nothing but case, and hyphens, underscores and spaces that are not
 * between digits: GPT-2 is gpt2.
 */
bool gw_names_agree(const char *a, const char *b);

/*
 * The nearest of the names (ended by NULL) if it is so near that it may be meant, whatever its
 * case, and has no other number in it; else the first that goes on behind the text with a hyphen,
 * as bert-base behind "BERT". NULL: there is none, or one is just the text.
 */
const char *gw_find_nearest(const char *text, const char *const *names);

/* A file's name without folder and ending, the caller's to free; NULL: no memory. */
char *gw_name_after(const char *path);

/* "Did you mean ...?" on stderr, if there is one. */
void gw_print_nearest(const char *text, const char *const *names);

#endif
