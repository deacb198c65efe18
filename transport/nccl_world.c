/*
 * Communicators over NCCL. Whoever waits for the GPU looks for failures, and gives up in the end.
 * NCCL's calls themselves wait for other ranks where these connect for the first time; with
 * NCCL_COMM_BLOCKING=0 in the environment nothing of NCCL's waits, which takes NCCL a thread for
 * each call, and so is not asked for here.
 */
#include <stdlib.h>
#include <string.h>

#include "transport/nccl.h"

/* ---- failures ------------------------------------------------------------------------------ */

static enum gw_status check(const struct gw_nccl_world *world, ncclResult_t result,
                            const char *call, struct gw_error *error) {
    if (result == ncclSuccess || result == ncclInProgress) {
        return GW_OK;
    }
    const char *detail = world->calls->GetLastError(world->comm);
    bool more = detail != NULL && detail[0] != '\0';
    return gw_fail(error, GW_FAILED, "%s: %s%s%.200s", call, world->calls->GetErrorString(result),
                   more ? ": " : "", more ? detail : "");
}

/* What NCCL has put on the stream ends; the other ranks find out when they wait. */
static void give_up(struct gw_nccl_world *world) {
    if (world->comm != NULL) {
        (void)world->calls->CommAbort(world->comm);
        world->comm = NULL;
    }
}

/* ---- waiting ------------------------------------------------------------------------------- */

/* Whether NCCL has taken in what it was given, and the stream, if it is asked for, is through. */
static enum gw_status look(struct gw_nccl_world *world, const char *call, bool stream, bool *done,
                           struct gw_error *error) {
    ncclResult_t state = ncclSuccess;
    *done = false;
    GW_TRY(check(world, world->calls->CommGetAsyncError(world->comm, &state),
                 "ncclCommGetAsyncError", error));
    GW_TRY(check(world, state, call, error));
    if (state == ncclInProgress) {
        return GW_OK;
    }
    cudaError_t reached = stream ? cudaStreamQuery(world->stream) : cudaSuccess;
    *done = reached == cudaSuccess;
    if (reached == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* which is no error */
        return GW_OK;
    }
    return gw_cuda_check(reached, call, error);
}

static enum gw_status wait_for(struct gw_nccl_world *world, const char *call, bool stream,
                               struct gw_error *error) {
    double start_s = gw_clock_now_s();
    while (true) {
        bool done = false;
        GW_TRY(look(world, call, stream, &done, error));
        if (done) {
            return GW_OK;
        }
        double waited_s = gw_clock_now_s() - start_s;
        if (waited_s > world->timeout_s) {
            return gw_fail(error, GW_FAILED, "%s: not done after %g s: some rank may be lost", call,
                           world->timeout_s);
        }
        gw_gpu_rest(waited_s);
    }
}

static enum gw_status settle(struct gw_nccl_world *world, ncclResult_t result, const char *call,
                             bool stream, struct gw_error *error) {
    enum gw_status status = check(world, result, call, error);
    status = status == GW_OK ? wait_for(world, call, stream, error) : status;
    if (status != GW_OK) {
        give_up(world);
    }
    return status;
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

enum gw_status gw_nccl_finish(struct gw_nccl_world *world, ncclResult_t result, const char *call,
                              struct gw_error *error) {
    return settle(world, result, call, true, error);
}

/* ---- the end ------------------------------------------------------------------------------- */

static void free_world(struct gw_nccl_world *world) {
    if (world != NULL) {
        gw_device_free(gw_device_stream_device(world->base.settings.stream), world->padded);
        gw_nccl_forget_messages(world);
        free(world->nodes);
        free(world);
    }
}

static void close_comm(struct gw_nccl_world *world) {
    if (world->comm != NULL && settle(world, world->calls->CommFinalize(world->comm),
                                      "ncclCommFinalize", false, NULL) == GW_OK) {
        (void)world->calls->CommDestroy(world->comm);
    }
}

static void nccl_close(struct gw_communicator *communicator) {
    struct gw_nccl_world *world = communicator->state;
    struct gw_communicator host = world->base.host;
    (void)gw_cuda_stream(world->base.settings.stream);
    close_comm(world);
    free_world(world);
    host.transport->close(&host);
}

static const struct gw_transport nccl_transport = {
    .name = "nccl",
    .allgather = gw_nccl_allgather,
    .allgather_unequal = gw_nccl_allgather_unequal,
    .allreduce = gw_nccl_allreduce,
    .broadcast = gw_nccl_broadcast,
    .reduce = gw_nccl_reduce,
    .gather = gw_nccl_gather,
    .scatter = gw_nccl_scatter,
    .barrier = gw_gpu_barrier,
    .start_send = gw_nccl_start_send,
    .start_receive = gw_nccl_start_receive,
    .wait = gw_nccl_wait,
    .post = gw_gpu_post,
    .poll = gw_gpu_poll,
    .open_first = gw_gpu_open_first,
    .abort = gw_gpu_abort,
    .close = nccl_close,
};

/* ---- the beginning ------------------------------------------------------------------------- */

static enum gw_status make_world(struct gw_communicator *out, struct gw_communicator base,
                                 const struct gw_gpu_settings *settings, struct gw_error *error) {
    struct gw_nccl_world *world = calloc(1, sizeof *world);
    GW_TRY(gw_gpu_base_open(out, &nccl_transport, world == NULL ? NULL : &world->base, base,
                            settings, gw_gpu_open_nccl, error));
    world->calls = gw_nccl_calls();
    world->stream = gw_cuda_stream(settings->stream);
    world->timeout_s = settings->timeout_s > 0 ? settings->timeout_s : GW_GPU_TIMEOUT_S;
    world->nodes = calloc((size_t)base.size, sizeof *world->nodes);
    return world->calls == NULL   ? gw_nccl_need(error)
           : world->nodes == NULL ? gw_fail_memory(error, "opening a communicator over NCCL")
                                  : GW_OK;
}

static enum gw_status find_nodes(struct gw_nccl_world *world, struct gw_error *error) {
    struct gw_communicator *host = &world->base.host;
    char(*hosts)[GW_HOST_SIZE] = calloc((size_t)host->size, sizeof *hosts);
    enum gw_status status =
        hosts == NULL ? gw_fail_memory(error, "opening a communicator over NCCL") : GW_OK;
    status = gw_agree(host, status, error);
    status = status == GW_OK ? gw_gather_hosts(host, hosts, error) : status;
    for (int rank = 0; rank < host->size && status == GW_OK; rank++) {
        int *of = &world->nodes[rank].of;
        while (strcmp(hosts[*of], hosts[rank]) != 0) {
            (*of)++;
        }
        world->nodes[*of].ranks++;
    }
    free(hosts);
    return status;
}

/* Rank 0's name for the communicator, on all. */
static enum gw_status agree_on_id(struct gw_nccl_world *world, ncclUniqueId *id,
                                  struct gw_error *error) {
    struct gw_communicator *host = &world->base.host;
    enum gw_status status = GW_OK;
    if (host->rank == 0) {
        status = check(world, world->calls->GetUniqueId(id), "ncclGetUniqueId", error);
    }
    GW_TRY(gw_agree(host, status, error));
    return host->transport->broadcast(host, 0, id, sizeof *id, error);
}

static enum gw_status join(struct gw_nccl_world *world, struct gw_error *error) {
    struct gw_communicator *host = &world->base.host;
    ncclUniqueId id = {{0}};
    GW_TRY(find_nodes(world, error));
    GW_TRY(agree_on_id(world, &id, error));
    ncclResult_t result = world->calls->CommInitRank(&world->comm, host->size, id, host->rank);
    enum gw_status status = settle(world, result, "ncclCommInitRank", false, error);
    return gw_agree(host, status, error);
}

enum gw_status gw_gpu_open_nccl(struct gw_communicator *out, struct gw_communicator base,
                                const struct gw_gpu_settings *settings, struct gw_error *error) {
    enum gw_status status = make_world(out, base, settings, error);
    status = gw_agree(&base, status, error);
    status = status == GW_OK ? join(out->state, error) : status;
    if (status != GW_OK) {
        struct gw_nccl_world *world = out->state;
        if (world != NULL) {
            give_up(world);
        }
        free_world(world);
        base.transport->close(&base);
        *out = (struct gw_communicator){0};
    }
    return status;
}
