#include "exec/buffers.h"

#include <stdlib.h>

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

/* Drawn on the host, whatever the memory: the same on both. */
static enum gw_status draw_noise(struct gw_buffers *buffers, const struct gw_memory *memory,
                                 size_t worker, uint64_t seed, struct gw_error *error) {
    size_t count = buffers->elements + MARGIN;
    if (memory->device == NULL) {
        return gw_gradient_fill(buffers->noise, count, gw_gradient_deviation, seed, worker, error);
    }
    float *drawn = malloc(count * sizeof *drawn);
    if (drawn == NULL) {
        return gw_fail_memory(error, "drawing gradients");
    }
    enum gw_status status =
        gw_gradient_fill(drawn, count, gw_gradient_deviation, seed, worker, error);
    if (status == GW_OK) {
        status = memory->does->write(memory, buffers->noise, drawn, count * sizeof *drawn, error);
    }
    free(drawn);
    return status;
}

static enum gw_status fill(struct gw_buffers *buffers, const struct gw_memory *memory,
                           size_t worker, uint64_t seed, struct gw_error *error) {
    size_t bytes = buffers->elements * sizeof(float);
    float **const vectors[] = {&buffers->noise, &buffers->residual, &buffers->aggregate};
    for (size_t i = 0; i < 3; i++) {
        void *block = NULL;
        GW_TRY(memory->does->allocate(memory, bytes + (i == 0 ? MARGIN * sizeof(float) : 0), &block,
                                      error));
        *vectors[i] = block;
    }
    buffers->gradient = buffers->noise;
    return draw_noise(buffers, memory, worker, seed, error);
}

enum gw_status gw_buffers_open(struct gw_buffers *out, const struct gw_memory *memory,
                               const struct gw_schedule *schedule, size_t worker, uint64_t seed,
                               struct gw_error *error) {
    *out = (struct gw_buffers){.elements = gw_buffers_elements(schedule)};
    enum gw_status status = fill(out, memory, worker, seed, error);
    if (status != GW_OK) {
        gw_buffers_close(out, memory);
    }
    return status;
}

void gw_buffers_next_gradient(struct gw_buffers *buffers, uint64_t iteration) {
    /* Steps of an odd number of cache lines visit every aligned window before one comes again. */
    uint64_t step = 1237 * (CACHE_LINE / sizeof(float));
    buffers->gradient = buffers->noise + iteration * step % MARGIN;
}

void gw_buffers_close(struct gw_buffers *buffers, const struct gw_memory *memory) {
    float *const vectors[] = {buffers->noise, buffers->residual, buffers->aggregate};
    for (size_t i = 0; i < 3; i++) {
        if (vectors[i] != NULL) {
            memory->does->free(memory, vectors[i]);
        }
    }
    *buffers = (struct gw_buffers){0};
}
