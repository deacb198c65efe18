#include "device/launch.cuh"
#include "exec/gpu_kernels.h"

/* ---- holding a multiprocessor -------------------------------------------------------------- */

static __device__ __forceinline__ uint64_t global_timer() {
#ifdef GW_CUDA_EMULATED
    return gw_emulated_global_timer();
#else
    uint64_t nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
#endif
}

__global__ void hold(uint64_t *clock, uint64_t nanoseconds, bool continues) {
    if (threadIdx.x == 0) {
        uint64_t now = global_timer();
        uint64_t end = (continues || *clock > now ? *clock : now) + nanoseconds;
        while (now < end) {
            __nanosleep(end - now > 1000 ? 500 : 50);
            now = global_timer();
        }
        *clock = end;
    }
    __syncwarp();
}

extern "C" enum gw_status gw_gpu_hold(uint64_t *clock, uint64_t nanoseconds, bool continues,
                                      struct gw_device_stream *stream, struct gw_error *error) {
    return GW_LAUNCH(hold, 1, 32, stream, error, clock, nanoseconds, continues);
}

/* ---- products of matrices ------------------------------------------------------------------ */

enum { THREADS = 256, EACH = 4 }; /* a thread has EACH x EACH elements of its block's tile */

__global__ void __launch_bounds__(THREADS)
    multiply(const float *a, const float *b, float *c, size_t n, size_t depth, size_t steps) {
    __shared__ float columns[GW_STEP][GW_TILE + 1];
    __shared__ float rows[GW_STEP][GW_TILE];
    size_t tiles = n / GW_TILE;
    size_t top = blockIdx.x / tiles * GW_TILE;
    size_t left = blockIdx.x % tiles * GW_TILE;
    unsigned x = threadIdx.x % (GW_TILE / EACH) * EACH;
    unsigned y = threadIdx.x / (GW_TILE / EACH) * EACH;
    float sums[EACH][EACH] = {};
    for (size_t step = 0; step < steps; step++) {
        size_t first = step * GW_STEP % depth;
        for (unsigned i = threadIdx.x; i < GW_STEP * GW_TILE; i += THREADS) {
            columns[i % GW_STEP][i / GW_STEP] =
                a[(top + i / GW_STEP) * depth + first + i % GW_STEP];
            rows[i / GW_TILE][i % GW_TILE] = b[(first + i / GW_TILE) * n + left + i % GW_TILE];
        }
        __syncthreads();
        for (unsigned k = 0; k < GW_STEP; k++) {
            for (unsigned i = 0; i < EACH; i++) {
                for (unsigned j = 0; j < EACH; j++) {
                    sums[i][j] += columns[k][y + i] * rows[k][x + j];
                }
            }
        }
        __syncthreads();
    }
    for (unsigned i = 0; i < EACH; i++) {
        for (unsigned j = 0; j < EACH; j++) {
            c[(top + y + i) * n + left + x + j] = sums[i][j];
        }
    }
}

extern "C" enum gw_status gw_gpu_multiply(const float *a, const float *b, float *c, size_t n,
                                          size_t depth, size_t steps,
                                          struct gw_device_stream *stream, struct gw_error *error) {
    size_t tiles = n / GW_TILE;
    return GW_LAUNCH(multiply, tiles * tiles, THREADS, stream, error, a, b, c, n, depth, steps);
}
