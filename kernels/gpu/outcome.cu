#include "kernels/gpu/kernels.cuh"

extern "C" {
#include "kernels/gpu/outcome.h"
}

enum { THREADS = 256, BLOCKS_EACH = 16 /* of a multiprocessor: more than it holds at once */ };

static size_t blocks_for(const struct gw_device_stream *stream, size_t n) {
    size_t most = BLOCKS_EACH * gw_device_multiprocessors(gw_device_stream_device(stream));
    size_t needed = n / THREADS + (n % THREADS != 0);
    return needed < most ? needed : most;
}

static __device__ void look_for_nan(float value, size_t index, struct gw_gpu_outcome *outcome) {
    if (isnan(value)) {
        atomicMin((unsigned long long *)&outcome->first_nan, (unsigned long long)index);
    }
}

static __global__ void begin(struct gw_gpu_outcome *outcome) {
    outcome->count = 0;
    outcome->first_nan = UINT64_MAX;
}

enum gw_status gw_gpu_outcome_begin(const struct gw_gpu_selection *out,
                                    struct gw_device_stream *stream, struct gw_error *error) {
    return GW_LAUNCH(begin, 1, 1, stream, error, out->on_gpu);
}

static __global__ void accumulate(float *u, const float *gradient, size_t n,
                                  struct gw_gpu_outcome *outcome) {
    size_t threads = (size_t)gridDim.x * THREADS;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += threads) {
        float sum = u[i] + gradient[i];
        u[i] = sum;
        look_for_nan(sum, i, outcome);
    }
}

enum gw_status gw_gpu_outcome_accumulate(const struct gw_task *task,
                                         const struct gw_gpu_selection *out,
                                         struct gw_device_stream *stream, struct gw_error *error) {
    size_t n = task->gradient == NULL ? 0 : task->n;
    return GW_LAUNCH(accumulate, blocks_for(stream, n), THREADS, stream, error, task->u,
                     task->gradient, n, out->on_gpu);
}

static __global__ void select(const float *u, const uint32_t *indices, size_t count,
                              struct gw_entry *entries, struct gw_gpu_outcome *outcome) {
    size_t threads = (size_t)gridDim.x * THREADS;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += threads) {
        uint32_t index = indices[i];
        float value = u[index];
        entries[i].value = value;
        entries[i].index = index;
        look_for_nan(value, index, outcome);
    }
}

enum gw_status gw_gpu_outcome_select(const float *u, const uint32_t *indices, size_t count,
                                     const struct gw_gpu_selection *out,
                                     struct gw_device_stream *stream, struct gw_error *error) {
    return GW_LAUNCH(select, blocks_for(stream, count), THREADS, stream, error, u, indices, count,
                     out->entries, out->on_gpu);
}

static __global__ void tell(struct gw_gpu_outcome *outcome, uint64_t count) {
    outcome->count = count;
}

enum gw_status gw_gpu_outcome_end(size_t count, const struct gw_gpu_selection *out,
                                  struct gw_device_stream *stream, struct gw_error *error) {
    GW_TRY(GW_LAUNCH(tell, 1, 1, stream, error, out->on_gpu, (uint64_t)count));
    return gw_device_copy(stream, out->on_host, out->on_gpu, sizeof *out->on_host, error);
}
