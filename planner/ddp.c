#include "planner/policies.h"

static const uint64_t first_bucket_bytes = 1 << 20;  /* torch's default for the first bucket */
static const uint64_t other_bucket_bytes = 25 << 20; /* bucket_cap_mb = 25 */

static enum gw_status mark(const struct gw_planning *planning, uint64_t argument, bool *ends,
                           struct gw_error *error) {
    (void)argument;
    (void)error;
    gw_close_at(planning->model, planning->model->bytes_per_element, first_bucket_bytes,
                other_bucket_bytes, ends);
    return GW_OK;
}

const struct gw_policy gw_policy_ddp = {
    .name = "ddp",
    .title = "buckets of 1 MiB, then 25 MiB",
    .paper = "PyTorch DistributedDataParallel's default",
    .mark = mark,
};
