/* Which GPUs this machine has. */
#include <stdio.h>

#include "device/cuda.h"

const char *gw_cuda_version(void) {
    return GW_CUDA_VERSION;
}

static int attribute_of(int device, enum cudaDeviceAttr attribute) {
    int value = 0;
    return cudaDeviceGetAttribute(&value, attribute, device) == cudaSuccess ? value : 0;
}

size_t gw_cuda_devices(struct gw_gpu *gpus, size_t capacity) {
    size_t listed = 0;
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        count = 0;
    }
    for (int i = 0; i < count && listed < capacity; i++) {
        struct cudaDeviceProp properties;
        if (cudaGetDeviceProperties(&properties, i) == cudaSuccess) {
            struct gw_gpu *gpu = &gpus[listed++];
            *gpu = (struct gw_gpu){.memory_bytes = (double)properties.totalGlobalMem,
                                   .clock_hz = 1e3 * attribute_of(i, cudaDevAttrClockRate),
                                   .ecc = attribute_of(i, cudaDevAttrEccEnabled) != 0};
            snprintf(gpu->name, sizeof gpu->name, "%.63s", properties.name);
            if (cudaDeviceGetPCIBusId(gpu->pci, sizeof gpu->pci, i) != cudaSuccess) {
                gpu->pci[0] = '\0';
            }
        }
    }
    (void)cudaGetLastError(); /* of what could not be asked: no launch has failed */
    return listed;
}
