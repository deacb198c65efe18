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

enum { GW_TILE = 64 };

/*
 * c = a b, row by row: a is [n * depth], b [depth * n] and c [n * n]. `steps` products of GW_STEP
 * columns of a with as many rows of b are added up; of more than there are, the first ones come
 * again. n is a multiple of GW_TILE, and depth of GW_STEP.
 */
enum { GW_STEP = 16 };
enum gw_status gw_gpu_multiply(const float *a, const float *b, float *c, size_t n, size_t depth,
                               size_t steps, struct gw_device_stream *stream,
                               struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
