/* The CUDA runtime, for rooms that call it themselves: only where GW_HAVE_CUDA is defined. */
#ifndef GW_DEVICE_CUDA_H
#define GW_DEVICE_CUDA_H

#include <cuda_runtime_api.h>

#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Turns the result of a CUDA call into a status. The message names the call. */
enum gw_status gw_cuda_check(cudaError_t result, const char *call, struct gw_error *error);

/* The CUDA stream. Makes its GPU the calling thread's, as a launch requires. */
cudaStream_t gw_cuda_stream(struct gw_device_stream *stream);

#ifdef __cplusplus
}
#endif

#endif
