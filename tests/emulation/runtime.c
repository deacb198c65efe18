/* The emulated GPUs themselves, and what calls return. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#include "streams.h"

static _Thread_local int current_device;
static _Thread_local cudaError_t last_error;

int cuda_current_device(void) {
    return current_device;
}

cudaError_t cuda_result(cudaError_t error) {
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

cudaError_t cudaGetLastError(void) {
    cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

/* ---- devices ------------------------------------------------------------------------------- */

static int device_count(void) {
    const char *text = getenv("GW_EMULATED_GPUS");
    return text == NULL ? 1 : atoi(text);
}

static cudaError_t check_device(int device) {
    return device >= 0 && device < device_count() ? cudaSuccess
                                                  : cuda_result(cudaErrorInvalidDevice);
}

cudaError_t cudaGetDeviceCount(int *count) {
    *count = device_count();
    return *count > 0 ? cudaSuccess : cuda_result(cudaErrorNoDevice);
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

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device) {
    size_t bytes = 0;
    (void)cudaMemGetInfo(&bytes, &bytes);
    *properties = (struct cudaDeviceProp){.name = "emulated GPU", .totalGlobalMem = bytes};
    return check_device(device);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
    switch (attribute) {
    case cudaDevAttrClockRate:
        *value = 1000000;
        break;
    case cudaDevAttrMultiProcessorCount:
        *value = 2;
        break;
    case cudaDevAttrEccEnabled:
        *value = 0;
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

cudaError_t cudaSetDeviceFlags(unsigned flags) {
    (void)flags;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}
