/*
 * DGC (dgc.c): the sample, what of it decides, and one pass that collects what lies above. If that
 * is far too much, the k-th of it is found as for top-k.
 */
#include "kernels/gpu/collect.cuh"

extern "C" {
#include "kernels/dgc.h"
#include "kernels/gpu/largest.h"
extern const struct gw_gpu_kernel gw_gpu_kernel_dgc;
}

struct dgc_sampling {
    const float *u, *gradient;
    uint64_t key, n, samples, rank;
};

/* NaNs count as infinite here; the pass will find them. */
static __global__ void take_sample(dgc_sampling what, gw_entry *out, gw_gpu_control *control) {
    uint64_t i = (uint64_t)blockIdx.x * GW_GPU_THREADS + threadIdx.x;
    if (i < what.samples) {
        size_t place = gw_dgc_position(what.key, what.n, i);
        float value = what.u[place] + (what.gradient == NULL ? 0 : what.gradient[place]);
        out[i].value = gw_magnitude(value) > GW_INFINITE ? INFINITY : value;
        out[i].index = (uint32_t)place;
    }
    if (i == 0) {
        control->dense = false;
        control->listed = what.samples;
        control->narrowing = true;
        control->low = 0;
        control->width = GW_INFINITE;
        control->rank = what.rank;
    }
}

struct choose_dgc {
    size_t k;
    __device__ void operator()(const gw_gpu_collection &what, gw_gpu_control *control) const {
        int32_t least = control->magnitude;
        gw_gpu_settle(what, control, least);
        if (gw_dgc_is_far_too_much((size_t)control->found, k)) {
            control->narrowing = true;
            control->low = (uint32_t)least;
            control->width = (uint32_t)(__ldcg(&control->largest) - least);
            control->rank = k;
        }
    }
};

static enum gw_status select_dgc(const gw_task *task, gw_device_stream *stream,
                                 gw_gpu_workspace *workspace, gw_gpu_selection *out,
                                 gw_error *error) {
    size_t capacity = gw_gpu_candidates_capacity(task->n);
    size_t samples = gw_dgc_samples(task->n);
    dgc_sampling what = {task->u, task->gradient, gw_dgc_key(task),
                         task->n, samples,        gw_dgc_rank(task)};
    choose_dgc rule = {task->k};
    gw_gpu_span span = gw_gpu_span_of(task->u, task->gradient, 0, task->n);
    GW_TRY(gw_gpu_workspace_reserve(workspace, capacity * sizeof(gw_entry), error));
    gw_entry *entries = (gw_entry *)workspace->memory;
    GW_TRY(GW_LAUNCH(take_sample, (samples + GW_GPU_THREADS - 1) / GW_GPU_THREADS, GW_GPU_THREADS,
                     stream, error, what, entries, gw_gpu_control_of(workspace)));
    GW_TRY(gw_gpu_narrow(task, true, stream, workspace, error));
    GW_TRY(gw_gpu_collect<0>(&span, -1, entries, capacity, stream, workspace, rule, error));
    GW_TRY(gw_gpu_narrow(task, false, stream, workspace, error));
    return gw_gpu_compact(task, stream, workspace, out, error);
}

const struct gw_gpu_kernel gw_gpu_kernel_dgc = {select_dgc, false};
