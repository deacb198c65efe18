/* The pass that others are compared with. */
#include "kernels/gpu/kernels.cuh"

enum { THREADS = 256, WARP = 32, BLOCKS_OF_A_MULTIPROCESSOR = 8, AT_ONCE = 4 };

/* Elements before the first that float4 may be read from. */
static size_t before_aligned(const float *u, size_t n) {
    size_t before = (16 - (uintptr_t)u % 16) % 16 / sizeof *u;
    return before < n ? before : n;
}

static __device__ float magnitudes(float4 four) {
    return fabsf(four.x) + fabsf(four.y) + fabsf(four.z) + fabsf(four.w);
}

/* `ends`: what is before and behind the `fours`, less than 4 elements each. */
static __global__ void read_all(const float *u, size_t first, const float4 *fours, size_t count,
                                size_t n, float *sum) {
    float own = 0;
    size_t threads = (size_t)gridDim.x * THREADS;
    size_t thread = (size_t)blockIdx.x * THREADS + threadIdx.x;
    size_t i = thread;
    for (; i + (AT_ONCE - 1) * threads < count; i += AT_ONCE * threads) {
        float4 loaded[AT_ONCE];
        for (int j = 0; j < AT_ONCE; j++) {
            loaded[j] = __ldcs(fours + i + j * threads);
        }
        for (int j = 0; j < AT_ONCE; j++) {
            own += magnitudes(loaded[j]);
        }
    }
    for (; i < count; i += threads) {
        own += magnitudes(fours[i]);
    }
    if (thread < first) {
        own += fabsf(u[thread]);
    }
    if (thread < n - first - 4 * count) {
        own += fabsf(u[first + 4 * count + thread]);
    }
    for (int by = WARP / 2; by > 0; by /= 2) {
        own += __shfl_down_sync(0xffffffffu, own, by);
    }
    if (threadIdx.x % WARP == 0) {
        atomicAdd(sum, own);
    }
}

enum gw_status gw_gpu_read_pass(const float *u, size_t n, struct gw_device_stream *stream,
                                float *sum, struct gw_error *error) {
    size_t first = before_aligned(u, n);
    size_t count = (n - first) / 4;
    size_t most =
        BLOCKS_OF_A_MULTIPROCESSOR * gw_device_multiprocessors(gw_device_stream_device(stream));
    size_t useful = (count + AT_ONCE * THREADS - 1) / (AT_ONCE * THREADS);
    size_t blocks = useful < most ? useful : most;
    GW_TRY(gw_device_clear(stream, sum, sizeof *sum, error));
    return GW_LAUNCH(read_all, blocks > 0 ? blocks : 1, THREADS, stream, error, u, first,
                     (const float4 *)(u + first), count, n, sum);
}
