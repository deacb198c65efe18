/* Selections of compressors by definition: one element after the other, sums in long double, lists
 * sorted. States are those of the compressors themselves. */
#include "tests/kernels/references.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

#include "kernels/arithmetic.h"
#include "kernels/cpu/collect.h"
#include "kernels/exdyna.h"
#include "kernels/layers.h"
#include "kernels/sketch/gpu.h"
#include "kernels/sketch/loops.h"
#include "kernels/threshold.h"
#include "tests/support.h"

static enum gw_status append(const struct gw_task *task, size_t index, struct gw_selection *out,
                             struct gw_error *error) {
    GW_TRY(gw_selection_reserve(out, task->n, error));
    out->entries[out->count++] =
        (struct gw_entry){.value = task->u[index], .index = (uint32_t)index};
    return GW_OK;
}

/* ---- passes over u ------------------------------------------------------------------------- */

static enum gw_status accumulate_all(const struct gw_task *task, struct gw_error *error) {
    for (size_t i = 0; i < task->n && task->gradient != NULL; i++) {
        task->u[i] += task->gradient[i];
        if (isnan(task->u[i])) {
            return gw_fail_nan(i, task->n, error);
        }
    }
    return GW_OK;
}

static enum gw_status refuse_nan(const struct gw_task *task, struct gw_error *error) {
    for (size_t i = 0; i < task->n; i++) {
        if (isnan(task->u[i])) {
            return gw_fail_nan(i, task->n, error);
        }
    }
    return GW_OK;
}

static enum gw_status moments_by_definition(const struct gw_task *task, struct gw_moments_of_u *out,
                                            struct gw_error *error) {
    GW_TRY(accumulate_all(task, error));
    GW_TRY(refuse_nan(task, error));
    long double sum = 0;
    long double squares = 0;
    for (size_t i = 0; i < task->n; i++) {
        sum += task->u[i];
    }
    long double mean = sum / (long double)task->n;
    for (size_t i = 0; i < task->n; i++) {
        squares += (task->u[i] - mean) * (task->u[i] - mean);
    }
    *out = (struct gw_moments_of_u){.mean = (double)mean,
                                    .deviation = (double)sqrtl(squares / (long double)task->n)};
    return GW_OK;
}

static enum gw_status exceed_by_definition(const struct gw_task *task, double threshold,
                                           bool adding, struct gw_exceedances *out,
                                           struct gw_error *error) {
    if (adding) {
        GW_TRY(accumulate_all(task, error));
    }
    GW_TRY(refuse_nan(task, error));
    long double sum = 0;
    *out = (struct gw_exceedances){0};
    for (size_t i = 0; i < task->n; i++) {
        double size = fabs(task->u[i]);
        if (size >= threshold) {
            sum += size;
            out->count++;
            out->largest = fmax(out->largest, size);
        }
    }
    out->sum = (double)sum;
    return GW_OK;
}

static enum gw_status select_by_definition(const struct gw_task *task, double threshold,
                                           bool adding, struct gw_selection *out,
                                           struct gw_error *error) {
    if (adding) {
        GW_TRY(accumulate_all(task, error));
    }
    GW_TRY(refuse_nan(task, error));
    GW_TRY(gw_selection_reserve(out, task->n, error));
    out->count = 0;
    for (size_t i = 0; i < task->n; i++) {
        if (fabs(task->u[i]) >= threshold) {
            out->entries[out->count++] =
                (struct gw_entry){.value = task->u[i], .index = (uint32_t)i};
        }
    }
    return GW_OK;
}

/* ---- top-k and DGC ------------------------------------------------------------------------- */

static int by_index(const void *left, const void *right) {
    uint32_t a = ((const struct gw_entry *)left)->index;
    uint32_t b = ((const struct gw_entry *)right)->index;
    return (a > b) - (a < b);
}

static int by_magnitude(const void *left, const void *right) {
    float a = fabsf(((const struct gw_entry *)left)->value);
    float b = fabsf(((const struct gw_entry *)right)->value);
    return a != b ? (a < b) - (a > b) : by_index(left, right);
}

void gw_keep_largest_reference(struct gw_selection *selection, size_t k) {
    qsort(selection->entries, selection->count, sizeof *selection->entries, by_magnitude);
    selection->count = k < selection->count ? k : selection->count;
    qsort(selection->entries, selection->count, sizeof *selection->entries, by_index);
}

static enum gw_status select_topk(const struct gw_task *task, struct gw_selection *out,
                                  struct gw_error *error) {
    GW_TRY(select_by_definition(task, 0, true, out, error));
    gw_keep_largest_reference(out, task->k);
    return GW_OK;
}

static int descending(const void *left, const void *right) {
    float a = *(const float *)left;
    float b = *(const float *)right;
    return (a < b) - (a > b);
}

static enum gw_status select_dgc(const struct gw_task *task, struct gw_selection *out,
                                 struct gw_error *error) {
    size_t samples = gw_dgc_samples(task->n);
    GW_TRY(select_by_definition(task, 0, true, out, error)); /* adds, and meets NaNs */
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
        gw_keep_largest_reference(out, task->k);
    }
    return GW_OK;
}

/* ---- thresholds ---------------------------------------------------------------------------- */

static enum gw_status select_hard(const struct gw_task *task, struct gw_selection *out,
                                  struct gw_error *error) {
    return select_by_definition(task, task->threshold, true, out, error);
}

static enum gw_status select_redsync(const struct gw_task *task, struct gw_selection *out,
                                     struct gw_error *error) {
    struct gw_exceedances all;
    GW_TRY(exceed_by_definition(task, 0, true, &all, error));
    double low = 0;
    double high = 1;
    do {
        double r = (low + high) / 2;
        int step = (int)(r * GW_REDSYNC_STEPS);
        GW_TRY(select_by_definition(task, gw_redsync_threshold(all.sum, all.largest, task->n, step),
                                    false, out, error));
        *(out->count < task->k ? &high : &low) = r;
    } while (high - low >= 0.2 && !gw_redsync_is_near(out->count, task->k));
    return GW_OK;
}

static enum gw_status select_gaussiank(const struct gw_task *task, struct gw_selection *out,
                                       struct gw_error *error) {
    struct gw_moments_of_u moments;
    GW_TRY(moments_by_definition(task, &moments, error));
    double threshold = gw_gaussiank_first(
        moments, gsl_cdf_ugaussian_Qinv((double)task->k / (2 * (double)task->n)));
    for (int step = 0; step < GW_GAUSSIANK_ADJUSTMENTS; step++) {
        GW_TRY(select_by_definition(task, threshold, false, out, error));
        threshold *= gw_gaussiank_adjustment(out->count, task->k);
    }
    return select_by_definition(task, threshold, false, out, error);
}

static enum gw_status select_sidco(const struct gw_task *task, struct gw_selection *out,
                                   struct gw_error *error) {
    struct gw_sidco *state = task->state;
    double rho = (double)task->k / (double)task->n;
    double ratios[GW_SIDCO_STAGES];
    size_t stages = gw_sidco_ratios(rho, state->stages, ratios);
    double threshold = 0;
    for (size_t m = 0; m < stages; m++) {
        struct gw_exceedances above;
        GW_TRY(exceed_by_definition(task, threshold, m == 0, &above, error));
        threshold = gw_sidco_exceed_threshold(threshold, above.count, above.sum, log(ratios[m]));
    }
    GW_TRY(select_by_definition(task, threshold, false, out, error));
    gw_sidco_stages_adapt(state, out->count, task->k, rho);
    return GW_OK;
}

/* ---- others -------------------------------------------------------------------------------- */

static int ascending(const void *left, const void *right) {
    size_t a = *(const size_t *)left;
    size_t b = *(const size_t *)right;
    return (a > b) - (a < b);
}

static enum gw_status select_randk(const struct gw_task *task, struct gw_selection *out,
                                   struct gw_error *error) {
    struct gw_permutation permutation =
        gw_permutation_of(task->n, gw_mix_pair(task->seed, task->iteration));
    GW_TRY(accumulate_all(task, error));
    GW_TRY(gw_workspace_reserve(task->workspace, task->k * sizeof(size_t), error));
    size_t *indices = task->workspace->memory;
    for (size_t place = 0; place < task->k; place++) {
        indices[place] = (size_t)gw_permutation_at(&permutation, place);
    }
    qsort(indices, task->k, sizeof *indices, ascending);
    out->count = 0;
    for (size_t i = 0; i < task->k; i++) {
        if (isnan(task->u[indices[i]])) {
            return gw_fail_nan(indices[i], task->n, error);
        }
        GW_TRY(append(task, indices[i], out, error));
    }
    return GW_OK;
}

/* The whole partition, or one element if there is nothing to send. */
static enum gw_status select_exdyna(const struct gw_task *task, struct gw_selection *out,
                                    struct gw_error *error) {
    struct gw_exdyna_aim aim = gw_exdyna_aim_of(task);
    GW_TRY(accumulate_all(task, error));
    out->count = 0;
    for (size_t i = aim.begin; i < aim.end; i++) {
        if (isnan(task->u[i])) {
            return gw_fail_nan(i, task->n, error);
        }
        if (fabs(task->u[i]) >= aim.threshold) {
            GW_TRY(append(task, i, out, error));
        }
    }
    return out->count > 0 || aim.begin == aim.end ? GW_OK : append(task, aim.lone, out, error);
}

static enum gw_status select_layers(const struct gw_task *task, struct gw_selection *out,
                                    struct gw_error *error) {
    const struct gw_layer_drop *state = task->state;
    GW_TRY(accumulate_all(task, error));
    GW_TRY(gw_layers_means(task->u, state->sizes, state->layer_count, state->means, error));
    GW_TRY(gw_layer_drop_choose(task, error));
    out->count = 0;
    for (size_t layer = 0, i = 0; layer < state->layer_count; layer++) {
        for (size_t end = i + state->sizes[layer]; i < end; i++) {
            if (state->sent[layer]) {
                GW_TRY(append(task, i, out, error));
            }
        }
    }
    return GW_OK;
}

static enum gw_status select_sketched(const struct gw_task *task, struct gw_selection *out,
                                      struct gw_error *error) {
    struct gw_count_sketch *state = task->state;
    size_t heavy;
    gw_sketch_clear(&state->sketch);
    GW_TRY(accumulate_all(task, error));
    GW_TRY(gw_sketch_encode_reference(&state->sketch, task->u, 0, task->n, error));
    GW_TRY(gw_sketch_heavymix_reference(&state->sketch, task->n, task->k, task->iteration,
                                        state->indices, &heavy, error));
    out->count = 0;
    for (size_t i = 0; i < task->k; i++) {
        GW_TRY(append(task, state->indices[i], out, error));
    }
    return GW_OK;
}

/* ---- the table ----------------------------------------------------------------------------- */

static const struct {
    const struct gw_compressor *compressor;
    gw_select *select;
} references[] = {
    {&gw_compressor_topk, select_topk},
    {&gw_compressor_randk, select_randk},
    {&gw_compressor_dgc, select_dgc},
    {&gw_compressor_redsync, select_redsync},
    {&gw_compressor_gaussiank, select_gaussiank},
    {&gw_compressor_count_sketch, select_sketched},
    {&gw_compressor_layer_drop, select_layers},
    {&gw_compressor_hard_threshold, select_hard},
    {&gw_compressor_sidco, select_sidco},
    {&gw_compressor_exdyna, select_exdyna},
    {&gw_compressor_exdyna_trend, select_exdyna},
    {&gw_compressor_exdyna_static, select_exdyna},
};

gw_select *gw_reference_of(const struct gw_compressor *compressor) {
    for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
        if (references[i].compressor == compressor) {
            return references[i].select;
        }
    }
    fail_msg("no line in references[] for %s", compressor->name);
    return NULL;
}
