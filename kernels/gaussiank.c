/*
 * Gaussian_k (GaussianK-SGD paper, Algorithm 1): the normal quantile of u's mean and deviation as a
 * threshold, which is then halved or raised by half, up to four times, until it is near enough. All
 * thresholds that this can lead to are counted in one pass.
 */
#include <gsl/gsl_cdf.h>
#include <math.h>

#include "kernels/threshold.h"

extern const struct gw_compressor gw_compressor_gaussiank;

enum { ADJUSTMENTS = 4, THRESHOLDS = ADJUSTMENTS * (ADJUSTMENTS + 1) / 2 };

/*
 * The two-sided quantile of the paper's released code: |u| beyond it has probability k/n where the
 * mean is 0, and more the further it is from 0. Where infinities make it undefined, only they are
 * selected.
 */
static double first_threshold(const struct gw_task *task, const struct gw_moments_of_u *moments) {
    double tail = (double)task->k / (2 * (double)task->n);
    double threshold = fabs(moments->mean) + moments->deviation * gsl_cdf_ugaussian_Qinv(tail);
    return isfinite(threshold) ? threshold : INFINITY;
}

/* What the threshold is multiplied by, given what it selects. */
static double adjustment(size_t count, size_t k) {
    if (3 * count < 2 * k) {
        return 0.5;
    }
    return 3 * count > 4 * k ? 1.5 : 1;
}

/* ---- fast ---------------------------------------------------------------------------------- */

/* Where the threshold stands that was halved and raised so often: the order makes no difference. */
static size_t place(size_t halvings, size_t raises) {
    size_t steps = halvings + raises;
    return steps * (steps + 1) / 2 + raises;
}

static enum gw_status select_fast(const struct gw_task *task, struct gw_selection *out,
                                  struct gw_error *error) {
    struct gw_moments_of_u moments;
    double thresholds[THRESHOLDS];
    size_t counts[THRESHOLDS];
    GW_TRY(gw_threshold_moments(task, &moments, error));
    double first = first_threshold(task, &moments);
    for (size_t steps = 0; steps < ADJUSTMENTS; steps++) {
        for (size_t raises = 0; raises <= steps; raises++) {
            size_t halvings = steps - raises;
            thresholds[place(halvings, raises)] =
                first * pow(0.5, (double)halvings) * pow(1.5, (double)raises);
        }
    }
    GW_TRY(gw_threshold_count(task, thresholds, THRESHOLDS, counts, error));
    double threshold = first;
    size_t halvings = 0;
    size_t raises = 0;
    for (int step = 0; step < ADJUSTMENTS; step++) {
        double factor = adjustment(counts[place(halvings, raises)], task->k);
        threshold *= factor;
        halvings += factor < 1;
        raises += factor > 1;
        if (factor == 1) {
            break;
        }
    }
    return gw_threshold_select(task, threshold, false, out, error);
}

/* ---- reference ----------------------------------------------------------------------------- */

static enum gw_status select_reference(const struct gw_task *task, struct gw_selection *out,
                                       struct gw_error *error) {
    struct gw_moments_of_u moments;
    GW_TRY(gw_threshold_moments_reference(task, &moments, error));
    double threshold = first_threshold(task, &moments);
    for (int step = 0; step < ADJUSTMENTS; step++) {
        GW_TRY(gw_threshold_select_reference(task, threshold, false, out, error));
        threshold *= adjustment(out->count, task->k);
    }
    return gw_threshold_select_reference(task, threshold, false, out, error);
}

const struct gw_compressor gw_compressor_gaussiank = {
    .name = "gaussiank",
    .title = "Gaussian_k: the normal quantile as a threshold, adjusted up to four times",
    .paper = "Shi et al., Understanding Top-k Sparsification in Distributed Deep Learning, 2019",
    .select = select_fast,
    .reference = select_reference,
};
