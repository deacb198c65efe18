/*
 * The part of the CUDA runtime that gradweave calls, on the CPU, so that kernels and their launches
 * are tested without a GPU. The names are the CUDA Toolkit's; device memory is the host's, and each
 * stream is a thread. kernels.h has the functions for kernels themselves.
 */
#ifndef GW_EMULATION_CUDA_RUNTIME_API_H
#define GW_EMULATION_CUDA_RUNTIME_API_H

#include <stddef.h>

#define CUDART_VERSION 0

#ifdef __cplusplus
extern "C" {
#endif

enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorNotReady = 600,
};
typedef enum cudaError cudaError_t;
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError(void);

/* ---- devices ------------------------------------------------------------------------------- */

/* One, or as many as the environment variable GW_EMULATED_GPUS says. */
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);

struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem;
};
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device);

enum cudaDeviceAttr {
    cudaDevAttrClockRate = 13,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrEccEnabled = 32,
    cudaDevAttrL2CacheSize = 38,
};
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceGetPCIBusId(char *text, int length, int device);
cudaError_t cudaDriverGetVersion(int *version);
#define cudaDeviceScheduleBlockingSync 4u
cudaError_t cudaSetDeviceFlags(unsigned flags);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *bytes);

/* ---- memory -------------------------------------------------------------------------------- */

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault,
};
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;

/* Fills new memory with bytes 0xa5, since its contents are undefined. */
cudaError_t cudaMalloc(void **out, size_t bytes);
cudaError_t cudaFree(void *memory);
cudaError_t cudaMallocHost(void **out, size_t bytes);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaMemset(void *memory, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream);

/* ---- streams and events -------------------------------------------------------------------- */

#define cudaStreamNonBlocking 1u
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
typedef void (*cudaHostFn_t)(void *data);
/* Libraries that are loaded find it in the program. */
__attribute__((visibility("default"))) cudaError_t
cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data);

#define cudaEventBlockingSync 1u
#define cudaEventDisableTiming 2u
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to);

#ifdef __cplusplus
}
#endif

#endif
