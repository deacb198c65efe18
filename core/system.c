#include "core/system.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

/* ---- threads --------------------------------------------------------------------------------- */

enum { MAX_HELPERS = 255 };

struct team {
    size_t parts;
    atomic_size_t next;
    bool is_shared;
    void (*work)(size_t part, void *context);
    void *context;
};

/* A part of shared work runs nested work on its own thread: other threads have their own parts. */
static _Thread_local bool is_working;

size_t gw_cores(void) {
    cpu_set_t ours;
    return sched_getaffinity(0, sizeof ours, &ours) == 0 ? (size_t)CPU_COUNT(&ours) : 1;
}

static void *take_parts(void *argument) {
    struct team *team = argument;
    bool before = is_working;
    is_working = before || team->is_shared;
    for (size_t part; (part = atomic_fetch_add(&team->next, 1)) < team->parts;) {
        team->work(part, team->context);
    }
    is_working = before;
    return NULL;
}

/* The number of helpers: at most that of parts and of cores, besides the caller's thread. */
static size_t count_helpers(size_t parts, size_t threads) {
    if (parts < 2 || threads < 2 || is_working) {
        return 0;
    }
    size_t useful = threads < parts ? threads : parts;
    size_t cores = gw_cores();
    size_t helpers = (useful < cores ? useful : cores) - 1;
    return helpers < MAX_HELPERS ? helpers : MAX_HELPERS;
}

void gw_parallel(size_t parts, size_t threads, void (*work)(size_t part, void *context),
                 void *context) {
    pthread_t helpers[MAX_HELPERS];
    size_t wanted = count_helpers(parts, threads);
    size_t count = 0;
    struct team team = {.parts = parts, .is_shared = wanted > 0, .work = work, .context = context};
    /* If no more threads can be started, the existing ones do all the work. */
    while (count < wanted && pthread_create(&helpers[count], NULL, take_parts, &team) == 0) {
        count++;
    }
    (void)take_parts(&team);
    while (count > 0) {
        (void)pthread_join(helpers[--count], NULL);
    }
}

/* ---- libraries ------------------------------------------------------------------------------- */

const char *gw_find_symbols(void *library, const struct gw_symbol *symbols, size_t count,
                            void *calls) {
    const char *missing = NULL;
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        memcpy((char *)calls + symbols[i].place, &symbol, sizeof symbol); /* as POSIX requires */
        missing = symbol == NULL && missing == NULL ? symbols[i].name : missing;
    }
    return missing;
}
