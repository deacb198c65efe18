/* A worker's gradient, residual and aggregate; private to this room. */
#ifndef GW_EXEC_BUFFERS_H
#define GW_EXEC_BUFFERS_H

#include "core/core.h"
#include "exec/memory.h"
#include "methods/schedule.h"

/* Of gradients: their standard deviation. */
extern const double gw_gradient_deviation;

/*
 * Flat vectors of `elements` floats hold the groups one after another, as the schedule's slices
 * say.
 */
struct gw_buffers {
    size_t elements;
    float *noise;    /* elements + a margin: bell-shaped values that gradients are windows of */
    float *gradient; /* this iteration's window */
    float *residual;
    float *aggregate; /* sum over workers; zero where nothing was sent */
};

size_t gw_buffers_elements(const struct gw_schedule *schedule);

/* In that memory, to be closed before it. */
enum gw_status gw_buffers_open(struct gw_buffers *out, const struct gw_memory *memory,
                               const struct gw_schedule *schedule, size_t worker, uint64_t seed,
                               struct gw_error *error);

/* Another gradient for each iteration; nothing is computed, so that it costs no time. */
void gw_buffers_next_gradient(struct gw_buffers *buffers, uint64_t iteration);

void gw_buffers_close(struct gw_buffers *buffers, const struct gw_memory *memory);

#endif
