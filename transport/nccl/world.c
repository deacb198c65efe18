/*
 * Communicators over NCCL. A rank that waits for the GPU polls for failures of other ranks, and
 * gives up after a timeout.
 *
 * NCCL's calls themselves wait for other ranks when these connect for the first time: opening and
 * ending do so on threads of their own (open.c). A first collective or message may still wait
 * without end, if a rank is lost just then. With NCCL_COMM_BLOCKING=0 in the environment no call of
 * NCCL waits; NCCL then needs a thread for each call, so this is not the default here.
 * ncclCommAbort from another thread does not end a call either: NCCL promises that only for
 * non-blocking communicators, and within a node it waits itself until all ranks have called it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "transport/nccl/nccl.h"

/* ---- calls that may be abandoned ----------------------------------------------------------- */

struct gw_nccl_async {
    void (*call)(void *context);
    void (*dispose)(void *context);
    void *context;
    int gpu;
    pthread_t thread;
    pthread_mutex_t mutex; /* of the members below */
    bool done, left;       /* left: the call was abandoned */
};

static void free_async(struct gw_nccl_async *aside) {
    pthread_mutex_destroy(&aside->mutex);
    free(aside);
}

static void *run_async(void *argument) {
    struct gw_nccl_async *aside = argument;
    (void)cudaSetDevice(aside->gpu);
    aside->call(aside->context);
    pthread_mutex_lock(&aside->mutex);
    aside->done = true;
    bool left = aside->left;
    pthread_mutex_unlock(&aside->mutex);
    if (left) {
        aside->dispose(aside->context);
        free_async(aside);
    }
    return NULL;
}

enum gw_status gw_nccl_async_start(struct gw_nccl_async **out, void (*call)(void *context),
                                   void (*dispose)(void *context), void *context,
                                   struct gw_error *error) {
    struct gw_nccl_async *aside = malloc(sizeof *aside);
    if (aside == NULL) {
        return gw_fail_memory(error, "a call of NCCL");
    }
    *aside = (struct gw_nccl_async){.call = call, .dispose = dispose, .context = context};
    (void)cudaGetDevice(&aside->gpu);
    pthread_mutex_init(&aside->mutex, NULL);
    int failure = pthread_create(&aside->thread, NULL, run_async, aside);
    if (failure != 0) {
        free_async(aside);
        return gw_fail(error, GW_FAILED, "pthread_create: %s", strerror(failure));
    }
    *out = aside;
    return GW_OK;
}

bool gw_nccl_async_is_done(struct gw_nccl_async *aside) {
    pthread_mutex_lock(&aside->mutex);
    bool done = aside->done;
    pthread_mutex_unlock(&aside->mutex);
    return done;
}

bool gw_nccl_async_end(struct gw_nccl_async *aside) {
    pthread_mutex_lock(&aside->mutex);
    bool done = aside->done;
    aside->left = !done;
    if (!done) {
        (void)pthread_detach(aside->thread);
    }
    pthread_mutex_unlock(&aside->mutex);
    if (done) {
        (void)pthread_join(aside->thread, NULL);
        free_async(aside);
    }
    return done;
}

/* ---- failures ------------------------------------------------------------------------------ */

enum gw_status gw_nccl_check(const struct gw_nccl_world *world, ncclResult_t result,
                             const char *call, struct gw_error *error) {
    if (result == ncclSuccess || result == ncclInProgress) {
        return GW_OK;
    }
    const char *detail = world->calls->GetLastError(world->comm);
    bool more = detail != NULL && detail[0] != '\0';
    return gw_fail(error, GW_FAILED, "%s: %s%s%.200s", call, world->calls->GetErrorString(result),
                   more ? ": " : "", more ? detail : "");
}

/* Fails if another rank has failed. */
static enum gw_status check_others(struct gw_nccl_world *world, struct gw_error *error) {
    struct gw_communicator *news = &world->news;
    struct gw_error failure = {0};
    size_t bytes = 0;
    int from = -1;
    GW_TRY(news->transport->poll(news, &failure, sizeof failure, &bytes, &from, error));
    if (from < 0) {
        return GW_OK;
    }
    world->announced = true;
    return gw_fail(error, GW_FAILED, "rank %d: %.480s", from, failure.message);
}

struct ending {
    const struct gw_nccl_calls *calls;
    ncclComm_t comm;
};

static void run_ending(void *context) {
    const struct ending *ending = context;
    (void)ending->calls->CommAbort(ending->comm);
}

/*
 * ncclCommAbort may wait until all ranks of the node call it too, and one of them may be lost, or
 * wait for this rank elsewhere. So it is abandoned after a while; meanwhile control messages leave.
 */
void gw_nccl_abort(struct gw_nccl_world *world) {
    const double longest_s = 2;
    double start_s = gw_clock_now_s();
    struct gw_nccl_async *aside = NULL;
    struct ending *ending = world->comm == NULL ? NULL : malloc(sizeof *ending);
    if (ending == NULL) {
        return;
    }
    *ending = (struct ending){world->calls, world->comm};
    world->comm = NULL;
    if (gw_nccl_async_start(&aside, run_ending, free, ending, NULL) != GW_OK) {
        free(ending);
        return;
    }
    while (!gw_nccl_async_is_done(aside) && gw_clock_now_s() - start_s < longest_s) {
        if (world->news.transport != NULL) {
            (void)check_others(world, NULL);
        }
        gw_gpu_rest(gw_clock_now_s() - start_s);
    }
    if (gw_nccl_async_end(aside)) {
        free(ending);
    }
}

/* Tells other ranks first, as NCCL would not, at least not those of the node: they may have to
 * abort too, before this rank can. */
enum gw_status gw_nccl_give_up(struct gw_nccl_world *world, const struct gw_error *failure,
                               struct gw_error *error) {
    struct gw_communicator *news = &world->news;
    for (int rank = 0; rank < news->size && !world->announced; rank++) {
        if (rank != news->rank) {
            (void)news->transport->post(news, rank, failure, sizeof *failure, NULL);
        }
    }
    world->announced = true;
    gw_nccl_abort(world);
    return gw_fail(error, failure->status, "%s", failure->message);
}

/* ---- waiting ------------------------------------------------------------------------------- */

/* Sets *done if NCCL has accepted its call and, with `stream`, the stream's work is done. */
static enum gw_status poll_call(struct gw_nccl_world *world, const char *call, bool stream,
                                bool *done, struct gw_error *error) {
    ncclResult_t state = ncclSuccess;
    *done = false;
    GW_TRY(gw_nccl_check(world, world->calls->CommGetAsyncError(world->comm, &state),
                         "ncclCommGetAsyncError", error));
    GW_TRY(gw_nccl_check(world, state, call, error));
    if (state == ncclInProgress) {
        return GW_OK;
    }
    cudaError_t reached = stream ? cudaStreamQuery(world->stream) : cudaSuccess;
    *done = reached == cudaSuccess;
    if (reached == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* clears "not ready", which is no error */
        return GW_OK;
    }
    return gw_cuda_check(reached, call, error);
}

enum gw_status gw_nccl_rest(struct gw_nccl_world *world, const char *call,
                            struct gw_nccl_wait *wait, struct gw_error *error) {
    const double check_interval_s = 1e-3; /* as long as many collectives */
    double waited_s = gw_clock_now_s() - wait->start_s;
    if (waited_s > wait->heard_s + check_interval_s) {
        wait->heard_s = waited_s;
        GW_TRY(check_others(world, error));
    }
    if (waited_s > world->timeout_s) {
        return gw_fail(error, GW_FAILED, "%s: not done after %g s: some rank may be lost", call,
                       world->timeout_s);
    }
    gw_gpu_rest(waited_s);
    return GW_OK;
}

static enum gw_status wait_for_call(struct gw_nccl_world *world, const char *call, bool stream,
                                    struct gw_error *error) {
    struct gw_nccl_wait wait = {.start_s = gw_clock_now_s()};
    while (true) {
        bool done = false;
        GW_TRY(poll_call(world, call, stream, &done, error));
        if (done) {
            return GW_OK;
        }
        GW_TRY(gw_nccl_rest(world, call, &wait, error));
    }
}

enum gw_status gw_nccl_wait_for(struct gw_nccl_world *world, ncclResult_t result, const char *call,
                                bool stream, struct gw_error *error) {
    struct gw_error failure = {0};
    enum gw_status status = gw_nccl_check(world, result, call, &failure);
    status = status == GW_OK ? wait_for_call(world, call, stream, &failure) : status;
    return status == GW_OK ? GW_OK : gw_nccl_give_up(world, &failure, error);
}

enum gw_status gw_nccl_enter(struct gw_communicator *communicator, struct gw_nccl_world **out,
                             struct gw_error *error) {
    struct gw_nccl_world *world = communicator->state;
    (void)gw_cuda_stream(world->base.settings.stream);
    *out = world;
    return world->comm != NULL
               ? GW_OK
               : gw_fail(error, GW_FAILED, "this communicator over NCCL has failed before");
}

/* ---- the end ------------------------------------------------------------------------------- */

void gw_nccl_close(struct gw_communicator *communicator) {
    struct gw_nccl_world *world = communicator->state;
    (void)gw_cuda_stream(world->base.settings.stream);
    if (world->comm != NULL && gw_nccl_wait_for(world, world->calls->CommFinalize(world->comm),
                                                "ncclCommFinalize", false, NULL) == GW_OK) {
        (void)world->calls->CommDestroy(world->comm);
    }
    if (world->news.transport != NULL) {
        world->news.transport->close(&world->news);
    }
    free(world->messages);
}
