/* Reads memory so that a GPU's cache has that in it and nothing else. */
extern "C" {
#include "calibrate/measure/gpu_timer.h"
}

#include "device/launch.cuh"

enum { THREADS = 256, BLOCKS_OF_A_MULTIPROCESSOR = 8 };

/* All of `memory` is 0, but the compiler does not know. */
static __global__ void read_all(const float4 *memory, size_t count, float *sum) {
    float own = 0;
    size_t threads = (size_t)gridDim.x * THREADS;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += threads) {
        float4 four = memory[i];
        own += four.x + four.y + four.z + four.w;
    }
    if (own != 0) {
        *sum = own;
    }
}

enum gw_status gw_gpu_evict(const float *memory, size_t elements, struct gw_device_stream *stream,
                            float *sum, struct gw_error *error) {
    size_t blocks =
        BLOCKS_OF_A_MULTIPROCESSOR * gw_device_multiprocessors(gw_device_stream_device(stream));
    return GW_LAUNCH(read_all, blocks, THREADS, stream, error, (const float4 *)memory, elements / 4,
                     sum);
}
