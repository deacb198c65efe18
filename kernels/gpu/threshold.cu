/* Compressors that find a threshold (cpu/threshold.c), on a GPU. */
#include <gsl/gsl_cdf.h>

#include "kernels/gpu/collect.cuh"
#include "kernels/gpu/moments.cuh"

extern "C" {
#include "kernels/exdyna.h"
}

/* ---- a fixed threshold --------------------------------------------------------------------- */

/* Selects in one pass. */
static enum gw_status select_hard(const gw_task *task, gw_device_stream *stream,
                                  gw_gpu_workspace *workspace, gw_gpu_selection *out,
                                  gw_error *error) {
    gw_gpu_span span = gw_gpu_span_of(task->u, task->gradient, 0, task->n);
    gw_gpu_report_all rule = {{out->on_gpu, out->on_host}};
    return gw_gpu_collect<0>(&span, gw_magnitude_from(task->threshold), out->entries, out->capacity,
                             stream, workspace, rule, error);
}

const struct gw_gpu_kernel gw_gpu_kernel_hard_threshold = {select_hard, false};

/* ---- RedSync ------------------------------------------------------------------------------- */

/*
 * RedSync in two passes: one for mean and maximum, one that counts the elements of all thresholds
 * and collects those of the middle one. If bisection goes up, or ends there, the selection is part
 * of these; otherwise there is a third pass.
 */
struct all_thresholds {
    size_t n;
    __device__ void operator()(const double *sums, gw_gpu_control *control) const {
        double largest = (double)gw_magnitude_value(__ldcg(&control->largest));
        for (int step = 1; step < GW_REDSYNC_STEPS; step++) {
            control->magnitudes[step - 1] =
                gw_magnitude_from(gw_redsync_threshold(sums[0], largest, n, step));
        }
        control->magnitude = control->magnitudes[GW_REDSYNC_STEPS / 2 - 1];
    }
};

struct redsync_threshold {
    size_t k;
    __device__ void operator()(const gw_gpu_collection &what, gw_gpu_control *control) const {
        size_t counts[GW_REDSYNC_STEPS];
        for (int step = 1; step < GW_REDSYNC_STEPS; step++) {
            counts[step] = (size_t)__ldcg(&control->counts[step - 1]);
        }
        gw_gpu_set_selection(what, control,
                             control->magnitudes[gw_redsync_last_step(counts, k) - 1]);
    }
};

static enum gw_status select_redsync(const gw_task *task, gw_device_stream *stream,
                                     gw_gpu_workspace *workspace, gw_gpu_selection *out,
                                     gw_error *error) {
    size_t capacity = gw_gpu_candidates_capacity(task->n);
    all_thresholds first = {task->n};
    redsync_threshold last = {task->k};
    gw_gpu_span span = gw_gpu_span_of(task->u, NULL, 0, task->n);
    GW_TRY(gw_gpu_workspace_reserve(workspace, capacity * sizeof(gw_entry), error));
    GW_TRY(gw_gpu_sum<gw_gpu_tail_terms>(task, 0, true, stream, workspace, first, error));
    GW_TRY(gw_gpu_collect<GW_REDSYNC_STEPS - 1>(&span, -1, (gw_entry *)workspace->memory, capacity,
                                                stream, workspace, last, error));
    return gw_gpu_compact(task, stream, workspace, out, error);
}

const struct gw_gpu_kernel gw_gpu_kernel_redsync = {select_redsync, false};

/* ---- Gaussian_k ---------------------------------------------------------------------------- */

/*
 * Gaussian_k in two passes: one for the moments, one that counts the elements of all thresholds and
 * collects those of the first. If that is not halved, the selection is part of these; otherwise
 * there is a third pass.
 */
struct first_threshold {
    double n, quantile;
    __device__ void operator()(const double *sums, gw_gpu_control *control) const {
        double thresholds[GW_GAUSSIANK_THRESHOLDS];
        double first = gw_gaussiank_first(gw_moments_from(sums[0], sums[1], n), quantile);
        gw_gaussiank_thresholds(first, thresholds);
        for (int i = 0; i < GW_GAUSSIANK_THRESHOLDS; i++) {
            control->magnitudes[i] = gw_magnitude_from(thresholds[i]);
        }
        control->threshold = first;
        control->magnitude = gw_magnitude_from(first);
    }
};

struct gaussiank_threshold {
    size_t k;
    __device__ void operator()(const gw_gpu_collection &what, gw_gpu_control *control) const {
        size_t counts[GW_GAUSSIANK_THRESHOLDS];
        for (int i = 0; i < GW_GAUSSIANK_THRESHOLDS; i++) {
            counts[i] = (size_t)__ldcg(&control->counts[i]);
        }
        double threshold = gw_gaussiank_adjust(control->threshold, counts, k);
        gw_gpu_set_selection(what, control, gw_magnitude_from(threshold));
    }
};

static enum gw_status select_gaussiank(const gw_task *task, gw_device_stream *stream,
                                       gw_gpu_workspace *workspace, gw_gpu_selection *out,
                                       gw_error *error) {
    size_t capacity = gw_gpu_candidates_capacity(task->n);
    double tail = (double)task->k / (2 * (double)task->n);
    first_threshold first = {(double)task->n, gsl_cdf_ugaussian_Qinv(tail)};
    gaussiank_threshold last = {task->k};
    gw_gpu_span span = gw_gpu_span_of(task->u, NULL, 0, task->n);
    GW_TRY(gw_gpu_workspace_reserve(workspace, capacity * sizeof(gw_entry), error));
    GW_TRY(gw_gpu_sum<gw_gpu_all_terms>(task, 0, true, stream, workspace, first, error));
    GW_TRY(gw_gpu_collect<GW_GAUSSIANK_THRESHOLDS>(&span, -1, (gw_entry *)workspace->memory,
                                                   capacity, stream, workspace, last, error));
    return gw_gpu_compact(task, stream, workspace, out, error);
}

const struct gw_gpu_kernel gw_gpu_kernel_gaussiank = {select_gaussiank, false};

/* ---- SIDCo --------------------------------------------------------------------------------- */

/* SIDCo: a pass for each stage and one that selects. Waits for the number of selected elements,
 * from which the stages of later iterations follow. */
struct next_threshold {
    bool first;
    double log_ratio;
    __device__ void operator()(const double *sums, gw_gpu_control *control) const {
        double previous = first ? 0 : control->threshold;
        control->threshold = gw_sidco_exceed_threshold(
            previous, (size_t)__ldcg(&control->counts[0]), sums[0], log_ratio);
        control->magnitude = gw_magnitude_from(control->threshold);
    }
};

static enum gw_status select_sidco(const gw_task *task, gw_device_stream *stream,
                                   gw_gpu_workspace *workspace, gw_gpu_selection *out,
                                   gw_error *error) {
    gw_sidco *state = (gw_sidco *)task->state;
    double ratios[GW_SIDCO_STAGES];
    double rho = (double)task->k / (double)task->n;
    size_t stages = gw_sidco_ratios(rho, state->stages, ratios);
    gw_gpu_span span = gw_gpu_span_of(task->u, NULL, 0, task->n);
    gw_gpu_report_all rule = {{out->on_gpu, out->on_host}};
    for (size_t m = 0; m < stages; m++) {
        next_threshold next = {m == 0, log(ratios[m])};
        GW_TRY(gw_gpu_sum<gw_gpu_tail_terms>(task, m == 0 ? 0 : -1, m == 0, stream, workspace, next,
                                             error));
    }
    GW_TRY(
        gw_gpu_collect<0>(&span, -1, out->entries, out->capacity, stream, workspace, rule, error));
    GW_TRY(gw_device_stream_finish(stream, error));
    if (out->on_host->first_nan == UINT64_MAX) {
        gw_sidco_stages_adapt(state, (size_t)out->on_host->count, task->k, rho);
    }
    return GW_OK;
}

const struct gw_gpu_kernel gw_gpu_kernel_sidco = {select_sidco, true};

/* ---- ExDyna -------------------------------------------------------------------------------- */

/* One pass: over all u if there is a gradient to add, otherwise over the partition. */

/* Sends one element if the worker has selected none. */
struct add_lone_element {
    gw_gpu_report report;
    bool any;
    uint32_t lone;
    __device__ void operator()(const gw_gpu_collection &what, gw_gpu_control *control) const {
        unsigned long long found = control->found;
        if (found == 0 && any) {
            what.out.entries[0].value = __ldcg(what.span.u + lone);
            what.out.entries[0].index = lone;
            found = 1;
        }
        gw_gpu_write_outcome(&report, control, found);
    }
};

static enum gw_status select_exdyna(const gw_task *task, gw_device_stream *stream,
                                    gw_gpu_workspace *workspace, gw_gpu_selection *out,
                                    gw_error *error) {
    gw_exdyna_aim aim = gw_exdyna_aim_of(task);
    bool any = aim.begin < aim.end;
    bool adding = task->gradient != NULL;
    gw_gpu_span span =
        gw_gpu_span_of(task->u, task->gradient, adding ? 0 : aim.begin, adding ? task->n : aim.end);
    span.begin = (int64_t)aim.begin;
    span.stop = (int64_t)aim.end;
    add_lone_element rule = {{out->on_gpu, out->on_host}, any, (uint32_t)aim.lone};
    return gw_gpu_collect<0>(&span, gw_magnitude_from(aim.threshold), out->entries, out->capacity,
                             stream, workspace, rule, error);
}

/* The kernel of all three variants, which differ in how the host observes counts. */
const struct gw_gpu_kernel gw_gpu_kernel_exdyna = {select_exdyna, false};
