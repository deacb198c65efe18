#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "late.h"

struct CUstream_st {
    int device;
    struct late_queue copies;
};

struct CUevent_st {
    unsigned flags;
    double seconds;      /* negative: never recorded */
    cudaStream_t stream; /* that it was recorded on, if copies were late there, */
    unsigned long after; /* behind so many of its copies */
};

static _Thread_local int current_device;
static _Thread_local cudaError_t last_error;

static cudaError_t remember(cudaError_t error) {
    last_error = error == cudaSuccess ? last_error : error;
    return error;
}

const char *cudaGetErrorString(cudaError_t error) {
    switch (error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorInvalidValue:
        return "invalid argument";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorInvalidConfiguration:
        return "invalid configuration argument";
    case cudaErrorNoDevice:
        return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
        return "invalid device ordinal";
    case cudaErrorNotReady:
        return "device not ready";
    }
    return "unrecognized error code";
}

const char *cudaGetErrorName(cudaError_t error) {
    return cudaGetErrorString(error);
}

cudaError_t cudaGetLastError(void) {
    cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void) {
    return last_error;
}

/* ---- devices ------------------------------------------------------------------------------- */

static int device_count(void) {
    const char *text = getenv("GW_EMULATED_GPUS");
    return text == NULL ? 1 : atoi(text);
}

static cudaError_t check_device(int device) {
    return device >= 0 && device < device_count() ? cudaSuccess : remember(cudaErrorInvalidDevice);
}

cudaError_t cudaGetDeviceCount(int *count) {
    *count = device_count();
    return *count > 0 ? cudaSuccess : remember(cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device) {
    cudaError_t result = check_device(device);
    current_device = result == cudaSuccess ? device : current_device;
    return result;
}

cudaError_t cudaGetDevice(int *device) {
    *device = current_device;
    return cudaSuccess;
}

static size_t memory_bytes(void) {
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device) {
    *properties = (struct cudaDeviceProp){.name = "emulated GPU",
                                          .totalGlobalMem = memory_bytes(),
                                          .major = 9,
                                          .multiProcessorCount = 2,
                                          .pciBusID = device};
    return check_device(device);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
    switch (attribute) {
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate:
        *value = 1000000;
        break;
    case cudaDevAttrMultiProcessorCount:
        *value = 2;
        break;
    case cudaDevAttrEccEnabled:
        *value = 0;
        break;
    case cudaDevAttrGlobalMemoryBusWidth:
        *value = 64;
        break;
    case cudaDevAttrL2CacheSize:
        *value = 1 << 20;
        break;
    }
    return check_device(device);
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int length, int device) {
    (void)snprintf(text, (size_t)length, "0000:%02x:00.0", (unsigned)device);
    return check_device(device);
}

cudaError_t cudaDriverGetVersion(int *version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
    (void)flags;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void) {
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *bytes) {
    *free_bytes = *bytes = memory_bytes();
    return cudaSuccess;
}

/* ---- memory -------------------------------------------------------------------------------- */

enum { ALIGNMENT = 256, UNKNOWN = 0xa5 };

cudaError_t cudaMalloc(void **out, size_t bytes) {
    *out = NULL;
    if (bytes == 0) {
        return cudaSuccess;
    }
    if (bytes > memory_bytes() || posix_memalign(out, ALIGNMENT, bytes) != 0) {
        *out = NULL;
        return remember(cudaErrorMemoryAllocation);
    }
    memset(*out, UNKNOWN, bytes);
    late_know(*out, bytes);
    return cudaSuccess;
}

cudaError_t cudaFree(void *memory) {
    late_forget(memory);
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **out, size_t bytes) {
    return cudaMalloc(out, bytes);
}

cudaError_t cudaFreeHost(void *memory) {
    return cudaFree(memory);
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes) {
    memset(memory, value, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream) {
    (void)cudaStreamSynchronize(stream);
    return cudaMemset(memory, value, bytes);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    (void)kind;
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
    return stream == NULL                                ? cudaMemcpy(to, from, bytes, kind)
           : late_copy(&stream->copies, to, from, bytes) ? cudaSuccess
                                                         : remember(cudaErrorMemoryAllocation);
}

/* ---- streams and events -------------------------------------------------------------------- */

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority) {
    (void)flags, (void)priority;
    *out = malloc(sizeof **out);
    if (*out == NULL) {
        return remember(cudaErrorMemoryAllocation);
    }
    **out = (struct CUstream_st){.device = current_device};
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    (void)cudaStreamSynchronize(stream);
    free(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    if (stream != NULL) {
        (void)late_run(&stream->copies, stream->copies.issued);
    }
    return cudaSuccess;
}

/* Each time one more copy is done. */
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return stream != NULL && late_run(&stream->copies, stream->copies.done + 1)
               ? remember(cudaErrorNotReady)
               : cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    (void)stream, (void)flags;
    return cudaEventSynchronize(event);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags) {
    *out = malloc(sizeof **out);
    if (*out == NULL) {
        return remember(cudaErrorMemoryAllocation);
    }
    **out = (struct CUevent_st){.flags = flags, .seconds = -1};
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    free(event);
    return cudaSuccess;
}

/* A stream and an event of different GPUs do not go together. */
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    struct timespec now;
    if (stream != NULL && stream->device != current_device) {
        return remember(cudaErrorInvalidValue);
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    event->seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    bool late = stream != NULL && stream->copies.done < stream->copies.issued;
    event->stream = late ? stream : NULL;
    event->after = late ? stream->copies.issued : 0;
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    if (event->stream != NULL) {
        (void)late_run(&event->stream->copies, event->after);
    }
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    return cudaEventSynchronize(event);
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to) {
    if (from->seconds < 0 || to->seconds < 0 || (from->flags & cudaEventDisableTiming) != 0 ||
        (to->flags & cudaEventDisableTiming) != 0) {
        return remember(cudaErrorInvalidValue);
    }
    *milliseconds = (float)(1e3 * (to->seconds - from->seconds));
    return cudaSuccess;
}
