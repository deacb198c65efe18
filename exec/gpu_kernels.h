/* What a GPU does for a given time; private to this room. */
#ifndef GW_EXEC_GPU_KERNELS_H
#define GW_EXEC_GPU_KERNELS_H

#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * One warp waits on one multiprocessor: until `nanoseconds` after *clock (GPU) if this `continues`
 * or the clock is ahead, and else after now; *clock is then when that was, in nanoseconds of the
 * GPU's global timer. So what follows one another ends when it should, however late it was begun.
 */
enum gw_status gw_gpu_hold(uint64_t *clock, uint64_t nanoseconds, bool continues,
                           struct gw_device_stream *stream, struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
