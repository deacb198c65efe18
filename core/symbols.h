/* A library's functions by name, as they are found at run time. */
#ifndef GW_CORE_SYMBOLS_H
#define GW_CORE_SYMBOLS_H

#include <stddef.h>

/* A function, and where in a structure of pointers to functions its address goes. */
struct gw_symbol {
    const char *name;
    size_t place;
};

/*
 * Fills `calls` from a library that dlopen() gave, with NULL for what it does not have. The first
 * name that is missing, or NULL.
 */
const char *gw_find_symbols(void *library, const struct gw_symbol *symbols, size_t count,
                            void *calls);

#endif
