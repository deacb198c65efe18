#include "core/parallel.h"

#ifdef _OPENMP
#include <omp.h>
#endif

size_t gw_cores(void) {
#ifdef _OPENMP
    return (size_t)omp_get_num_procs();
#else
    return 1;
#endif
}

void gw_parallel(size_t parts, size_t threads, void (*work)(size_t part, void *context),
                 void *context) {
#ifdef _OPENMP
    if (parts > 1 && threads > 1) {
        size_t useful = threads < parts ? threads : parts;
        size_t cores = gw_cores();
        int team = (int)(useful < cores ? useful : cores);
#pragma omp parallel for num_threads(team) schedule(dynamic)
        for (size_t part = 0; part < parts; part++) {
            work(part, context);
        }
        return;
    }
#else
    (void)threads;
#endif
    for (size_t part = 0; part < parts; part++) {
        work(part, context);
    }
}
