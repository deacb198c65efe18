#include "tests/device/device_kernels.h"

#include "device/launch.cuh"

enum { THREADS = 256, WARPS = THREADS / 32 };

#define ALL 0xffffffffu

static __global__ void add(const float *a, const float *b, float *out, size_t n) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        out[i] = a[i] + b[i];
    }
}

static __global__ void sum_blocks(const uint32_t *values, uint64_t *sums) {
    __shared__ uint64_t of_warps[WARPS];
    uint64_t sum = values[blockIdx.x * THREADS + threadIdx.x];
    for (int by = 16; by > 0; by /= 2) {
        sum += __shfl_down_sync(ALL, sum, by);
    }
    if (threadIdx.x % 32 == 0) {
        of_warps[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < WARPS; warp++) {
            sum += of_warps[warp];
        }
        sums[blockIdx.x] = sum;
    }
}

static __global__ void rank_odd(const uint32_t *values, uint32_t *ranks, unsigned long long *odd) {
    __shared__ uint32_t of_warps[WARPS];
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    uint32_t lane = threadIdx.x % 32;
    uint32_t votes = __ballot_sync(ALL, values[i] % 2);
    if (lane == 0) {
        of_warps[threadIdx.x / 32] = __popc(votes);
    }
    __syncthreads();
    uint32_t before = __popc(votes & ((1u << lane) - 1));
    for (uint32_t warp = 0; warp < threadIdx.x / 32; warp++) {
        before += of_warps[warp];
    }
    ranks[i] = before;
    if (lane == 0) {
        atomicAdd(odd, (unsigned long long)__popc(votes));
    }
}

enum gw_status test_add(struct gw_device_stream *stream, const float *a, const float *b, float *out,
                        size_t n, struct gw_error *error) {
    return GW_LAUNCH(add, (n + 4 * THREADS - 1) / (4 * THREADS), THREADS, stream, error, a, b, out,
                     n);
}

enum gw_status test_sum_blocks(struct gw_device_stream *stream, const uint32_t *values,
                               uint64_t *sums, size_t blocks, struct gw_error *error) {
    return GW_LAUNCH(sum_blocks, blocks, THREADS, stream, error, values, sums);
}

enum gw_status test_rank_odd(struct gw_device_stream *stream, const uint32_t *values,
                             uint32_t *ranks, unsigned long long *odd, size_t blocks,
                             struct gw_error *error) {
    return GW_LAUNCH(rank_odd, blocks, THREADS, stream, error, values, ranks, odd);
}
