/* How Gaussian_k's threshold follows from counts, on a processor and on a GPU; private to kernels/.
 */
#ifndef GW_KERNELS_GAUSSIANK_H
#define GW_KERNELS_GAUSSIANK_H

#include "kernels/threshold.h"

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

#endif
