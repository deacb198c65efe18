/* Which name was meant by a misspelt one. */
#ifndef GW_CORE_NAMES_H
#define GW_CORE_NAMES_H

/* The nearest of the names (ended by NULL), if it is so near that it may be meant; or NULL. */
const char *gw_find_nearest(const char *text, const char *const *names);

/* "Did you mean ...?" on stderr, if there is one. */
void gw_print_nearest(const char *text, const char *const *names);

#endif
