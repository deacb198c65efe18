/*
 * SIDCo's threshold: |u| is taken to be exponential, and what exceeds a threshold to be exponential
 * again, with a mean of its own. Private to kernels/. Equations and algorithm are those of
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
#ifndef GW_KERNELS_SIDCO_FIT_H
#define GW_KERNELS_SIDCO_FIT_H

#include <math.h>
#include <stddef.h>

#include "kernels/on_both.h"

enum { GW_SIDCO_STAGES = 32 }; /* room for the ratios of a density down to 2^-32 */

/*
 * Fills `ratios`, which has room for `stages`, and returns how many there are. The first is 0.25,
 * the others are equal, and their product is rho, 0 < rho <= 1. A density of 0.25 or more takes one
 * stage whatever `stages` says, since a later stage can only select fewer.
 */
size_t gw_sidco_ratios(double rho, size_t stages, double *ratios);

/* The share `ratio` of an exponential with this mean lies above previous + mean ln(1 / ratio). */
double gw_sidco_next_threshold(double previous, double mean_excess, double ratio);

/*
 * The same from `count` elements above the previous threshold and their sum, with ln(ratio). Where
 * nothing exceeds a threshold, or only infinities do, it stays.
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

#endif
