/*
 * Memory of GPUs over a transport that takes pointers to it, as MPI libraries built with CUDA do.
 * They do not know of streams: what the stream has to do is done before they are called.
 */
#include <stdlib.h>

#include "transport/gpu_base.h"

/* The communicator that does the work, once the stream has done its own. */
static enum gw_status enter(struct gw_communicator *communicator, struct gw_communicator **host,
                            struct gw_error *error) {
    struct gw_gpu_base *base = gw_gpu_base(communicator);
    *host = &base->host;
    return gw_device_stream_finish(base->settings.stream, error);
}

static enum gw_status aware_allgather(struct gw_communicator *communicator, const void *send,
                                      size_t bytes, void *receive, struct gw_error *error) {
    struct gw_communicator *host = NULL;
    GW_TRY(enter(communicator, &host, error));
    return host->transport->allgather(host, send, bytes, receive, error);
}

static enum gw_status aware_allgather_unequal(struct gw_communicator *communicator,
                                              const void *send, const size_t *bytes, void *receive,
                                              struct gw_error *error) {
    struct gw_communicator *host = NULL;
    GW_TRY(enter(communicator, &host, error));
    return host->transport->allgather_unequal(host, send, bytes, receive, error);
}

static enum gw_status aware_allreduce(struct gw_communicator *communicator, const float *send,
                                      float *receive, size_t count, struct gw_error *error) {
    struct gw_communicator *host = NULL;
    GW_TRY(enter(communicator, &host, error));
    return host->transport->allreduce(host, send, receive, count, error);
}

static enum gw_status aware_broadcast(struct gw_communicator *communicator, int root, void *data,
                                      size_t bytes, struct gw_error *error) {
    struct gw_communicator *host = NULL;
    GW_TRY(enter(communicator, &host, error));
    return host->transport->broadcast(host, root, data, bytes, error);
}

static enum gw_status aware_reduce(struct gw_communicator *communicator, int root,
                                   const float *send, float *receive, size_t count,
                                   struct gw_error *error) {
    struct gw_communicator *host = NULL;
    GW_TRY(enter(communicator, &host, error));
    return host->transport->reduce(host, root, send, receive, count, error);
}

static enum gw_status aware_gather(struct gw_communicator *communicator, int root, const void *send,
                                   size_t bytes, void *receive, struct gw_error *error) {
    struct gw_communicator *host = NULL;
    GW_TRY(enter(communicator, &host, error));
    return host->transport->gather(host, root, send, bytes, receive, error);
}

static enum gw_status aware_scatter(struct gw_communicator *communicator, int root,
                                    const void *send, size_t bytes, void *receive,
                                    struct gw_error *error) {
    struct gw_communicator *host = NULL;
    GW_TRY(enter(communicator, &host, error));
    return host->transport->scatter(host, root, send, bytes, receive, error);
}

static enum gw_status aware_start_send(struct gw_communicator *communicator, int to,
                                       const void *data, size_t bytes, struct gw_request *out,
                                       struct gw_error *error) {
    struct gw_communicator *host = NULL;
    GW_TRY(enter(communicator, &host, error));
    return host->transport->start_send(host, to, data, bytes, out, error);
}

static enum gw_status aware_start_receive(struct gw_communicator *communicator, int from,
                                          void *data, size_t bytes, struct gw_request *out,
                                          struct gw_error *error) {
    struct gw_communicator *host = NULL;
    GW_TRY(enter(communicator, &host, error));
    return host->transport->start_receive(host, from, data, bytes, out, error);
}

static enum gw_status aware_wait(struct gw_communicator *communicator, struct gw_request *requests,
                                 size_t count, struct gw_error *error) {
    struct gw_communicator *host = NULL;
    GW_TRY(enter(communicator, &host, error));
    return host->transport->wait(host, requests, count, error);
}

static void aware_close(struct gw_communicator *communicator) {
    struct gw_communicator *host = &gw_gpu_base(communicator)->host;
    host->transport->close(host);
    free(communicator->state);
}

static const struct gw_transport aware_transport = {
    .name = "cuda-aware",
    .allgather = aware_allgather,
    .allgather_unequal = aware_allgather_unequal,
    .allreduce = aware_allreduce,
    .broadcast = aware_broadcast,
    .reduce = aware_reduce,
    .gather = aware_gather,
    .scatter = aware_scatter,
    .barrier = gw_gpu_barrier,
    .start_send = aware_start_send,
    .start_receive = aware_start_receive,
    .wait = aware_wait,
    .post = gw_gpu_post,
    .poll = gw_gpu_poll,
    .open_first = gw_gpu_open_first,
    .abort = gw_gpu_abort,
    .close = aware_close,
};

enum gw_status gw_gpu_open_aware(struct gw_communicator *out, struct gw_communicator base,
                                 const struct gw_gpu_settings *settings, struct gw_error *error) {
    struct gw_gpu_base *state = malloc(sizeof *state);
    enum gw_status status =
        gw_gpu_base_open(out, &aware_transport, state, base, settings, gw_gpu_open_aware, error);
    status = gw_agree(&base, status, error);
    if (status != GW_OK) {
        free(state);
        base.transport->close(&base);
        *out = (struct gw_communicator){0};
    }
    return status;
}
