/*
 * Which blocks of coordinates fall into which line of a sketch's table (kernels/sketch.h), for a
 * GPU where 16 threads own a line and add its blocks in ascending order; private to kernels/.
 *
 * Chunks of blocks follow each other, each short enough to stay in a GPU's L2 cache while every row
 * takes it. In a chunk, each row has its blocks line by line: 4 bytes for each row and block, for 5
 * rows 0.31 of what u takes.
 */
#ifndef GW_KERNELS_GPU_SKETCH_ORDER_H
#define GW_KERNELS_GPU_SKETCH_ORDER_H

#include "kernels/gpu.h"

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

/* Made on the host, about 10 ns for each row and block, and copied; waits for the stream. */
enum gw_status gw_gpu_sketch_order_open(struct gw_gpu_sketch_order **out,
                                        const struct gw_sketch *shape, size_t n,
                                        struct gw_device_stream *stream, struct gw_error *error);
void gw_gpu_sketch_order_close(struct gw_gpu_sketch_order *order);

#endif
