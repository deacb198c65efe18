#include "planner/policies.h"

static enum gw_status mark(const struct gw_planning *planning, uint64_t argument, bool *ends,
                           struct gw_error *error) {
    (void)error;
    gw_close_at(planning->model, 1, argument, argument, ends);
    return GW_OK;
}

const struct gw_policy gw_policy_threshold = {
    .name = "threshold",
    .title = "close a group as soon as it holds that many elements",
    .paper = "MGS-SGD (OMGS paper, Tables V and VI: 8192)",
    .argument = "elements",
    .default_argument = 8192,
    .mark = mark,
};
