#include <stdio.h>

#ifdef GW_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

#include "kernels/kernels.h"

const char *gw_cuda_version(void) {
#ifdef GW_HAVE_CUDA
    static char text[32];
    snprintf(text, sizeof text, "%d.%d", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    return text;
#else
    return NULL;
#endif
}

size_t gw_cuda_devices(char (*names)[GW_GPU_NAME_SIZE], size_t capacity) {
    size_t listed = 0;
#ifdef GW_HAVE_CUDA
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        return 0;
    }
    for (int i = 0; i < count && listed < capacity; i++) {
        struct cudaDeviceProp properties;
        if (cudaGetDeviceProperties(&properties, i) == cudaSuccess) {
            snprintf(names[listed++], GW_GPU_NAME_SIZE, "%.63s", properties.name);
        }
    }
#else
    (void)names;
    (void)capacity;
#endif
    return listed;
}
