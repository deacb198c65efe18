/*
 * Large buffers that measurements go through round and round; private to this room.
 *
 * Each repeat works on another part, because a pipeline does not send or compress the same bytes
 * twice in a row either: caches must not flatter the measurement. A pool holds what gradients hold:
 * some processors write zeros over zeros for less.
 */
#ifndef GW_CALIBRATE_POOL_H
#define GW_CALIBRATE_POOL_H

#include "device/device.h"
#include "kernels/kernels.h"

struct gw_pool {
    void *data;               /* of zeros at first, all of them in memory */
    struct gw_device *device; /* whose memory it is; NULL: the host's */
    size_t bytes;
    size_t position; /* of the next part */
};

enum gw_status gw_pool_open(size_t bytes, struct gw_device *device, struct gw_pool *out,
                            struct gw_error *error);
void gw_pool_close(struct gw_pool *pool);

/*
 * Normal values, other ones on each rank, which are drawn for the first `tile` bytes and repeated:
 * drawing a value takes longer than sending it.
 */
enum gw_status gw_pool_fill(struct gw_pool *pool, size_t tile, int rank, struct gw_error *error);

/* The next part of `bytes`, no more than the pool has; it begins at a cache line, as tensors do. */
void *gw_pool_next(struct gw_pool *pool, size_t bytes);

/* So many bytes, and what is left of their last cache line. */
size_t gw_whole_lines(size_t bytes);

/* To compress so many of the values, with the threshold that about density * elements exceed. */
struct gw_task gw_pool_task(size_t elements, double density, struct gw_workspace *workspace);

#endif
