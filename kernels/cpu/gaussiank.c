/*
 * Gaussian_k (GaussianK-SGD paper, Algorithm 1): the normal quantile of u's mean and deviation as a
 * threshold, which is then halved or raised by half, up to four times, until it is near enough. All
 * thresholds that this can lead to are counted in one pass.
 */
#include "kernels/gaussiank.h"

#include <gsl/gsl_cdf.h>

static double quantile(const struct gw_task *task) {
    return gsl_cdf_ugaussian_Qinv((double)task->k / (2 * (double)task->n));
}

/* ---- fast ---------------------------------------------------------------------------------- */

static enum gw_status select_fast(const struct gw_task *task, struct gw_selection *out,
                                  struct gw_error *error) {
    struct gw_moments_of_u moments;
    double thresholds[GW_GAUSSIANK_THRESHOLDS];
    size_t counts[GW_GAUSSIANK_THRESHOLDS];
    GW_TRY(gw_threshold_moments(task, &moments, error));
    double first = gw_gaussiank_first(moments, quantile(task));
    gw_gaussiank_thresholds(first, thresholds);
    GW_TRY(gw_threshold_count(task, thresholds, GW_GAUSSIANK_THRESHOLDS, counts, error));
    double threshold = gw_gaussiank_adjust(first, counts, task->k);
    return gw_threshold_select(task, threshold, false, out, error);
}

/* ---- reference ----------------------------------------------------------------------------- */

static enum gw_status select_reference(const struct gw_task *task, struct gw_selection *out,
                                       struct gw_error *error) {
    struct gw_moments_of_u moments;
    GW_TRY(gw_threshold_moments_reference(task, &moments, error));
    double threshold = gw_gaussiank_first(moments, quantile(task));
    for (int step = 0; step < GW_GAUSSIANK_ADJUSTMENTS; step++) {
        GW_TRY(gw_threshold_select_reference(task, threshold, false, out, error));
        threshold *= gw_gaussiank_adjustment(out->count, task->k);
    }
    return gw_threshold_select_reference(task, threshold, false, out, error);
}

const struct gw_kernel gw_kernel_gaussiank = {
    .select = select_fast,
    .reference = select_reference,
};
