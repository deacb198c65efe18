/* The CUDA runtime for rooms that call it themselves: only where GW_HAVE_CUDA is defined. */
#ifndef GW_DEVICE_CUDA_H
#define GW_DEVICE_CUDA_H

#include <cuda_runtime_api.h>

#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a call of CUDA returned, as a status. */
enum gw_status gw_cuda_check(cudaError_t result, const char *call, struct gw_error *error);

/* The stream, and makes its GPU the calling thread's, as launches on it ask for. */
cudaStream_t gw_cuda_stream(struct gw_device_stream *stream);

#ifdef __cplusplus
}
#endif

#endif
