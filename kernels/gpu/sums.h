/* Sums of parts of a vector on a GPU, in the order of kernels/sums.h; private to kernels/. */
#ifndef GW_KERNELS_GPU_SUMS_H
#define GW_KERNELS_GPU_SUMS_H

#include "kernels/gpu.h"

/* Parts of a vector, next to each other, at least one. */
struct gw_gpu_parts {
    size_t count, segments;
    const uint64_t *firsts;         /* GPU [count + 1]: each one's first element, and the end */
    const uint64_t *segment_firsts; /* GPU [count + 1]: the same in segments of the parts */
};

/* Segments of a part of so many elements. */
size_t gw_gpu_sum_segments(size_t size);

/* 64-bit words of the table that says where parts of given sizes lie. */
size_t gw_gpu_parts_words(size_t count);

/* Fills a table (host) that is to be copied to `on_gpu`, and says what there is in it. */
struct gw_gpu_parts gw_gpu_parts_of(const size_t *sizes, size_t count, uint64_t *table,
                                    const uint64_t *on_gpu);

/*
 * sums[part] = of |values|; *first_nan becomes the index of the first NaN if that is lower. All
 * memory is of the GPU; `partial` is [parts->segments], for its use.
 */
enum gw_status gw_gpu_sum_magnitudes(const float *values, const struct gw_gpu_parts *parts,
                                     double *partial, double *sums, uint64_t *first_nan,
                                     struct gw_device_stream *stream, struct gw_error *error);

/* The same of squares; NaNs make a part's sum NaN. */
enum gw_status gw_gpu_sum_squares(const float *values, const struct gw_gpu_parts *parts,
                                  double *partial, double *sums, struct gw_device_stream *stream,
                                  struct gw_error *error);

#endif
