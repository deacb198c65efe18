/* Work that is shared among threads, where OpenMP is built in; otherwise done one by one. */
#ifndef GW_CORE_PARALLEL_H
#define GW_CORE_PARALLEL_H

#include <stddef.h>

/*
 * Calls work(part, context) once for every part < parts, on so many threads, but no more than there
 * are cores; 0 threads are as 1.
 */
void gw_parallel(size_t parts, size_t threads, void (*work)(size_t part, void *context),
                 void *context);

/* How many threads run at a time at most. */
size_t gw_cores(void);

#endif
