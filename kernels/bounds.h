/*
 * How much of a vector a selection of k elements leaves behind, and what is proven about it: Shi et
 * al., Understanding Top-k Sparsification in Distributed Deep Learning, 2019 (GaussianK-SGD). Data
 * for a plot like its Fig. 5.
 */
#ifndef GW_KERNELS_BOUNDS_H
#define GW_KERNELS_BOUNDS_H

#include <stddef.h>

#include "core/core.h"

/* ||u - selection||^2 / ||u||^2 of d elements; each within [0, 1]. */
struct gw_bounds {
    double topk;   /* of the k largest; 0 for a vector of zeros */
    double random; /* expected of k at random: 1 - k / d */
    double proven; /* Theorem 1: top-k's is at most (1 - k / d)^2 */
};

/*
 * Fills out[0..count) for ks[0..count), each 1 <= ks[i] <= n, in any order; sorts |u| once. The
 * theorem takes the squares of a bell-shaped u, in descending order and divided by the first, to be
 * convex and below the line 1 - i / d; of others, like a constant, `topk` may be above `proven`.
 * GW_BAD_INPUT if an element is not finite.
 */
enum gw_status gw_bounds(const float *u, size_t n, const size_t *ks, size_t count,
                         struct gw_bounds *out, struct gw_error *error);

#endif
