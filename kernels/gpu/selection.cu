/* The begin and the end of selections on a GPU, and a pass to compare other passes with. */
#include "kernels/gpu/kernels.cuh"

enum {
    CLEARING_BLOCKS = 4,
    READING_BLOCKS = 8,
    LOADS = 4, /* loads that a thread has in flight */
};

/* ---- outcomes ------------------------------------------------------------------------------ */

static __device__ void record_nan(float value, size_t index, struct gw_gpu_outcome *outcome) {
    if (isnan(value)) {
        atomicMin((unsigned long long *)&outcome->first_nan, (unsigned long long)index);
    }
}

static __global__ void begin_outcome(struct gw_gpu_outcome *outcome) {
    outcome->count = 0;
    outcome->first_nan = UINT64_MAX;
}

enum gw_status gw_gpu_outcome_begin(const struct gw_gpu_selection *out,
                                    struct gw_device_stream *stream, struct gw_error *error) {
    return GW_LAUNCH(begin_outcome, 1, 1, stream, error, out->on_gpu);
}

static __global__ void add_gradient(float *u, const float *gradient, size_t n,
                                    struct gw_gpu_outcome *outcome) {
    GW_GPU_EACH(i, n) {
        float sum = u[i] + gradient[i];
        u[i] = sum;
        record_nan(sum, i, outcome);
    }
}

enum gw_status gw_gpu_outcome_accumulate(const struct gw_task *task,
                                         const struct gw_gpu_selection *out,
                                         struct gw_device_stream *stream, struct gw_error *error) {
    size_t n = task->gradient == NULL ? 0 : task->n;
    return GW_GPU_LAUNCH_EACH(add_gradient, n, stream, error, task->u, task->gradient, n,
                              out->on_gpu);
}

static __global__ void select_indices(const float *u, const uint32_t *indices, size_t count,
                                      struct gw_entry *entries, struct gw_gpu_outcome *outcome) {
    GW_GPU_EACH(i, count) {
        uint32_t index = indices[i];
        float value = u[index];
        entries[i].value = value;
        entries[i].index = index;
        record_nan(value, index, outcome);
    }
}

enum gw_status gw_gpu_outcome_select(const float *u, const uint32_t *indices, size_t count,
                                     const struct gw_gpu_selection *out,
                                     struct gw_device_stream *stream, struct gw_error *error) {
    return GW_GPU_LAUNCH_EACH(select_indices, count, stream, error, u, indices, count, out->entries,
                              out->on_gpu);
}

static __global__ void set_outcome_count(struct gw_gpu_outcome *outcome, uint64_t count) {
    outcome->count = count;
}

enum gw_status gw_gpu_outcome_end(size_t count, const struct gw_gpu_selection *out,
                                  struct gw_device_stream *stream, struct gw_error *error) {
    GW_TRY(GW_LAUNCH(set_outcome_count, 1, 1, stream, error, out->on_gpu, (uint64_t)count));
    return gw_device_copy(stream, out->on_host, out->on_gpu, sizeof *out->on_host, error);
}

/* ---- error feedback ------------------------------------------------------------------------ */

static __global__ void clear_selected(float *u, const gw_entry *entries,
                                      const gw_gpu_outcome *outcome) {
    uint64_t count = outcome->first_nan == UINT64_MAX ? outcome->count : 0;
    GW_GPU_EACH(i, count) {
        u[entries[i].index] = 0;
    }
}

enum gw_status gw_gpu_compress(const struct gw_gpu_kernel *compressor, const struct gw_task *task,
                               struct gw_device_stream *stream, struct gw_gpu_workspace *workspace,
                               struct gw_gpu_selection *out, struct gw_error *error) {
    size_t blocks = gw_gpu_blocks(stream, (out->capacity + GW_GPU_THREADS - 1) / GW_GPU_THREADS,
                                  CLEARING_BLOCKS);
    GW_TRY(compressor->select(task, stream, workspace, out, error));
    return GW_LAUNCH(clear_selected, blocks, GW_GPU_THREADS, stream, error, task->u, out->entries,
                     out->on_gpu);
}

/* ---- a pass that only reads ---------------------------------------------------------------- */

static __device__ float add_magnitudes(float4 four) {
    return fabsf(four.x) + fabsf(four.y) + fabsf(four.z) + fabsf(four.w);
}

/* Sums |u|. Less than 4 elements precede the `fours`, and less than 4 follow them. */
static __global__ void sum_all(const float *u, size_t first, const float4 *fours, size_t count,
                               size_t n, float *sum) {
    float own = 0;
    size_t threads = (size_t)gridDim.x * GW_GPU_THREADS;
    size_t thread = (size_t)blockIdx.x * GW_GPU_THREADS + threadIdx.x;
    size_t i = thread;
    for (; i + (LOADS - 1) * threads < count; i += LOADS * threads) {
        float4 loaded[LOADS];
        for (int j = 0; j < LOADS; j++) {
            loaded[j] = __ldcs(fours + i + j * threads);
        }
        for (int j = 0; j < LOADS; j++) {
            own += add_magnitudes(loaded[j]);
        }
    }
    for (; i < count; i += threads) {
        own += add_magnitudes(fours[i]);
    }
    if (thread < first) {
        own += fabsf(u[thread]);
    }
    if (thread < n - first - 4 * count) {
        own += fabsf(u[first + 4 * count + thread]);
    }
    for (int by = GW_GPU_WARP / 2; by > 0; by /= 2) {
        own += __shfl_down_sync(0xffffffffu, own, by);
    }
    if (threadIdx.x % GW_GPU_WARP == 0) {
        atomicAdd(sum, own);
    }
}

enum gw_status gw_gpu_read_pass(const float *u, size_t n, struct gw_device_stream *stream,
                                float *sum, struct gw_error *error) {
    /* The number of elements before the first that is aligned for float4. */
    size_t before = (16 - (uintptr_t)u % 16) % 16 / sizeof *u;
    size_t first = before < n ? before : n;
    size_t count = (n - first) / 4;
    size_t blocks = gw_gpu_blocks(
        stream, (count + LOADS * GW_GPU_THREADS - 1) / (LOADS * GW_GPU_THREADS), READING_BLOCKS);
    GW_TRY(gw_device_clear(stream, sum, sizeof *sum, error));
    return GW_LAUNCH(sum_all, blocks > 0 ? blocks : 1, GW_GPU_THREADS, stream, error, u, first,
                     (const float4 *)(u + first), count, n, sum);
}
