#include "calibrate/pool.h"

#include <gsl/gsl_cdf.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "traces/plan.h"

static const double gradient_deviation = 1e-3;

enum gw_status gw_pool_open(size_t bytes, struct gw_pool *out, struct gw_error *error) {
    *out = (struct gw_pool){.data = gw_resident_zeros(bytes), .bytes = bytes};
    return out->data != NULL ? GW_OK : gw_fail_memory(error, "making room for what is measured");
}

void gw_pool_close(struct gw_pool *pool) {
    free(pool->data);
}

enum gw_status gw_pool_fill(struct gw_pool *pool, size_t tile, int rank, struct gw_error *error) {
    size_t drawn = tile < pool->bytes ? tile : pool->bytes;
    GW_TRY(gw_gradient_fill(pool->data, drawn / sizeof(float), gradient_deviation, 1,
                            (uint64_t)rank, error));
    for (size_t at = drawn; at < pool->bytes; at += drawn) {
        size_t left = pool->bytes - at;
        memcpy((char *)pool->data + at, pool->data, left < drawn ? left : drawn);
    }
    return GW_OK;
}

void *gw_pool_next(struct gw_pool *pool, size_t bytes) {
    if (pool->position + bytes > pool->bytes) {
        pool->position = 0;
    }
    char *part = (char *)pool->data + pool->position;
    pool->position += bytes;
    return part;
}

struct gw_task gw_pool_task(size_t elements, double density, struct gw_workspace *workspace) {
    size_t kept = gw_elements_kept(elements, density);
    double tail = (double)kept / (2 * (double)elements);
    return (struct gw_task){.n = elements,
                            .k = kept,
                            .threshold = gradient_deviation * gsl_cdf_ugaussian_Qinv(tail),
                            .workspace = workspace};
}
