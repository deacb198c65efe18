#include "kernels/cpu/sample.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/cpu/collect.h"
#include "kernels/cpu/scan.h"
#include "kernels/hash.h"

enum {
    LIMIT = 65536, /* samples at most ... */
    STRIDE = 64,   /* ... and elements for each at least */
};

size_t gw_sample_stride(size_t n) {
    size_t stride = n / LIMIT + 1;
    return stride > STRIDE ? stride : STRIDE;
}

size_t gw_sample_position(size_t index, size_t stride, uint64_t key) {
    if (key == 0) {
        return gw_sample_golden((uint32_t)index, stride);
    }
    return index * stride + (size_t)(((gw_mix_pair(key, index) >> 32) * stride) >> 32);
}

size_t gw_sample_rank(size_t n, size_t k, size_t *count) {
    size_t stride = gw_sample_stride(n);
    double expected = (double)k / (double)stride;
    double rank = ceil(expected + 4 * sqrt(expected) + 4);
    *count = n / stride;
    return rank < (double)*count ? (size_t)rank : 0;
}

static void take(const struct gw_task *task, const struct gw_sample *sample, size_t stride,
                 size_t count, struct gw_entry *out) {
    for (size_t i = 0; i < count; i++) {
        size_t place = sample->begin + gw_sample_position(i, stride, sample->key);
        float added = sample->adding && task->gradient != NULL ? task->gradient[place] : 0;
        out[i] = (struct gw_entry){.value = task->u[place] + added};
    }
}

enum gw_status gw_sample_magnitude(const struct gw_task *task, const struct gw_sample *sample,
                                   int32_t *magnitude, struct gw_error *error) {
    size_t n = sample->end - sample->begin;
    size_t stride = gw_sample_stride(n);
    size_t count;
    size_t rank = gw_sample_rank(n, task->k, &count);
    *magnitude = 0;
    if (rank == 0) {
        return GW_OK;
    }
    struct gw_entry *taken = malloc(count * sizeof *taken);
    if (taken == NULL) {
        return gw_fail_memory(error, "sampling a gradient");
    }
    take(task, sample, stride, count, taken);
    size_t ties;
    int32_t sampled = gw_kth_largest(taken, count, rank, &ties);
    *magnitude = sampled < GW_INFINITE ? sampled : GW_INFINITE; /* NaNs must reach it */
    free(taken);
    return GW_OK;
}
