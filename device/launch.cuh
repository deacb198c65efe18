/* Kernel launches on a GPU and on an emulated one (tests/emulation); for .cu files. */
#ifndef GW_DEVICE_LAUNCH_CUH
#define GW_DEVICE_LAUNCH_CUH

#include "device/cuda.h"

/* Launches `blocks` (0: no launch) blocks of `threads` threads. The value is the status of the
 * launch itself. Kernels use static shared memory only, and take their arguments by value. */
#ifdef GW_CUDA_EMULATED
#define GW_LAUNCH(kernel, blocks, threads, stream, error, ...)                                     \
    (gw_emulated_launch((blocks), (threads), gw_cuda_stream(stream), kernel, __VA_ARGS__),         \
     gw_cuda_check(cudaGetLastError(), #kernel, (error)))
#else
#define GW_LAUNCH(kernel, blocks, threads, stream, error, ...)                                     \
    (((blocks) > 0                                                                                 \
          ? (kernel<<<(unsigned)(blocks), (unsigned)(threads), 0, gw_cuda_stream(stream)>>>(       \
                __VA_ARGS__))                                                                      \
          : (void)0),                                                                              \
     gw_cuda_check(cudaGetLastError(), #kernel, (error)))
#endif

/* Loads a value that another block may be changing. */
static __device__ __forceinline__ unsigned long long gw_load_now(const unsigned long long *place) {
#ifdef GW_CUDA_EMULATED
    return gw_emulated_load_now(place);
#else
    return *(const volatile unsigned long long *)place;
#endif
}

/* Stores a value that other threads may be storing at the same time. */
static __device__ __forceinline__ void gw_store_now(float *place, float value) {
#ifdef GW_CUDA_EMULATED
    gw_emulated_store_now(place, value);
#else
    *(volatile float *)place = value;
#endif
}

#endif
