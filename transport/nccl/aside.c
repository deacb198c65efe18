#include "transport/nccl/aside.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda.h"

struct gw_nccl_aside {
    void (*call)(void *context);
    void (*dispose)(void *context);
    void *context;
    int gpu;
    pthread_t thread;
    pthread_mutex_t mutex; /* of what follows */
    bool done, left;       /* left: nobody waits for it any more */
};

static void free_aside(struct gw_nccl_aside *aside) {
    pthread_mutex_destroy(&aside->mutex);
    free(aside);
}

static void *run(void *argument) {
    struct gw_nccl_aside *aside = argument;
    (void)cudaSetDevice(aside->gpu);
    aside->call(aside->context);
    pthread_mutex_lock(&aside->mutex);
    aside->done = true;
    bool left = aside->left;
    pthread_mutex_unlock(&aside->mutex);
    if (left) {
        aside->dispose(aside->context);
        free_aside(aside);
    }
    return NULL;
}

enum gw_status gw_nccl_aside_start(struct gw_nccl_aside **out, void (*call)(void *context),
                                   void (*dispose)(void *context), void *context,
                                   struct gw_error *error) {
    struct gw_nccl_aside *aside = malloc(sizeof *aside);
    if (aside == NULL) {
        return gw_fail_memory(error, "a call of NCCL");
    }
    *aside = (struct gw_nccl_aside){.call = call, .dispose = dispose, .context = context};
    (void)cudaGetDevice(&aside->gpu);
    pthread_mutex_init(&aside->mutex, NULL);
    int failure = pthread_create(&aside->thread, NULL, run, aside);
    if (failure != 0) {
        free_aside(aside);
        return gw_fail(error, GW_FAILED, "pthread_create: %s", strerror(failure));
    }
    *out = aside;
    return GW_OK;
}

bool gw_nccl_aside_is_done(struct gw_nccl_aside *aside) {
    pthread_mutex_lock(&aside->mutex);
    bool done = aside->done;
    pthread_mutex_unlock(&aside->mutex);
    return done;
}

bool gw_nccl_aside_end(struct gw_nccl_aside *aside) {
    pthread_mutex_lock(&aside->mutex);
    bool done = aside->done;
    aside->left = !done;
    if (!done) {
        (void)pthread_detach(aside->thread);
    }
    pthread_mutex_unlock(&aside->mutex);
    if (done) {
        (void)pthread_join(aside->thread, NULL);
        free_aside(aside);
    }
    return done;
}
