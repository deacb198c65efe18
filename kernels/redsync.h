/* RedSync's bisection, on a processor and on a GPU; private to kernels/. */
#ifndef GW_KERNELS_REDSYNC_H
#define GW_KERNELS_REDSYNC_H

#include "kernels/threshold.h"

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

#endif
