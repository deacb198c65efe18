/* Which name was meant by a misspelt one, and what is named after a file. */
#ifndef GW_CORE_NAMES_H
#define GW_CORE_NAMES_H

/* The nearest of the names (ended by NULL), if it is so near that it may be meant; or NULL. */
const char *gw_find_nearest(const char *text, const char *const *names);

/* A file's name without folder and ending, the caller's to free; NULL: no memory. */
char *gw_name_after(const char *path);

/* "Did you mean ...?" on stderr, if there is one. */
void gw_print_nearest(const char *text, const char *const *names);

#endif
