/* Large buffers that measurements go through; private to this room. */
#ifndef GW_CALIBRATE_POOL_H
#define GW_CALIBRATE_POOL_H

#include "calibrate/calibrate.h"

/*
 * Large buffers that measurements go through again and again.
 *
 * Each repeat works on another part, as a pipeline does not send or compress the same bytes twice
 * in a row: caches must not shorten the measurement. A pool holds values like those of gradients:
 * some processors write zeros over zeros faster.
 */
struct gw_pool {
    void *data;               /* zeros at first, all of them in memory */
    struct gw_device *device; /* the memory's; NULL: the host's */
    size_t bytes;
    size_t position; /* of the next part */
};

enum gw_status gw_pool_open(size_t bytes, struct gw_device *device, struct gw_pool *out,
                            struct gw_error *error);
void gw_pool_close(struct gw_pool *pool);

/* Fills a pool with normal values, different on each rank, which are drawn for the first `tile`
 * bytes and repeated: drawing a value takes longer than sending it. */
enum gw_status gw_pool_fill(struct gw_pool *pool, size_t tile, int rank, struct gw_error *error);

/* The next part of `bytes`, at most the pool's; it begins at a cache line, as tensors do. */
void *gw_pool_next(struct gw_pool *pool, size_t bytes);

/* Reads up to `bytes` of the pool, which then fill the caches. */
void gw_pool_evict(const struct gw_pool *pool, size_t bytes);

/* Vectors of compressors and aggregators: gradients, and residuals, zero between repeats. */
struct gw_vector_pools {
    struct gw_pool gradient, residual;
};

/* Rounds bytes up to whole cache lines. */
size_t gw_whole_lines(size_t bytes);

/* The task of compressing these values, with the threshold that about density * elements exceed. */
struct gw_task gw_pool_task(size_t elements, double density);

#endif
