/* Memory of GPUs over a transport that takes pointers to it, as MPI libraries built with CUDA do.
 * These libraries do not know streams, so each call first waits for the stream's work. */
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
    .close = gw_gpu_close,
};

const struct gw_gpu_kind gw_gpu_cuda_aware = {.transport = &aware_transport,
                                              .state_bytes = sizeof(struct gw_gpu_base)};
