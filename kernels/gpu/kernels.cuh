/*
 * The common start of .cu files of kernels/: C headers for C++; the control block through which
 * kernels of one compressor pass results, so that the host need not wait in between; and the order
 * and the end of a kernel's blocks.
 */
#ifndef GW_KERNELS_GPU_KERNELS_CUH
#define GW_KERNELS_GPU_KERNELS_CUH

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern "C" {
#include "kernels/compressors.h"
#include "kernels/gpu/parts.h"
#include "kernels/threshold.h"
}

#include "device/launch.cuh"

/* A sum, to the bit as x86 processors give it: there, the NaN of an infinity and its opposite has
 * its sign set, on GPUs it has not. */
static __device__ __forceinline__ float gw_add(float a, float b) {
    float sum = a + b;
    return isnan(sum) ? __uint_as_float(0xffc00000u) : sum;
}

static __device__ inline float4 gw_gpu_load_four(const float *from, bool aligned) {
    return aligned ? *(const float4 *)from : make_float4(from[0], from[1], from[2], from[3]);
}

/* ---- between kernels ----------------------------------------------------------------------- */

#define GW_GPU_ALL_LANES 0xffffffffu

enum {
    GW_GPU_THREADS = 256, /* of a block */
    GW_GPU_WARP = 32,
    GW_GPU_WARPS = GW_GPU_THREADS / GW_GPU_WARP,
    GW_GPU_MAX_COUNTS = 16,
    GW_GPU_BINS = 1 << 16,
    GW_GPU_EACH_BLOCKS = 16, /* of a multiprocessor: more than it holds at once */
};

/* In workspace->control. A kernel finds members marked with * as zero and leaves them as zero. */
struct gw_gpu_control {
    unsigned tickets;         /* * blocks take the next tile by them */
    unsigned done;            /* * number of blocks that are done */
    unsigned long long nan;   /* * ~index of the first NaN that was met; 0: no NaN */
    unsigned long long found; /* by the last pass that collected */
    /* The selection: elements above the magnitude, and the first `ties` of equal ones, or all of
     * them. */
    int32_t magnitude;
    unsigned long long ties;
    bool all_ties;
    bool dense; /* select from u; otherwise from the list of candidates, which has `listed` entries
                 */
    unsigned long long listed;
    /* The range that holds the magnitude of rank `rank` from above, while it is being narrowed. */
    bool narrowing;
    uint32_t low, width;
    unsigned long long rank;
    int32_t largest; /* * magnitude */
    int32_t magnitudes[GW_GPU_MAX_COUNTS];
    unsigned long long counts[GW_GPU_MAX_COUNTS]; /* * of elements that reach the magnitudes */
    double threshold;
    unsigned bins[GW_GPU_BINS]; /* * */
};

static inline gw_gpu_control *gw_gpu_control_of(const gw_gpu_workspace *workspace) {
    static_assert(sizeof(gw_gpu_control) <= GW_GPU_CONTROL_BYTES, "");
    return (gw_gpu_control *)workspace->control;
}

/* The number of blocks that fill the GPU, at most `parts`. */
static inline size_t gw_gpu_blocks(gw_device_stream *stream, size_t parts, size_t of_a_processor) {
    size_t most = of_a_processor * gw_device_multiprocessors(gw_device_stream_device(stream));
    return parts < most ? parts : most;
}

/* A loop over i < n that all threads of a launch share evenly; and its launch. */
#define GW_GPU_EACH(i, n)                                                                          \
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < (n);                        \
         i += (size_t)gridDim.x * blockDim.x)
#define GW_GPU_LAUNCH_EACH(kernel, n, stream, error, ...)                                          \
    GW_LAUNCH(                                                                                     \
        kernel,                                                                                    \
        gw_gpu_blocks(stream, ((n) + GW_GPU_THREADS - 1) / GW_GPU_THREADS, GW_GPU_EACH_BLOCKS),    \
        GW_GPU_THREADS, stream, error, __VA_ARGS__)

static __device__ inline void gw_gpu_meet_nan(gw_gpu_control *control, uint64_t index) {
    atomicMax(&control->nan, ~(unsigned long long)index);
}

/* Returns true in the last block that calls it; all threads of all blocks call it. */
static __device__ inline bool gw_gpu_is_last_block(gw_gpu_control *control) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicInc(&control->done, gridDim.x - 1) == gridDim.x - 1; /* wraps to 0 */
    }
    __syncthreads();
    if (last) {
        __threadfence();
    }
    return last;
}

/* The destination of a compressor's outcome. */
struct gw_gpu_report {
    gw_gpu_outcome *on_gpu, *on_host;
};

/* Writes the outcome. One thread of the last block of a compressor's last kernel calls it. */
static __device__ inline void gw_gpu_write_outcome(const gw_gpu_report *report,
                                                   gw_gpu_control *control, uint64_t count) {
    unsigned long long nan = __ldcg(&control->nan);
    gw_gpu_outcome outcome;
    outcome.count = count;
    outcome.first_nan = nan == 0 ? UINT64_MAX : ~nan;
    *report->on_gpu = outcome;
    *report->on_host = outcome;
    control->nan = 0;
}

#endif
