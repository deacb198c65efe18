/* The parts of sketches on a GPU; private to kernels/. */
#ifndef GW_KERNELS_SKETCH_GPU_H
#define GW_KERNELS_SKETCH_GPU_H

#include "kernels/gpu.h"

/* ---- encoding that does not wait ----------------------------------------------------------- */

/* Encodes like gw_gpu_sketch_encode, but lowers *first_nan (GPU), initially UINT64_MAX or an index,
 * to the index of the first NaN. Waits only where blocks are put in order. */
enum gw_status gw_gpu_sketch_put(struct gw_gpu_sketch *sketch, float *u, const float *gradient,
                                 size_t n, uint64_t *first_nan, struct gw_device_stream *stream,
                                 struct gw_error *error);

/* ---- the order of blocks ------------------------------------------------------------------- */

/*
 * The blocks of coordinates of each line of a sketch's table (kernels/sketch.h), for a GPU where 16
 * threads own a line and add its blocks in ascending order.
 *
 * Blocks are cut into chunks, each short enough to stay in a GPU's L2 cache while all rows read it.
 * In a chunk, each row has its blocks line by line: 4 bytes for each row and block, for 5 rows 0.31
 * of the size of u. Made on the host, in about 10 ns for each row and block.
 */
struct gw_gpu_sketch_order {
    struct gw_device *device;
    size_t n;          /* coordinates */
    size_t chunk;      /* blocks, except in the last chunk */
    size_t lines;      /* of a row */
    uint32_t *blocks;  /* GPU: those of chunk c from c * chunk * rows on; in it, those of row r from
                        * r * (the chunk's blocks) on */
    uint32_t *offsets; /* GPU: those of row r in chunk c from (c * rows + r) * (lines + 1) on: the
                        * index of each line's first block in the row */
};

/* ---- kernels; all pointers are GPU --------------------------------------------------------- */

/* Adds chunk `number` of u; lowers *first_nan to the index of the first NaN. */
enum gw_status gw_gpu_sketch_add_chunk(struct gw_gpu_sketch *sketch, size_t number, const float *u,
                                       uint64_t *first_nan, struct gw_device_stream *stream,
                                       struct gw_error *error);

/*
 * The smallest magnitude (kernels/cpu/scan.h) of heavy estimates, from each row's sum of squares.
 */
enum gw_status gw_gpu_sketch_threshold(const struct gw_gpu_sketch *sketch, const double *squares,
                                       size_t k, int32_t *threshold,
                                       struct gw_device_stream *stream, struct gw_error *error);

/* Marks (kernels/gpu/marks.h) the coordinates below n whose estimates reach the threshold. */
enum gw_status gw_gpu_sketch_mark(const struct gw_gpu_sketch *sketch, size_t n,
                                  const int32_t *threshold, uint32_t *marks,
                                  struct gw_device_stream *stream, struct gw_error *error);

/* entries[i] = |estimate| (infinity for NaN) and coordinate of indices[i], i < *count, capacity. */
enum gw_status gw_gpu_sketch_list(const struct gw_gpu_sketch *sketch, const uint32_t *indices,
                                  const uint64_t *count, size_t capacity, struct gw_entry *entries,
                                  struct gw_device_stream *stream, struct gw_error *error);

/* indices[0 .. heavy_count + rank_count) = the heavy hitters and, of the other coordinates, those
 * of the given ranks; all ascending. */
enum gw_status gw_gpu_sketch_mix(const uint32_t *heavy, size_t heavy_count, const uint32_t *ranks,
                                 size_t rank_count, uint32_t *indices,
                                 struct gw_device_stream *stream, struct gw_error *error);

/* ---- the compressor ------------------------------------------------------------------------ */

/* The state of count-sketch: on the host, and on a GPU after the first selection there. */
struct gw_count_sketch {
    struct gw_sketch sketch;
    uint32_t *indices; /* [k] */
    struct gw_gpu_sketch on_gpu;
    uint32_t *indices_on_gpu; /* GPU [k] */
};

#endif
