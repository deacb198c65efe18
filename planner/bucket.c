#include "planner/policies.h"

static enum gw_status mark(const struct gw_planning *planning, uint64_t argument, bool *ends,
                           struct gw_error *error) {
    (void)error;
    gw_close_at(planning->model, planning->model->bytes_per_element, argument, argument, ends);
    return GW_OK;
}

const struct gw_policy gw_policy_bucket = {
    .name = "bucket",
    .title = "close a group as soon as its gradients hold that many bytes",
    .paper = "tensor fusion (Horovod: 64 MiB)",
    .argument = "bytes",
    .default_argument = 67108864,
    .mark = mark,
};
