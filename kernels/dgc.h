/* DGC's sample and when it errs too far, on a processor and on a GPU; private to kernels/. */
#ifndef GW_KERNELS_DGC_H
#define GW_KERNELS_DGC_H

#include <math.h>

#include "kernels/hash.h"
#include "kernels/kernels.h"

enum { GW_DGC_STRIDE = 100 }; /* one element in a hundred is sampled */

static inline size_t gw_dgc_samples(size_t n) {
    return (n + GW_DGC_STRIDE - 1) / GW_DGC_STRIDE;
}

/* Of a task. */
static inline uint64_t gw_dgc_key(const struct gw_task *task) {
    return task->seed ^ gw_mix(task->iteration);
}

/* One of each hundred, another in each iteration; of fewer at the end, perhaps the last. */
GW_ON_BOTH static inline size_t gw_dgc_position(uint64_t key, size_t n, size_t sample) {
    uint64_t turn = gw_mix_pair(key, sample) >> 32;
    size_t position = sample * GW_DGC_STRIDE + (size_t)((turn * GW_DGC_STRIDE) >> 32);
    return position < n ? position : n - 1;
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
