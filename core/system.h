/* What the operating system gives: threads, and libraries found at run time. */
#ifndef GW_CORE_SYSTEM_H
#define GW_CORE_SYSTEM_H

#include <stddef.h>

/* ---- threads --------------------------------------------------------------------------------- */

/*
 * Calls work(part, context) once for every part < parts, on so many threads, but no more than there
 * are cores, or than the system has to give; 0 threads are as 1. What is shared already is not
 * shared again.
 */
void gw_parallel(size_t parts, size_t threads, void (*work)(size_t part, void *context),
                 void *context);

/* How many threads of this process run at a time at most. */
size_t gw_cores(void);

/* ---- libraries ------------------------------------------------------------------------------- */

/* A library's functions by name, as they are found at run time. */

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
