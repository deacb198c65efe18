/* A build without CUDA: there is no stream to call this with. */
#include "exec/gpu_kernels.h"

static enum gw_status refuse(struct gw_error *error) {
    return gw_fail(error, GW_BAD_INPUT, "expected a GPU: this build has no CUDA in it");
}

enum gw_status gw_gpu_hold(uint64_t *clock, uint64_t nanoseconds, bool continues,
                           struct gw_device_stream *stream, struct gw_error *error) {
    (void)clock, (void)nanoseconds, (void)continues, (void)stream;
    return refuse(error);
}
