/*
 * Exact top-k in little more than one pass over u. A sample gives a threshold that somewhat more
 * than k elements should reach; the pass collects those in index order; a radix selection among
 * them takes the best k. No input can break this, only slow it down by a constant factor. If the
 * sample is too low, too many are collected; then the best k stay, and the threshold rises above
 * the worst of them: as many must come again before that work is repeated. If the sample is too
 * high, fewer than k are collected; then the pass is repeated with threshold 0.
 */
#include "kernels/topk.h"

#include <math.h>

#include "kernels/collect.h"
#include "kernels/scan.h"
#include "kernels/workspace.h"

enum {
    SAMPLE_LIMIT = 65536, /* samples at most ... */
    SAMPLE_STRIDE = 64,   /* ... and elements per sample at least */
};

size_t gw_topk_sample_stride(size_t n) {
    size_t stride = n / SAMPLE_LIMIT + 1;
    return stride > SAMPLE_STRIDE ? stride : SAMPLE_STRIDE;
}

size_t gw_topk_sample_position(size_t sample, size_t stride) {
    uint32_t turn = (uint32_t)sample * 2654435769u; /* multiples of the golden ratio, modulo 1 */
    return sample * stride + (size_t)(((uint64_t)turn * stride) >> 32);
}

/*
 * A magnitude that at least k elements reach, but for a chance of some 1e-5: the number of samples
 * among the k largest elements is nearly Poisson-distributed, so four standard deviations are added
 * to its mean.
 */
static enum gw_status sample_magnitude(const struct gw_task *task, int32_t *magnitude,
                                       struct gw_error *error) {
    size_t stride = gw_topk_sample_stride(task->n);
    size_t samples = task->n / stride;
    double expected = (double)task->k / (double)stride;
    double rank = ceil(expected + 4 * sqrt(expected) + 4);
    *magnitude = 0;
    if (rank >= (double)samples) {
        return GW_OK;
    }
    GW_TRY(gw_workspace_reserve(task->workspace, samples * sizeof(struct gw_entry), error));
    struct gw_entry *sample = task->workspace->memory;
    for (size_t i = 0; i < samples; i++) {
        size_t position = gw_topk_sample_position(i, stride);
        float added = task->gradient == NULL ? 0 : task->gradient[position];
        sample[i] = (struct gw_entry){.value = task->u[position] + added};
    }
    size_t ties;
    int32_t sampled = gw_kth_largest(sample, samples, (size_t)rank, &ties);
    *magnitude = sampled < GW_INFINITE ? sampled : GW_INFINITE; /* NaNs must reach it */
    return GW_OK;
}

static enum gw_status select_topk(const struct gw_task *task, struct gw_selection *out,
                                  struct gw_error *error) {
    struct gw_collection pass = {.end = task->n, .adding = true, .best = task->k};
    GW_TRY(sample_magnitude(task, &pass.magnitude, error));
    GW_TRY(gw_collect(task, &pass, out, error));
    if (out->count < task->k) {
        pass.adding = false;
        pass.magnitude = 0;
        GW_TRY(gw_collect(task, &pass, out, error));
    }
    (void)gw_keep_largest(out, task->k);
    return GW_OK;
}

const struct gw_compressor gw_compressor_topk = {
    .name = "topk",
    .title = "exact top-k: the k elements of largest magnitude",
    .paper = "Aji and Heafield, Sparse Communication for Distributed Gradient Descent, 2017",
    .exact = true,
    .select = select_topk,
    .reference = gw_topk_reference,
};
