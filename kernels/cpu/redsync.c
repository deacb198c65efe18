/*
 * RedSync's trimmed selection: a threshold between the mean and the maximum of |u|, found by
 * bisection. The interval is halved three times at most, so that its seven possible thresholds are
 * counted in one pass.
 */
#include "kernels/redsync.h"

enum { STEPS = GW_REDSYNC_STEPS };

static double threshold_at(const struct gw_task *task, const struct gw_exceedances *all, int step) {
    return gw_redsync_threshold(all->sum, all->largest, task->n, step);
}

static enum gw_status select_fast(const struct gw_task *task, struct gw_selection *out,
                                  struct gw_error *error) {
    struct gw_exceedances all;
    double thresholds[STEPS];
    size_t counts[STEPS];
    GW_TRY(gw_threshold_exceed(task, 0, true, &all, error));
    for (int step = 1; step < STEPS; step++) {
        thresholds[step] = threshold_at(task, &all, step);
    }
    GW_TRY(gw_threshold_count(task, thresholds + 1, STEPS - 1, counts + 1, error));
    int step = gw_redsync_last_step(counts, task->k);
    return gw_threshold_select(task, thresholds[step], false, out, error);
}

static enum gw_status select_reference(const struct gw_task *task, struct gw_selection *out,
                                       struct gw_error *error) {
    struct gw_exceedances all;
    GW_TRY(gw_threshold_exceed_reference(task, 0, true, &all, error));
    double low = 0;
    double high = 1;
    do {
        double r = (low + high) / 2;
        int step = (int)(r * STEPS);
        GW_TRY(
            gw_threshold_select_reference(task, threshold_at(task, &all, step), false, out, error));
        *(out->count < task->k ? &high : &low) = r;
    } while (high - low >= 0.2 && !gw_redsync_is_near(out->count, task->k));
    return GW_OK;
}

const struct gw_kernel gw_kernel_redsync = {
    .select = select_fast,
    .reference = select_reference,
};
