#include "core/system.h"

#include <dlfcn.h>
#include <string.h>

/* ---- threads --------------------------------------------------------------------------------- */

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
        /* NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores): the pragma reads it */
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

/* ---- libraries ------------------------------------------------------------------------------- */

const char *gw_find_symbols(void *library, const struct gw_symbol *symbols, size_t count,
                            void *calls) {
    const char *missing = NULL;
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        memcpy((char *)calls + symbols[i].place, &symbol, sizeof symbol); /* as POSIX asks for */
        missing = symbol == NULL && missing == NULL ? symbols[i].name : missing;
    }
    return missing;
}
