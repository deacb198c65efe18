/* A worker's gradient, residual, messages and aggregate; private to this room. */
#ifndef GW_EXEC_BUFFERS_H
#define GW_EXEC_BUFFERS_H

#include "algorithms/schedule.h"
#include "core/core.h"
#include "kernels/kernels.h"

/*
 * Flat vectors of `elements` floats hold the groups one after
 * another, as the schedule's slices say.
 */
struct gw_buffers {
    size_t elements;
    float *noise;    /* elements + a margin: bell-shaped values that gradients are windows of */
    float *gradient; /* this iteration's window */
    float *residual;
    float *aggregate;          /* sum over ranks; zero where nothing was sent */
    struct gw_entry *sent;     /* of all groups, one after another */
    struct gw_entry *received; /* the same of all ranks, group by group */
    size_t *first_entry;       /* per group: where its entries begin in `sent` */
};

enum gw_status gw_buffers_open(struct gw_buffers *out, const struct gw_schedule *schedule,
                               size_t ranks, size_t rank, uint64_t seed, struct gw_error *error);

/* Another gradient for each iteration; nothing is computed, so that it costs no time. */
void gw_buffers_next_gradient(struct gw_buffers *buffers, size_t iteration);

void gw_buffers_close(struct gw_buffers *buffers);

#endif
