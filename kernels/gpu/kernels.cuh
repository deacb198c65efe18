/*
 * What .cu files of kernels/ begin with: headers of C, seen as such by C++; what kernels of one
 * compressor tell each other, so that the host need not wait in between; and how blocks of a kernel
 * find their order and their end.
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

/*
 * A sum, to the bit as x86 processors give it: the NaN of an infinity and its opposite has its sign
 * set there and not on GPUs.
 */
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
    GW_GPU_MOST_COUNTS = 16,
    GW_GPU_BINS = 1 << 16,
    GW_GPU_EACH_BLOCKS = 16, /* of a multiprocessor: more than it holds at once */
};

/* In workspace->control. What a kernel finds as zero it leaves as zero: marked with *. */
struct gw_gpu_control {
    unsigned tickets;         /* * blocks take turns with them */
    unsigned done;            /* * blocks */
    unsigned long long nan;   /* * ~index of the first NaN that was met, 0: none */
    unsigned long long found; /* by the last pass that collected */
    /* What is selected: magnitudes above, and of equal ones the first `ties`, or all. */
    int32_t magnitude;
    unsigned long long ties;
    bool all_ties;
    bool dense; /* from u; otherwise from the list of candidates, of which there are `listed` */
    unsigned long long listed;
    /* The range that holds the magnitude of rank `rank` from above, which is narrowed down. */
    bool narrowing;
    uint32_t low, width;
    unsigned long long rank;
    int32_t largest; /* * magnitude */
    int32_t magnitudes[GW_GPU_MOST_COUNTS];
    unsigned long long counts[GW_GPU_MOST_COUNTS]; /* * of elements that reach them */
    double threshold;
    unsigned bins[GW_GPU_BINS]; /* * */
};

static inline gw_gpu_control *gw_gpu_control_of(const gw_gpu_workspace *workspace) {
    static_assert(sizeof(gw_gpu_control) <= GW_GPU_CONTROL_BYTES, "");
    return (gw_gpu_control *)workspace->control;
}

/* Blocks that fill the GPU and share the work, `parts` at most. */
static inline size_t gw_gpu_blocks(gw_device_stream *stream, size_t parts, size_t of_a_processor) {
    size_t most = of_a_processor * gw_device_multiprocessors(gw_device_stream_device(stream));
    return parts < most ? parts : most;
}

/* For each i < n of this thread, which all threads of a launch share out evenly; and the launch. */
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

/* Whether all other blocks are done, for the block that asks as the last; all its threads ask. */
static __device__ inline bool gw_gpu_is_last_block(gw_gpu_control *control) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicInc(&control->done, gridDim.x - 1) == gridDim.x - 1; /* which makes it 0 */
    }
    __syncthreads();
    if (last) {
        __threadfence();
    }
    return last;
}

/* Where a compressor's outcome goes. */
struct gw_gpu_report {
    gw_gpu_outcome *on_gpu, *on_host;
};

/* By one thread of the last block of a compressor's last kernel. */
static __device__ inline void gw_gpu_tell(const gw_gpu_report *report, gw_gpu_control *control,
                                          uint64_t count) {
    unsigned long long nan = __ldcg(&control->nan);
    gw_gpu_outcome outcome;
    outcome.count = count;
    outcome.first_nan = nan == 0 ? UINT64_MAX : ~nan;
    *report->on_gpu = outcome;
    *report->on_host = outcome;
    control->nan = 0;
}

#endif
