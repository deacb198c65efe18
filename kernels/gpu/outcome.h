/*
 * What begins and ends selections of which the host knows the count; private to kernels/. The
 * outcome on the GPU is as it began until a kernel meets a NaN. All pointers are GPU.
 */
#ifndef GW_KERNELS_GPU_OUTCOME_H
#define GW_KERNELS_GPU_OUTCOME_H

#include "kernels/gpu.h"

/* Of no entries, without a NaN. */
enum gw_status gw_gpu_outcome_begin(const struct gw_gpu_selection *out,
                                    struct gw_device_stream *stream, struct gw_error *error);

/* Adds the task's gradient, if there is one, to u. Tells of the first NaN that this gives. */
enum gw_status gw_gpu_outcome_accumulate(const struct gw_task *task,
                                         const struct gw_gpu_selection *out,
                                         struct gw_device_stream *stream, struct gw_error *error);

/* Selects the elements of `count` indices, ascending. Tells of the first NaN among them. */
enum gw_status gw_gpu_outcome_select(const float *u, const uint32_t *indices, size_t count,
                                     const struct gw_gpu_selection *out,
                                     struct gw_device_stream *stream, struct gw_error *error);

/* There are `count` entries; the outcome goes to the host. */
enum gw_status gw_gpu_outcome_end(size_t count, const struct gw_gpu_selection *out,
                                  struct gw_device_stream *stream, struct gw_error *error);

#endif
