/*
 * Memory of GPUs over a transport that takes pointers to it, as MPI libraries built with CUDA do.
 * They do not know of streams: what the stream has to do is done before they are called.
 */
#include <stdlib.h>

#include "transport/gpu_base.h"

#define LIST(...) __VA_ARGS__

/* aware_CALL, with these parameters, waits for the stream and calls the host's CALL. */
#define AWARE(CALL, ARGUMENTS, ...)                                                                \
    static enum gw_status aware_##CALL(struct gw_communicator *communicator, __VA_ARGS__,          \
                                       struct gw_error *error) {                                   \
        struct gw_gpu_base *base = gw_gpu_base(communicator);                                      \
        GW_TRY(gw_device_stream_finish(base->settings.stream, error));                             \
        return base->host.transport->CALL(&base->host, LIST ARGUMENTS, error);                     \
    }

AWARE(allgather, (send, bytes, receive), const void *send, size_t bytes, void *receive)
AWARE(allgather_unequal, (send, bytes, receive), const void *send, const size_t *bytes,
      void *receive)
AWARE(allreduce, (send, receive, count), const float *send, float *receive, size_t count)
AWARE(broadcast, (root, data, bytes), int root, void *data, size_t bytes)
AWARE(reduce, (root, send, receive, count), int root, const float *send, float *receive,
      size_t count)
AWARE(gather, (root, send, bytes, receive), int root, const void *send, size_t bytes, void *receive)
AWARE(scatter, (root, send, bytes, receive), int root, const void *send, size_t bytes,
      void *receive)
AWARE(start_send, (to, data, bytes, out), int to, const void *data, size_t bytes,
      struct gw_request *out)
AWARE(start_receive, (from, data, bytes, out), int from, void *data, size_t bytes,
      struct gw_request *out)
AWARE(wait, (requests, count), struct gw_request *requests, size_t count)

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
