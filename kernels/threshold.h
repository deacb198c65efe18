/*
 * Compressors that find a threshold: passes over u, and the rules by which thresholds follow from
 * them, on processors and on GPUs. Private to kernels/.
 */
#ifndef GW_KERNELS_THRESHOLD_H
#define GW_KERNELS_THRESHOLD_H

#include <math.h>

#include "kernels/arithmetic.h"

/* ---- passes -------------------------------------------------------------------------------- */

/* Of u: the deviation of the whole, not of a sample. */
struct gw_moments_of_u {
    double mean, deviation;
};

/* From the sum of n elements and that of their squares. */
GW_ON_BOTH static inline struct gw_moments_of_u gw_moments_from(double sum, double squares,
                                                                double n) {
    struct gw_moments_of_u moments;
    moments.mean = sum / n;
    moments.deviation = sqrt(fmax(squares / n - moments.mean * moments.mean, 0.0));
    return moments;
}

/* Of the elements with |u| >= a threshold. */
struct gw_exceedances {
    size_t count;
    double sum, largest; /* of |u| */
};

enum { GW_MOST_THRESHOLDS = 16 };

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
 * The two-sided quantile of the paper's released code: |u| beyond it has probability k/n where the
 * mean is 0, and more the further it is from 0. Where infinities make it undefined, only they are
 * selected. `quantile` is that of a standard normal, of which k/2n is above.
 */
GW_ON_BOTH static inline double gw_gaussiank_first(struct gw_moments_of_u moments,
                                                   double quantile) {
    double threshold = fabs(moments.mean) + moments.deviation * quantile;
    return isfinite(threshold) ? threshold : (double)INFINITY;
}

/* What the threshold is multiplied by, given what it selects. */
GW_ON_BOTH static inline double gw_gaussiank_adjustment(size_t count, size_t k) {
    if (3 * count < 2 * k) {
        return 0.5;
    }
    return 3 * count > 4 * k ? 1.5 : 1;
}

/* Where the threshold stands that was halved and raised so often: the order makes no difference. */
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

/* The last threshold, from what each selects. */
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

/* An interval of 1/8 is below 0.2. */
enum { GW_REDSYNC_HALVINGS = 3, GW_REDSYNC_STEPS = 1 << GW_REDSYNC_HALVINGS };

/*
 * mean + r (max - mean), r = step / GW_REDSYNC_STEPS; where all are equal, or infinite, the
 * maximum. `sum` of the magnitudes of n elements.
 */
GW_ON_BOTH static inline double gw_redsync_threshold(double sum, double largest, size_t n,
                                                     int step) {
    double mean = sum / (double)n;
    return mean < largest ? mean + (largest - mean) * ((double)step / GW_REDSYNC_STEPS) : largest;
}

/* Half of the interval is left, the upper one if too many are selected. */
GW_ON_BOTH static inline int gw_redsync_next_step(int step, int halving, size_t count, size_t k) {
    int by = GW_REDSYNC_STEPS >> (halving + 1);
    return count < k ? step - by : step + by;
}

GW_ON_BOTH static inline bool gw_redsync_is_near(size_t count, size_t k) {
    return count >= k && count <= 2 * k;
}

/* Where bisection ends; counts[step] is what that step's threshold selects, from 1 on. */
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
 * SIDCo's threshold: |u| is taken to be exponential, and what exceeds a threshold to be exponential
 * again, with a mean of its own. Equations and algorithm are those of
 * Abdelmoniem, Elzanaty, Alouini and Canini, An Efficient Statistical-based Gradient Compression
 * Technique for Distributed Training Systems, MLSys 2021; the constants of the adaptation are those
 * of its released implementation.
 *
 * From one vector u to its threshold:
 *
 *     threshold = 0
 *     for m in stages: threshold = next(threshold, mean of |u| - threshold over |u| > threshold,
 *                                       ratios[m])
 */

enum { GW_SIDCO_STAGES = 32 }; /* room for the ratios of a density down to 2^-32 */

/*
 * Fills `ratios`, which has room for `stages`, and returns how many there are. The first is 0.25,
 * the others are equal, and their product is rho, 0 < rho <= 1. A density of 0.25 or more takes one
 * stage whatever `stages` says, since a later stage can only select fewer.
 */
size_t gw_sidco_ratios(double rho, size_t stages, double *ratios);

/*
 * The next threshold, from `count` elements above the previous one and their sum, with ln(ratio):
 * the share `ratio` of an exponential with this mean excess lies above previous + mean ln(1 /
 * ratio). Where nothing exceeds a threshold, or only infinities do, it stays.
 */
GW_ON_BOTH static inline double gw_sidco_exceed_threshold(double previous, size_t count, double sum,
                                                          double log_ratio) {
    if (count == 0) {
        return previous;
    }
    double next = previous - (sum / (double)count - previous) * log_ratio;
    return isnan(next) ? previous : next;
}

/* The number of stages, and what was seen since it was last looked at. Begins as {.stages = 1}. */
struct gw_sidco {
    size_t stages;
    size_t seen;
    double sum; /* of k' / k */
};

/*
 * After each iteration: `selected` is k', `wanted` is k >= 1, rho the density. After every fifth,
 * one stage less if the mean of k' / k is above 1.2, one more if it is below 0.8; at least 1, at
 * most ceil(log2(1 / rho)), so that no stage keeps more than about half. It takes more stages to
 * select more, which is so for tails lighter than exponential. A tail that is so heavy that one
 * stage selects too many gets no second one.
 */
void gw_sidco_stages_adapt(struct gw_sidco *state, size_t selected, size_t wanted, double rho);

/* ---- DGC: the sample, and when it errs too far --------------------------------------------- */

enum { GW_DGC_STRIDE = 100 }; /* one element in a hundred is sampled */

GW_ON_BOTH static inline size_t gw_dgc_samples(size_t n) {
    return (n + GW_DGC_STRIDE - 1) / GW_DGC_STRIDE;
}

/* Of a task. */
static inline uint64_t gw_dgc_key(const struct gw_task *task) {
    return task->seed ^ gw_mix(task->iteration);
}

/*
 * One of each stretch, another in each iteration. Stretches are as long as each other, to an
 * element: were the last one shorter, its elements would be sampled more often, and a large one
 * among them would be the threshold, which it does not exceed, in iteration after iteration.
 */
GW_ON_BOTH static inline size_t gw_dgc_position(uint64_t key, size_t n, size_t sample) {
    uint64_t turn = gw_mix_pair(key, sample) >> 32;
    uint64_t samples = gw_dgc_samples(n);
    uint64_t first = sample * (uint64_t)n / samples;
    uint64_t next = (sample + 1) * (uint64_t)n / samples;
    return (size_t)(first + (turn * (next - first) >> 32));
}

/* How many of the sample lie above the threshold or on it: the share rho = k/n, one at least. */
static inline size_t gw_dgc_rank(const struct gw_task *task) {
    double share = (double)task->k / (double)task->n;
    size_t rank = (size_t)floor(share * (double)gw_dgc_samples(task->n));
    return rank > 1 ? rank : 1;
}

GW_ON_BOTH static inline bool gw_dgc_is_far_too_much(size_t count, size_t k) {
    return 3 * count > 4 * k;
}

#endif
