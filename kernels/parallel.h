/* Work that is shared among threads; private to kernels/. */
#ifndef GW_KERNELS_PARALLEL_H
#define GW_KERNELS_PARALLEL_H

#include <stddef.h>

/*
 * Calls work(part, context) once for every part < parts, on so many threads, but no more than there
 * are cores; 0 threads are as 1.
 */
void gw_parallel(size_t parts, size_t threads, void (*work)(size_t part, void *context),
                 void *context);

#endif
