/* Services of the operating system: threads, and libraries loaded at run time. */
#ifndef GW_CORE_SYSTEM_H
#define GW_CORE_SYSTEM_H

#include <stddef.h>

/* ---- threads --------------------------------------------------------------------------------- */

/* Calls work(part, context) once for every part < parts, on that many threads, but at most the
 * number of cores, or as many as can be started; 0 threads mean 1. Nested calls use one thread. */
void gw_parallel(size_t parts, size_t threads, void (*work)(size_t part, void *context),
                 void *context);

/* The maximum number of threads of this process that run at a time. */
size_t gw_cores(void);

/* ---- libraries ------------------------------------------------------------------------------- */

/* A library's functions by name, found at run time. */

/* A function, and the offset of its address in a structure of function pointers. */
struct gw_symbol {
    const char *name;
    size_t place;
};

/* Fills `calls` from a library that dlopen() gave, with NULL for missing functions. Returns the
 * first missing name, or NULL. */
const char *gw_find_symbols(void *library, const struct gw_symbol *symbols, size_t count,
                            void *calls);

#endif
