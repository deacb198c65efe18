/* Thresholds from samples of u; private to kernels/, and to tests and benchmarks that deceive them.
 */
#ifndef GW_KERNELS_SAMPLE_H
#define GW_KERNELS_SAMPLE_H

#include "kernels/kernels.h"
#include "kernels/on_both.h"

/* What is sampled of u. */
struct gw_sample {
    size_t begin, end;
    bool adding;  /* the task's gradient is still to be added there */
    uint64_t key; /* of the positions */
};

/*
 * A magnitude that at least task->k elements reach, but for a chance of some 1e-5: the number of
 * samples among the k largest elements is nearly Poisson-distributed, so four standard deviations
 * are added to its mean. 0 if there are too few elements to tell.
 */
enum gw_status gw_sample_magnitude(const struct gw_task *task, const struct gw_sample *sample,
                                   int32_t *magnitude, struct gw_error *error);

/*
 * Of n elements one in every `stride` is sampled, at a position that follows no period: with key 0
 * from multiples of the golden ratio, otherwise by lot.
 */
size_t gw_sample_stride(size_t n);

/* With key 0. */
GW_ON_BOTH static inline uint64_t gw_sample_golden(uint32_t index, uint64_t stride) {
    uint32_t golden = index * 2654435769u; /* multiples of the golden ratio, modulo 1 */
    return index * stride + ((golden * stride) >> 32);
}

size_t gw_sample_position(size_t index, size_t stride, uint64_t key);

/*
 * Of n elements, *count are sampled; returns the rank among them, from above, that k elements
 * should reach; 0 if there are too few elements to tell.
 */
size_t gw_sample_rank(size_t n, size_t k, size_t *count);

#endif
