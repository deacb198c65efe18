/*
 * RedSync (redsync.c) in two passes: one for mean and maximum, one that counts what all thresholds
 * select and collects what the middle one does. Where bisection goes up, or no further, the rest is
 * among that; otherwise there is a third pass.
 */
#include "kernels/gpu/collect.cuh"
#include "kernels/gpu/moments.cuh"

extern "C" {
#include "kernels/gpu/largest.h"
#include "kernels/redsync.h"
extern const struct gw_gpu_kernel gw_gpu_kernel_redsync;
}

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
        gw_gpu_settle(what, control, control->magnitudes[gw_redsync_last_step(counts, k) - 1]);
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
