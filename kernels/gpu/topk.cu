/*
 * Exact top-k (cpu/topk.c) in little more than one pass over u. The bins of a sample give a
 * magnitude that somewhat more than k elements should reach; the pass collects those; the k-th of
 * them is found, and the elements above it are selected. If the sample misleads, or too many
 * elements are equal, u replaces the collected elements: three more passes.
 */
#include "kernels/gpu/collect.cuh"
#include "kernels/gpu/narrow.cuh"

extern "C" {
#include "kernels/cpu/collect.h"
}

enum { SAMPLE_SHIFT = 17, SAMPLE_BINS = 1 << (31 - SAMPLE_SHIFT) }; /* 64 bins to an octave */

/* ---- top-k: a sample ----------------------------------------------------------------------- */

struct topk_sampling {
    const float *u, *gradient;
    uint64_t stride;
    uint32_t count, rank;
};

static __global__ void sample_bins(topk_sampling what, gw_gpu_control *control) {
    uint32_t index = blockIdx.x * GW_GPU_THREADS + threadIdx.x;
    int64_t bin = -1;
    if (index < what.count) {
        uint64_t place = gw_sample_golden(index, what.stride);
        float value = what.u[place] + (what.gradient == NULL ? 0 : what.gradient[place]);
        int32_t magnitude = gw_magnitude(value);
        bin = (magnitude < GW_INFINITE ? magnitude : GW_INFINITE) >> SAMPLE_SHIFT;
    }
    gw_gpu_count_bin(control->bins, bin);
    if (gw_gpu_is_last_block(control)) {
        gw_gpu_pick pick = gw_gpu_pick_bin(control->bins, SAMPLE_BINS, what.rank);
        if (threadIdx.x == 0) {
            control->magnitude = (int32_t)(pick.bin << SAMPLE_SHIFT);
        }
    }
}

/* ---- top-k: the pass ----------------------------------------------------------------------- */

/* Searches the collected elements for the k largest, or u if they are too few or too many. */
struct choose_topk {
    uint64_t k;
    __device__ void operator()(const gw_gpu_collection &what, gw_gpu_control *control) const {
        unsigned long long found = control->found;
        uint32_t largest = (uint32_t)__ldcg(&control->largest);
        uint32_t least = (uint32_t)(what.magnitude < 0 ? control->magnitude : what.magnitude);
        control->dense = found < k || found > what.out.capacity;
        control->listed = found;
        control->narrowing = true;
        control->low = found < k ? 0 : least;
        control->width = largest - control->low;
        control->rank = k;
    }
};

static enum gw_status select_topk(const gw_task *task, gw_device_stream *stream,
                                  gw_gpu_workspace *workspace, gw_gpu_selection *out,
                                  gw_error *error) {
    size_t capacity = gw_gpu_candidates_capacity(task->n);
    size_t count;
    size_t rank = gw_sample_rank(task->n, task->k, &count);
    gw_gpu_span span = gw_gpu_span_of(task->u, task->gradient, 0, task->n);
    choose_topk rule = {task->k};
    GW_TRY(gw_gpu_workspace_reserve(workspace, capacity * sizeof(gw_entry), error));
    if (rank > 0) {
        topk_sampling what = {task->u, task->gradient, gw_sample_stride(task->n), (uint32_t)count,
                              (uint32_t)rank};
        size_t blocks = (count + GW_GPU_THREADS - 1) / GW_GPU_THREADS;
        GW_TRY(GW_LAUNCH(sample_bins, blocks, GW_GPU_THREADS, stream, error, what,
                         gw_gpu_control_of(workspace)));
    }
    GW_TRY(gw_gpu_collect<0>(&span, rank > 0 ? -1 : 0, (gw_entry *)workspace->memory, capacity,
                             stream, workspace, rule, error));
    GW_TRY(gw_gpu_narrow(task, false, stream, workspace, error));
    return gw_gpu_compact(task, stream, workspace, out, error);
}

const struct gw_gpu_kernel gw_gpu_kernel_topk = {select_topk, false};

/* ---- DGC ----------------------------------------------------------------------------------- */

/* The sample, its threshold, and one pass that collects the elements above it. If they are far too
 * many, the k-th of them is found as for top-k. */
struct dgc_sampling {
    const float *u, *gradient;
    uint64_t key, n, samples, rank;
};

/* Reads the sample. NaNs count as infinite here; the pass will find them. */
static __global__ void read_dgc_sample(dgc_sampling what, gw_entry *out, gw_gpu_control *control) {
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
        gw_gpu_set_selection(what, control, least);
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
    GW_TRY(GW_LAUNCH(read_dgc_sample, (samples + GW_GPU_THREADS - 1) / GW_GPU_THREADS,
                     GW_GPU_THREADS, stream, error, what, entries, gw_gpu_control_of(workspace)));
    GW_TRY(gw_gpu_narrow(task, true, stream, workspace, error));
    GW_TRY(gw_gpu_collect<0>(&span, -1, entries, capacity, stream, workspace, rule, error));
    GW_TRY(gw_gpu_narrow(task, false, stream, workspace, error));
    return gw_gpu_compact(task, stream, workspace, out, error);
}

const struct gw_gpu_kernel gw_gpu_kernel_dgc = {select_dgc, false};
