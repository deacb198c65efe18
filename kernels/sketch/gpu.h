/* Encoding that does not wait; private to kernels/. */
#ifndef GW_KERNELS_GPU_SKETCH_H
#define GW_KERNELS_GPU_SKETCH_H

#include "kernels/gpu.h"

/*
 * As gw_gpu_sketch_encode, but *first_nan (GPU), UINT64_MAX before or the index of one, tells of
 * NaNs. Waits only where blocks are put in order.
 */
enum gw_status gw_gpu_sketch_put(struct gw_gpu_sketch *sketch, float *u, const float *gradient,
                                 size_t n, uint64_t *first_nan, struct gw_device_stream *stream,
                                 struct gw_error *error);

#endif
