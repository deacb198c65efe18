/* What a build without NCCL answers. */
#include "transport/gpu_base.h"

const char *gw_nccl_version(void) {
    return NULL;
}

enum gw_status gw_nccl_need(struct gw_error *error) {
    return gw_fail(error, GW_BAD_INPUT,
                   "this gradweave was built without NCCL: expected a build with it, or MPI as the "
                   "transport (gradweave --version says what is in)");
}

enum gw_status gw_gpu_open_nccl(struct gw_communicator *out, struct gw_communicator base,
                                const struct gw_gpu_settings *settings, struct gw_error *error) {
    (void)settings;
    *out = (struct gw_communicator){0};
    base.transport->close(&base);
    return gw_nccl_need(error);
}
