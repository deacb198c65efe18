/* As exdyna.cu; what differs is what the host makes of counts. */
#include "kernels/gpu/kernels.cuh"

extern "C" {
#include "kernels/gpu/exdyna.h"
extern const struct gw_compressor gw_compressor_exdyna_trend;
extern const struct gw_gpu_compressor gw_gpu_compressor_exdyna_trend;
}

const struct gw_gpu_compressor gw_gpu_compressor_exdyna_trend = {&gw_compressor_exdyna_trend,
                                                                 gw_gpu_exdyna_select, false};
