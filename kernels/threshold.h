/* Compressors that find a threshold: passes over u, and the rules that derive thresholds from them,
 * on processors and on GPUs. Private to kernels/. */
#ifndef GW_KERNELS_THRESHOLD_H
#define GW_KERNELS_THRESHOLD_H

#include <math.h>

#include "kernels/arithmetic.h"

/* ---- passes -------------------------------------------------------------------------------- */

/* The mean and standard deviation of u (of the population, not of a sample). */
struct gw_moments_of_u {
    double mean, deviation;
};

/* Computes them from the sum of n elements and the sum of their squares. */
GW_ON_BOTH static inline struct gw_moments_of_u gw_moments_from(double sum, double squares,
                                                                double n) {
    struct gw_moments_of_u moments;
    moments.mean = sum / n;
    moments.deviation = sqrt(fmax(squares / n - moments.mean * moments.mean, 0.0));
    return moments;
}

/* The elements with |u| >= a threshold. */
struct gw_exceedances {
    size_t count;
    double sum, largest; /* of |u| */
};

enum { GW_MAX_THRESHOLDS = 16 };

/*
 * Adds the gradient to u[begin..end) and selects |u| >= threshold of these. GW_BAD_INPUT if they
 * hold a NaN.
 */
enum gw_status gw_threshold_select_range(const struct gw_task *task, size_t begin, size_t end,
                                         double threshold, struct gw_selection *out,
                                         struct gw_error *error);

/* ---- Gaussian_k ---------------------------------------------------------------------------- */

enum {
    GW_GAUSSIANK_ADJUSTMENTS = 4,
    GW_GAUSSIANK_THRESHOLDS = GW_GAUSSIANK_ADJUSTMENTS * (GW_GAUSSIANK_ADJUSTMENTS + 1) / 2
};

/*
 * The two-sided quantile of the paper's released code: |u| exceeds it with probability k/n if the
 * mean is 0, and with a larger one the further the mean is from 0. If infinities make it undefined,
 * only they are selected. `quantile` is the value that a standard normal exceeds with probability
 * k/2n.
 */
GW_ON_BOTH static inline double gw_gaussiank_first(struct gw_moments_of_u moments,
                                                   double quantile) {
    double threshold = fabs(moments.mean) + moments.deviation * quantile;
    return isfinite(threshold) ? threshold : (double)INFINITY;
}

/* The factor of the threshold, given the number of elements that it selects. */
GW_ON_BOTH static inline double gw_gaussiank_adjustment(size_t count, size_t k) {
    if (3 * count < 2 * k) {
        return 0.5;
    }
    return 3 * count > 4 * k ? 1.5 : 1;
}

/* The index of the threshold after these halvings and raises; their order has no effect. */
GW_ON_BOTH static inline size_t gw_gaussiank_place(size_t halvings, size_t raises) {
    size_t steps = halvings + raises;
    return steps * (steps + 1) / 2 + raises;
}

/* Fills thresholds[GW_GAUSSIANK_THRESHOLDS]. Powers of 1.5 and of 0.5 are exact. */
GW_ON_BOTH static inline void gw_gaussiank_thresholds(double first, double *thresholds) {
    double halved = 1;
    for (size_t halvings = 0; halvings < GW_GAUSSIANK_ADJUSTMENTS; halvings++) {
        double raised = 1;
        for (size_t raises = 0; halvings + raises < GW_GAUSSIANK_ADJUSTMENTS; raises++) {
            thresholds[gw_gaussiank_place(halvings, raises)] = first * halved * raised;
            raised *= 1.5;
        }
        halved *= 0.5;
    }
}

/* The last threshold, from the number of elements that each selects. */
GW_ON_BOTH static inline double gw_gaussiank_adjust(double first, const size_t *counts, size_t k) {
    double threshold = first;
    size_t halvings = 0;
    size_t raises = 0;
    for (int step = 0; step < GW_GAUSSIANK_ADJUSTMENTS; step++) {
        double factor = gw_gaussiank_adjustment(counts[gw_gaussiank_place(halvings, raises)], k);
        threshold *= factor;
        halvings += factor < 1;
        raises += factor > 1;
        if (factor == 1) {
            break;
        }
    }
    return threshold;
}

/* ---- RedSync: bisection -------------------------------------------------------------------- */

/* The last interval, 1/8, is below the published 0.2. */
enum { GW_REDSYNC_HALVINGS = 3, GW_REDSYNC_STEPS = 1 << GW_REDSYNC_HALVINGS };

/* mean + r (max - mean), r = step / GW_REDSYNC_STEPS; the maximum, if all are equal or infinite.
 * `sum` is that of the magnitudes of n elements. */
GW_ON_BOTH static inline double gw_redsync_threshold(double sum, double largest, size_t n,
                                                     int step) {
    double mean = sum / (double)n;
    return mean < largest ? mean + (largest - mean) * ((double)step / GW_REDSYNC_STEPS) : largest;
}

/* The middle of the remaining half interval: the upper half if too many elements are selected. */
GW_ON_BOTH static inline int gw_redsync_next_step(int step, int halving, size_t count, size_t k) {
    int by = GW_REDSYNC_STEPS >> (halving + 1);
    return count < k ? step - by : step + by;
}

GW_ON_BOTH static inline bool gw_redsync_is_near(size_t count, size_t k) {
    return count >= k && count <= 2 * k;
}

/*
 * The step at which bisection ends; counts[step] elements reach the threshold of a step, from 1 on.
 */
GW_ON_BOTH static inline int gw_redsync_last_step(const size_t *counts, size_t k) {
    int step = GW_REDSYNC_STEPS / 2;
    for (int halving = 1; halving < GW_REDSYNC_HALVINGS && !gw_redsync_is_near(counts[step], k);
         halving++) {
        step = gw_redsync_next_step(step, halving, counts[step], k);
    }
    return step;
}

/* ---- SIDCo --------------------------------------------------------------------------------- */

/*
 * SIDCo's threshold: |u| is assumed to be exponential, and the excess over a threshold exponential
 * again, with a mean of its own. Equations and algorithm are those of Abdelmoniem, Elzanaty,
 * Alouini and Canini, An Efficient Statistical-based Gradient Compression Technique for Distributed
 * Training Systems, MLSys 2021; constants of the adaptation are those of its released
 * implementation.
 *
 * The threshold of a vector u:
 *
 *     threshold = 0
 *     for m in stages: threshold = next(threshold, mean of |u| - threshold over |u| > threshold,
 *                                       ratios[m])
 */

enum { GW_SIDCO_STAGES = 32 }; /* enough ratios for a density of 2^-32 */

/*
 * Fills `ratios`, [stages], and returns their number. The first is 0.25, the others are equal, and
 * their product is rho, 0 < rho <= 1. A density of 0.25 or more takes one stage whatever `stages`
 * is, since a later stage can only select fewer elements.
 */
size_t gw_sidco_ratios(double rho, size_t stages, double *ratios);

/*
 * The next threshold, from `count` elements above the previous one, their sum, and ln(ratio): an
 * exponential with this mean excess exceeds previous + mean ln(1 / ratio) with probability `ratio`.
 * The threshold stays if no element exceeds it, or only infinities do.
 */
GW_ON_BOTH static inline double gw_sidco_exceed_threshold(double previous, size_t count, double sum,
                                                          double log_ratio) {
    if (count == 0) {
        return previous;
    }
    double next = previous - (sum / (double)count - previous) * log_ratio;
    return isnan(next) ? previous : next;
}

/* The number of stages, and observations since its last change. Zero but for {.stages = 1} at
 * first. */
struct gw_sidco {
    size_t stages;
    size_t seen;
    double sum; /* of k' / k */
};

/*
 * Adapts the number of stages after each iteration: `selected` is k', `wanted` is k >= 1, rho the
 * density. Every fifth time, takes one stage less if the mean of k' / k is above 1.2, and one more
 * if it is below 0.8; at least 1, at most ceil(log2(1 / rho)), so that no stage keeps more than
 * about half. More stages select more elements if tails are lighter than exponential. A tail so
 * heavy that one stage selects too many elements does not get a second stage.
 */
void gw_sidco_stages_adapt(struct gw_sidco *state, size_t selected, size_t wanted, double rho);

/* ---- DGC ----------------------------------------------------------------------------------- */

enum { GW_DGC_STRIDE = 100 }; /* one element in a hundred is sampled */

GW_ON_BOTH static inline size_t gw_dgc_samples(size_t n) {
    return (n + GW_DGC_STRIDE - 1) / GW_DGC_STRIDE;
}

/* The key of a task's sample. */
static inline uint64_t gw_dgc_key(const struct gw_task *task) {
    return task->seed ^ gw_mix(task->iteration);
}

/*
 * The position of a sample: one in each stretch, a different one in each iteration. Stretches are
 * equally long, up to one element: if the last one were shorter, its elements would be sampled more
 * often, and a large one of them would be the threshold, which it does not exceed, in one iteration
 * after the other.
 */
GW_ON_BOTH static inline size_t gw_dgc_position(uint64_t key, size_t n, size_t sample) {
    uint64_t turn = gw_mix_pair(key, sample) >> 32;
    uint64_t samples = gw_dgc_samples(n);
    uint64_t first = sample * (uint64_t)n / samples;
    uint64_t next = (sample + 1) * (uint64_t)n / samples;
    return (size_t)(first + (turn * (next - first) >> 32));
}

/* The number of samples at or above the threshold: the share rho = k/n, at least one. */
static inline size_t gw_dgc_rank(const struct gw_task *task) {
    double share = (double)task->k / (double)task->n;
    size_t rank = (size_t)floor(share * (double)gw_dgc_samples(task->n));
    return rank > 1 ? rank : 1;
}

GW_ON_BOTH static inline bool gw_dgc_is_far_too_much(size_t count, size_t k) {
    return 3 * count > 4 * k;
}

#endif
