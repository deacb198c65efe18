/*
 * Gaussian_k (gaussiank.c) in two passes: one for the moments, one that counts what all thresholds
 * select and collects what the first does. Where it is not halved, the last selects from that;
 * otherwise there is a third pass.
 */
#include <gsl/gsl_cdf.h>

#include "kernels/gpu/collect.cuh"
#include "kernels/gpu/moments.cuh"

extern "C" {
#include "kernels/gaussiank.h"
#include "kernels/gpu/largest.h"
extern const struct gw_gpu_kernel gw_gpu_kernel_gaussiank;
}

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
        gw_gpu_settle(what, control, gw_magnitude_from(threshold));
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
