/*
 * Deep gradient compression: the largest of a sample give a threshold; what exceeds it travels, or,
 * if that is far too much, the k largest of it.
 */
#include "kernels/dgc.h"

#include <stdlib.h>

#include "kernels/cpu/collect.h"
#include "kernels/cpu/scan.h"
#include "kernels/cpu/topk.h"
#include "kernels/cpu/workspace.h"
#include "kernels/threshold.h"

/* ---- fast ---------------------------------------------------------------------------------- */

static enum gw_status take_sample(const struct gw_task *task, struct gw_error *error) {
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

/* The least of the sample's largest; `out` is used for them. */
static enum gw_status sample_magnitude(const struct gw_task *task, struct gw_selection *out,
                                       int32_t *magnitude, struct gw_error *error) {
    GW_TRY(take_sample(task, error));
    struct gw_task of_sample = {.u = task->workspace->sample,
                                .n = gw_dgc_samples(task->n),
                                .k = gw_dgc_rank(task),
                                .workspace = task->workspace};
    GW_TRY(gw_kernel_topk.select(&of_sample, out, error));
    *magnitude = GW_INFINITE;
    for (size_t i = 0; i < out->count; i++) {
        int32_t one = gw_magnitude(out->entries[i].value);
        *magnitude = one < *magnitude ? one : *magnitude;
    }
    return GW_OK;
}

static enum gw_status select_fast(const struct gw_task *task, struct gw_selection *out,
                                  struct gw_error *error) {
    int32_t sampled;
    GW_TRY(sample_magnitude(task, out, &sampled, error));
    struct gw_collection pass = {.magnitude = sampled + 1};
    GW_TRY(gw_collect_best(task, &pass, 0, out, error));
    if (pass.dropped || gw_dgc_is_far_too_much(out->count, task->k)) {
        (void)gw_keep_largest(out, task->k);
    }
    return GW_OK;
}

/* ---- reference ----------------------------------------------------------------------------- */

static int descending(const void *left, const void *right) {
    float a = *(const float *)left;
    float b = *(const float *)right;
    return (a < b) - (a > b);
}

static enum gw_status select_reference(const struct gw_task *task, struct gw_selection *out,
                                       struct gw_error *error) {
    size_t samples = gw_dgc_samples(task->n);
    GW_TRY(gw_threshold_select_reference(task, 0, true, out, error)); /* adds, and meets NaNs */
    GW_TRY(gw_workspace_reserve_sample(task->workspace, samples, error));
    float *sample = task->workspace->sample;
    for (size_t i = 0; i < samples; i++) {
        sample[i] = fabsf(task->u[gw_dgc_position(gw_dgc_key(task), task->n, i)]);
    }
    qsort(sample, samples, sizeof *sample, descending);
    float threshold = sample[gw_dgc_rank(task) - 1];
    out->count = 0;
    for (size_t i = 0; i < task->n; i++) {
        if (fabsf(task->u[i]) > threshold) {
            out->entries[out->count++] =
                (struct gw_entry){.value = task->u[i], .index = (uint32_t)i};
        }
    }
    if (gw_dgc_is_far_too_much(out->count, task->k)) {
        gw_topk_keep_reference(out, task->k);
    }
    return GW_OK;
}

const struct gw_kernel gw_kernel_dgc = {
    .select = select_fast,
    .reference = select_reference,
};
