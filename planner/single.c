#include "planner/policies.h"

static enum gw_status mark(const struct gw_planning *planning, uint64_t argument, bool *ends,
                           struct gw_error *error) {
    (void)planning;
    (void)argument;
    (void)error;
    ends[0] = true;
    return GW_OK;
}

const struct gw_policy gw_policy_single = {
    .name = "single",
    .title = "all tensors in one group",
    .paper = "TopK-SGD",
    .mark = mark,
};
