#include "calibrate/measure/pool.h"

#include <gsl/gsl_cdf.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "traces/plan.h"

static const double gradient_deviation = 1e-3;

enum gw_status gw_pool_open(size_t bytes, struct gw_device *device, struct gw_pool *out,
                            struct gw_error *error) {
    *out = (struct gw_pool){.bytes = bytes, .device = device};
    if (device != NULL) {
        return gw_device_allocate(device, bytes, &out->data, error);
    }
    out->data = gw_resident_zeros(bytes);
    return out->data != NULL ? GW_OK : gw_fail_memory(error, "allocating the measured buffers");
}

void gw_pool_close(struct gw_pool *pool) {
    if (pool->device != NULL) {
        gw_device_free(pool->device, pool->data);
    } else {
        free(pool->data);
    }
}

static enum gw_status fill_pool_on_gpu(struct gw_pool *pool, const void *tile, size_t drawn,
                                       struct gw_error *error) {
    struct gw_device_stream *stream = NULL;
    enum gw_status status = gw_device_stream_open(pool->device, false, &stream, error);
    for (size_t at = 0; at < pool->bytes && status == GW_OK; at += drawn) {
        size_t left = pool->bytes - at;
        status = gw_device_copy(stream, (char *)pool->data + at, tile, left < drawn ? left : drawn,
                                error);
    }
    if (status == GW_OK) {
        status = gw_device_stream_finish(stream, error);
    }
    gw_device_stream_close(stream);
    return status;
}

enum gw_status gw_pool_fill(struct gw_pool *pool, size_t tile, int rank, struct gw_error *error) {
    size_t drawn = tile < pool->bytes ? tile : pool->bytes;
    void *values = pool->device == NULL ? pool->data : malloc(drawn);
    enum gw_status status = values == NULL
                                ? gw_fail_memory(error, "allocating the measured buffers")
                                : gw_gradient_fill(values, drawn / sizeof(float),
                                                   gradient_deviation, 1, (uint64_t)rank, error);
    if (status == GW_OK && pool->device != NULL) {
        status = fill_pool_on_gpu(pool, values, drawn, error);
    } else if (status == GW_OK) {
        for (size_t at = drawn; at < pool->bytes; at += drawn) {
            size_t left = pool->bytes - at;
            memcpy((char *)pool->data + at, pool->data, left < drawn ? left : drawn);
        }
    }
    if (pool->device != NULL) {
        free(values);
    }
    return status;
}

size_t gw_whole_lines(size_t bytes) {
    const size_t line = 64;
    return (bytes + line - 1) / line * line;
}

void *gw_pool_next(struct gw_pool *pool, size_t bytes) {
    if (pool->position + bytes > pool->bytes) {
        pool->position = 0;
    }
    char *part = (char *)pool->data + pool->position;
    pool->position += gw_whole_lines(bytes);
    return part;
}

void gw_pool_evict(const struct gw_pool *pool, size_t bytes) {
    const volatile float *values = pool->data;
    size_t count = (bytes < pool->bytes ? bytes : pool->bytes) / sizeof *values;
    for (size_t i = 0; i < count; i += gw_whole_lines(1) / sizeof *values) {
        (void)values[i];
    }
}

struct gw_task gw_pool_task(size_t elements, double density) {
    size_t kept = gw_elements_kept(elements, density);
    double tail = (double)kept / (2 * (double)elements);
    return (struct gw_task){
        .n = elements, .k = kept, .threshold = gradient_deviation * gsl_cdf_ugaussian_Qinv(tail)};
}
