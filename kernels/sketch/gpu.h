/* Sketches on a GPU, inside; private to kernels/. */
#ifndef GW_KERNELS_SKETCH_GPU_H
#define GW_KERNELS_SKETCH_GPU_H

#include "kernels/gpu.h"

/* ---- encoding that does not wait ----------------------------------------------------------- */

/*
 * As gw_gpu_sketch_encode, but *first_nan (GPU), UINT64_MAX before or the index of one, tells of
 * NaNs. Waits only where blocks are put in order.
 */
enum gw_status gw_gpu_sketch_put(struct gw_gpu_sketch *sketch, float *u, const float *gradient,
                                 size_t n, uint64_t *first_nan, struct gw_device_stream *stream,
                                 struct gw_error *error);

/* ---- the order of blocks ------------------------------------------------------------------- */

/*
 * Which blocks of coordinates fall into which line of a sketch's table (kernels/sketch.h), for a
 * GPU where 16 threads own a line and add its blocks in ascending order.
 *
 * Chunks of blocks follow each other, each short enough to stay in a GPU's L2 cache while every row
 * takes it. In a chunk, each row has its blocks line by line: 4 bytes for each row and block, for 5
 * rows 0.31 of what u takes. Made on the host, about 10 ns for each row and block.
 */
struct gw_gpu_sketch_order {
    struct gw_device *device;
    size_t n;          /* coordinates */
    size_t chunk;      /* blocks, but for the last */
    size_t lines;      /* of a row */
    uint32_t *blocks;  /* GPU: of chunk c from c * chunk * rows on, of row r of it from r * (the
                        * chunk's blocks) on */
    uint32_t *offsets; /* GPU: of row r in chunk c from (c * rows + r) * (lines + 1) on: where each
                        * line's blocks begin in the row's */
};

/* ---- kernels; all pointers are GPU --------------------------------------------------------- */

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

/* ---- the compressor ------------------------------------------------------------------------ */

/* The state of count-sketch, on the host and, once it has selected there, on a GPU. */
struct gw_count_sketch {
    struct gw_sketch sketch;
    uint32_t *indices; /* [k] */
    struct gw_gpu_sketch on_gpu;
    uint32_t *indices_on_gpu; /* GPU [k] */
};

#endif
