/* A threshold that is given once for the whole run: |u| >= threshold travels. */
#include "kernels/threshold.h"

static enum gw_status select_fast(const struct gw_task *task, struct gw_selection *out,
                                  struct gw_error *error) {
    return gw_threshold_select(task, task->threshold, true, out, error);
}

static enum gw_status select_reference(const struct gw_task *task, struct gw_selection *out,
                                       struct gw_error *error) {
    return gw_threshold_select_reference(task, task->threshold, true, out, error);
}

const struct gw_kernel gw_kernel_hard_threshold = {
    .select = select_fast,
    .reference = select_reference,
};
