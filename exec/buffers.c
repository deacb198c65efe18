#include "exec/buffers.h"

#include <stdlib.h>

#include "core/array.h"
#include "kernels/kernels.h"

const double gw_gradient_deviation = 1e-3;

enum { MARGIN = 1 << 16, CACHE_LINE = 64 };

size_t gw_buffers_elements(const struct gw_schedule *schedule) {
    size_t elements = 0;
    for (size_t g = 0; g < schedule->group_count; g++) {
        elements += schedule->groups[g].elements;
    }
    return elements;
}

enum gw_status gw_buffers_open(struct gw_buffers *out, const struct gw_schedule *schedule,
                               size_t worker, uint64_t seed, struct gw_error *error) {
    *out = (struct gw_buffers){.elements = gw_buffers_elements(schedule)};
    out->noise = gw_resident_zeros((out->elements + MARGIN) * sizeof(float));
    out->residual = gw_resident_zeros(out->elements * sizeof(float));
    out->aggregate = gw_resident_zeros(out->elements * sizeof(float));
    bool complete = out->noise != NULL && out->residual != NULL && out->aggregate != NULL;
    enum gw_status status = complete ? gw_gradient_fill(out->noise, out->elements + MARGIN,
                                                        gw_gradient_deviation, seed, worker, error)
                                     : gw_fail_memory(error, "opening an executor's buffers");
    if (status != GW_OK) {
        gw_buffers_close(out);
        return status;
    }
    out->gradient = out->noise;
    return GW_OK;
}

void gw_buffers_next_gradient(struct gw_buffers *buffers, uint64_t iteration) {
    /* Steps of an odd number of cache lines visit every aligned window before one comes again. */
    uint64_t step = 1237 * (CACHE_LINE / sizeof(float));
    buffers->gradient = buffers->noise + iteration * step % MARGIN;
}

void gw_buffers_close(struct gw_buffers *buffers) {
    free(buffers->noise);
    free(buffers->residual);
    free(buffers->aggregate);
    *buffers = (struct gw_buffers){0};
}
