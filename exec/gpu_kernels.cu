#include "device/launch.cuh"
#include "exec/accelerator.h"

static __device__ __forceinline__ uint64_t global_timer() {
#ifdef GW_CUDA_EMULATED
    return gw_emulated_global_timer();
#else
    uint64_t nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
#endif
}

__global__ void hold(uint64_t *clock, uint64_t nanoseconds, bool continues) {
    if (threadIdx.x == 0) {
        uint64_t now = global_timer();
        uint64_t end = (continues || *clock > now ? *clock : now) + nanoseconds;
        while (now < end) {
            __nanosleep(end - now > 1000 ? 500 : 50);
            now = global_timer();
        }
        *clock = end;
    }
    __syncwarp();
}

extern "C" enum gw_status gw_gpu_hold(uint64_t *clock, uint64_t nanoseconds, bool continues,
                                      struct gw_device_stream *stream, struct gw_error *error) {
    return GW_LAUNCH(hold, 1, 32, stream, error, clock, nanoseconds, continues);
}
