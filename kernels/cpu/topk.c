/* Exact top-k, and DGC, which applies it to a sample. */
#include <stdlib.h>

#include "kernels/compressors.h"
#include "kernels/cpu/collect.h"
#include "kernels/threshold.h"

/* ---- top-k --------------------------------------------------------------------------------- */

/*
 * Exact top-k in little more than one pass over u. A sample gives a threshold that somewhat more
 * than k elements should reach; the pass collects those in index order; a radix selection among
 * them takes the best k. Every input is selected correctly; some take longer by a constant factor.
 * If the threshold is too low, too many elements are collected; then the best k stay, and the
 * threshold rises above the smallest of them: as many must be found again before that work is
 * repeated. If the threshold is too high, fewer than k are collected; then the pass is repeated
 * with threshold 0.
 */

static enum gw_status select_topk(const struct gw_task *task, struct gw_selection *out,
                                  struct gw_error *error) {
    struct gw_collection pass = {.key = 0};
    struct gw_sample whole = {.end = task->n, .adding = true};
    GW_TRY(gw_sample_magnitude(task, &whole, &pass.magnitude, error));
    GW_TRY(gw_collect_best(task, &pass, task->k, out, error));
    (void)gw_keep_largest(out, task->k);
    return GW_OK;
}

const struct gw_kernel gw_kernel_topk = {.select = select_topk};

/* ---- DGC ----------------------------------------------------------------------------------- */

/* Deep gradient compression: the largest elements of a sample give a threshold; elements above it
 * are selected or, if they are far too many, the k largest of them. */

static enum gw_status read_dgc_sample(const struct gw_task *task, struct gw_error *error) {
    size_t samples = gw_dgc_samples(task->n);
    GW_TRY(gw_workspace_reserve_sample(task->workspace, samples, error));
    for (size_t i = 0; i < samples; i++) {
        size_t position = gw_dgc_position(gw_dgc_key(task), task->n, i);
        float added = task->gradient == NULL ? 0 : task->gradient[position];
        float value = task->u[position] + added;
        task->workspace->sample[i] = isnan(value) ? INFINITY : value; /* the pass will find it */
    }
    return GW_OK;
}

/* The smallest of the sample's largest elements; `out` is scratch memory. */
static enum gw_status bound_magnitude(const struct gw_task *task, struct gw_selection *out,
                                      int32_t *magnitude, struct gw_error *error) {
    GW_TRY(read_dgc_sample(task, error));
    struct gw_task of_sample = {.u = task->workspace->sample,
                                .n = gw_dgc_samples(task->n),
                                .k = gw_dgc_rank(task),
                                .workspace = task->workspace};
    GW_TRY(select_topk(&of_sample, out, error));
    *magnitude = GW_INFINITE;
    for (size_t i = 0; i < out->count; i++) {
        int32_t one = gw_magnitude(out->entries[i].value);
        *magnitude = one < *magnitude ? one : *magnitude;
    }
    return GW_OK;
}

static enum gw_status select_dgc(const struct gw_task *task, struct gw_selection *out,
                                 struct gw_error *error) {
    int32_t sampled;
    GW_TRY(bound_magnitude(task, out, &sampled, error));
    struct gw_collection pass = {.magnitude = sampled + 1};
    GW_TRY(gw_collect_best(task, &pass, 0, out, error));
    if (pass.dropped || gw_dgc_is_far_too_much(out->count, task->k)) {
        (void)gw_keep_largest(out, task->k);
    }
    return GW_OK;
}

const struct gw_kernel gw_kernel_dgc = {.select = select_dgc};
