/*
 * Memory of GPUs over a transport that takes pointers to it, as MPI libraries built with CUDA do.
 * They do not know of streams: what the stream has to do is done before they are called.
 */
#include <stdlib.h>

#include "transport/gpu_base.h"

static enum gw_status aware_collect(struct gw_communicator *communicator,
                                    const struct gw_collective_call *call, struct gw_error *error) {
    struct gw_gpu_base *base = gw_gpu_base(communicator);
    GW_TRY(gw_device_stream_finish(base->settings.stream, error));
    return base->host.transport->collect(&base->host, call, error);
}

static enum gw_status aware_start(struct gw_communicator *communicator,
                                  const struct gw_message *message, struct gw_request *out,
                                  struct gw_error *error) {
    struct gw_gpu_base *base = gw_gpu_base(communicator);
    GW_TRY(gw_device_stream_finish(base->settings.stream, error));
    return base->host.transport->start(&base->host, message, out, error);
}

static enum gw_status aware_wait(struct gw_communicator *communicator, struct gw_request *requests,
                                 size_t count, struct gw_error *error) {
    struct gw_gpu_base *base = gw_gpu_base(communicator);
    GW_TRY(gw_device_stream_finish(base->settings.stream, error));
    return base->host.transport->wait(&base->host, requests, count, error);
}

static void aware_close(struct gw_communicator *communicator) {
    struct gw_communicator *host = &gw_gpu_base(communicator)->host;
    host->transport->close(host);
    free(communicator->state);
}

static const struct gw_transport aware_transport = {
    .name = "cuda-aware",
    .collect = aware_collect,
    .barrier = gw_gpu_barrier,
    .start = aware_start,
    .wait = aware_wait,
    .post = gw_gpu_post,
    .poll = gw_gpu_poll,
    .open_first = gw_gpu_open_first,
    .abort = gw_gpu_abort,
    .close = aware_close,
};

enum gw_status gw_gpu_open_cuda_aware(struct gw_communicator *out, struct gw_communicator base,
                                      const struct gw_gpu_settings *settings,
                                      struct gw_error *error) {
    struct gw_gpu_base *state = malloc(sizeof *state);
    enum gw_status status = gw_gpu_base_open(out, &aware_transport, state, base, settings,
                                             gw_gpu_open_cuda_aware, error);
    status = gw_agree(&base, status, error);
    if (status != GW_OK) {
        free(state);
        base.transport->close(&base);
        *out = (struct gw_communicator){0};
    }
    return status;
}
