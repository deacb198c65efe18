/*
 * The largest of what was collected, of a list, or of a gradient, on a GPU: which they are is found
 * by counting magnitudes in bins, of 16 bits and then of the 15 that are left. Private to kernels/.
 */
#ifndef GW_KERNELS_GPU_LARGEST_H
#define GW_KERNELS_GPU_LARGEST_H

#include "kernels/gpu.h"
#include "kernels/gpu/workspace.h"

/* Entries that workspace->memory has room for, of a gradient of n: what does not fit is looked for
 * in the gradient again. */
size_t gw_gpu_candidates_capacity(size_t n);

/*
 * Narrows the range of control->low and width down to the magnitude of rank control->rank, which
 * becomes control->magnitude, with its ties. Does nothing unless control->narrowing. `above`: of
 * what lies above that magnitude.
 */
enum gw_status gw_gpu_narrow(const struct gw_task *task, bool above,
                             struct gw_device_stream *stream, struct gw_gpu_workspace *workspace,
                             struct gw_error *error);

/* From the candidates or from u, as control->dense says, what control says goes to `out`. */
enum gw_status gw_gpu_compact(const struct gw_task *task, struct gw_device_stream *stream,
                              struct gw_gpu_workspace *workspace, struct gw_gpu_selection *out,
                              struct gw_error *error);

/*
 * As gw_keep_largest: of *count entries, ascending, the k largest to `out`, 1 <= k <= *count <=
 * capacity. All memory is of the GPU; of the workspace, its memory is not touched.
 */
enum gw_status gw_gpu_keep_largest(const struct gw_entry *entries, const uint64_t *count,
                                   size_t capacity, size_t k, struct gw_entry *out,
                                   struct gw_device_stream *stream,
                                   struct gw_gpu_workspace *workspace, struct gw_error *error);

#endif
