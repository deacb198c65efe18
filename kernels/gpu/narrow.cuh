/* Ranges of magnitudes that hold the one of a given rank, and the search for its bin by a block.
 * Private to kernels/. */
#ifndef GW_KERNELS_GPU_NARROW_CUH
#define GW_KERNELS_GPU_NARROW_CUH

#include "kernels/gpu/kernels.cuh"

/* Counts `bin` (-1: none). All lanes of a warp call it; lanes with the same bin count together. */
static __device__ inline void gw_gpu_count_bin(unsigned *bins, int64_t bin) {
    unsigned some = __ballot_sync(GW_GPU_ALL_LANES, bin >= 0);
    if (some == 0) {
        return;
    }
    int leader = __ffs((int)some) - 1;
    int64_t common = __shfl_sync(GW_GPU_ALL_LANES, bin, leader);
    unsigned same = __ballot_sync(GW_GPU_ALL_LANES, bin == common);
    if ((int)(threadIdx.x % GW_GPU_WARP) == leader) {
        atomicAdd(&bins[common], (unsigned)__popc(same));
    } else if (bin >= 0 && bin != common) {
        atomicAdd(&bins[bin], 1u);
    }
}

/* The sum of this and all earlier threads' values. */
static __device__ inline unsigned gw_gpu_sum_up_to(unsigned value) {
    __shared__ unsigned of_warps[GW_GPU_WARPS];
    int warp = (int)threadIdx.x / GW_GPU_WARP;
    int lane = (int)threadIdx.x % GW_GPU_WARP;
    for (int by = 1; by < GW_GPU_WARP; by *= 2) {
        unsigned more = __shfl_up_sync(GW_GPU_ALL_LANES, value, (unsigned)by);
        value += lane >= by ? more : 0;
    }
    if (lane == GW_GPU_WARP - 1) {
        of_warps[warp] = value;
    }
    __syncthreads();
    for (int i = 0; i < warp; i++) {
        value += of_warps[i];
    }
    __syncthreads();
    return value;
}

/* A bin, the rank within it, and its count. */
struct gw_gpu_pick {
    unsigned bin, rank, count;
};

/* Finds the bin that has rank `rank` from above, and clears all bins. The whole block calls it. */
static __device__ inline gw_gpu_pick gw_gpu_pick_bin(unsigned *bins, unsigned count,
                                                     unsigned rank) {
    __shared__ unsigned chunk, rest;
    __shared__ gw_gpu_pick pick;
    unsigned each = (count + GW_GPU_THREADS - 1) / GW_GPU_THREADS;
    unsigned first = threadIdx.x * each; /* from above */
    unsigned own = 0;
#pragma unroll 8
    for (unsigned i = first; i < first + each; i++) {
        own += i < count ? __ldcg(bins + (count - 1 - i)) : 0;
    }
    unsigned sum = gw_gpu_sum_up_to(own);
    if (sum - own < rank && rank <= sum) {
        chunk = threadIdx.x;
        rest = rank - (sum - own);
    }
    __syncthreads();
    unsigned at = chunk * each + threadIdx.x;
    bool looks = threadIdx.x < each && at < count;
    own = looks ? __ldcg(bins + (count - 1 - at)) : 0;
    sum = gw_gpu_sum_up_to(own);
    if (sum - own < rest && rest <= sum) {
        pick.bin = count - 1 - at;
        pick.rank = rest - (sum - own);
        pick.count = own;
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < count; i += GW_GPU_THREADS) {
        bins[i] = 0;
    }
    return pick;
}

#endif
