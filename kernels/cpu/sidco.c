/*
 * SIDCo (kernels/sidco_fit.h): a threshold from fitting an exponential to |u|, and again to what
 * exceeds it, in a number of stages that follows from what earlier iterations selected.
 */
#include <math.h>
#include <stdlib.h>

#include "kernels/sidco_fit.h"
#include "kernels/threshold.h"

static enum gw_status open_state(const struct gw_task *task, void **out, struct gw_error *error) {
    (void)task;
    struct gw_sidco *state = malloc(sizeof *state);
    if (state == NULL) {
        return gw_fail_memory(error, "opening SIDCo");
    }
    *state = (struct gw_sidco){.stages = 1};
    *out = state;
    return GW_OK;
}

typedef enum gw_status exceed(const struct gw_task *task, double threshold, bool adding,
                              struct gw_exceedances *out, struct gw_error *error);

static enum gw_status find_threshold(const struct gw_task *task, exceed *exceeding,
                                     double *threshold, struct gw_error *error) {
    const struct gw_sidco *state = task->state;
    double ratios[GW_SIDCO_STAGES];
    size_t stages = gw_sidco_ratios((double)task->k / (double)task->n, state->stages, ratios);
    *threshold = 0;
    for (size_t m = 0; m < stages; m++) {
        struct gw_exceedances above;
        GW_TRY(exceeding(task, *threshold, m == 0, &above, error));
        *threshold = gw_sidco_exceed_threshold(*threshold, above.count, above.sum, log(ratios[m]));
    }
    return GW_OK;
}

static void adapt(const struct gw_task *task, const struct gw_selection *out) {
    gw_sidco_stages_adapt(task->state, out->count, task->k, (double)task->k / (double)task->n);
}

static enum gw_status select_fast(const struct gw_task *task, struct gw_selection *out,
                                  struct gw_error *error) {
    double threshold;
    GW_TRY(find_threshold(task, gw_threshold_exceed, &threshold, error));
    GW_TRY(gw_threshold_select(task, threshold, false, out, error));
    adapt(task, out);
    return GW_OK;
}

static enum gw_status select_reference(const struct gw_task *task, struct gw_selection *out,
                                       struct gw_error *error) {
    double threshold;
    GW_TRY(find_threshold(task, gw_threshold_exceed_reference, &threshold, error));
    GW_TRY(gw_threshold_select_reference(task, threshold, false, out, error));
    adapt(task, out);
    return GW_OK;
}

const struct gw_kernel gw_kernel_sidco = {
    .select = select_fast,
    .reference = select_reference,
    .open = open_state,
    .close = free,
};
