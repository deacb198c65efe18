/* A threshold that is given once for the whole run: |u| >= threshold travels. */
#include "kernels/threshold.h"

extern const struct gw_compressor gw_compressor_hard_threshold;

static enum gw_status select_fast(const struct gw_task *task, struct gw_selection *out,
                                  struct gw_error *error) {
    return gw_threshold_select(task, task->threshold, true, out, error);
}

static enum gw_status select_reference(const struct gw_task *task, struct gw_selection *out,
                                       struct gw_error *error) {
    return gw_threshold_select_reference(task, task->threshold, true, out, error);
}

const struct gw_compressor gw_compressor_hard_threshold = {
    .name = "hard-threshold",
    .title = "what reaches a threshold that is given once",
    .paper = "Sahu et al., Rethinking gradient sparsification as total error minimization, 2021",
    .select = select_fast,
    .reference = select_reference,
};
