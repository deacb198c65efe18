/* What is done with a sketch's table on a GPU; private to kernels/. All pointers are GPU. */
#ifndef GW_KERNELS_GPU_SKETCH_KERNELS_H
#define GW_KERNELS_GPU_SKETCH_KERNELS_H

#include "kernels/sketch/gpu_order.h"

/*
 * Adds the chunk of that number of u; *first_nan becomes the index of the first NaN if that is
 * lower.
 */
enum gw_status gw_gpu_sketch_add_chunk(struct gw_gpu_sketch *sketch, size_t number, const float *u,
                                       uint64_t *first_nan, struct gw_device_stream *stream,
                                       struct gw_error *error);

/* From each row's sum of squares, the magnitude (kernels/cpu/scan.h) from which estimates are
 * heavy. */
enum gw_status gw_gpu_sketch_threshold(const struct gw_gpu_sketch *sketch, const double *squares,
                                       size_t k, uint32_t *threshold,
                                       struct gw_device_stream *stream, struct gw_error *error);

/* Marks (kernels/gpu/marks.h) the coordinates below n whose estimates reach the threshold. */
enum gw_status gw_gpu_sketch_mark(const struct gw_gpu_sketch *sketch, size_t n,
                                  const uint32_t *threshold, uint32_t *marks,
                                  struct gw_device_stream *stream, struct gw_error *error);

/* entries[i] = |estimate|, of a NaN infinity, and coordinate of indices[i], i < *count, capacity.
 */
enum gw_status gw_gpu_sketch_list(const struct gw_gpu_sketch *sketch, const uint32_t *indices,
                                  const uint64_t *count, size_t capacity, struct gw_entry *entries,
                                  struct gw_device_stream *stream, struct gw_error *error);

/*
 * indices[0 .. heavy_count + rank_count) = the heavy hitters and, of the other coordinates, those
 * of the given ranks; all ascending.
 */
enum gw_status gw_gpu_sketch_mix(const uint32_t *heavy, size_t heavy_count, const uint32_t *ranks,
                                 size_t rank_count, uint32_t *indices,
                                 struct gw_device_stream *stream, struct gw_error *error);

#endif
