/* A schedule by its two streams, each of which runs in order; private to this room. */
#ifndef GW_SIM_ORDER_H
#define GW_SIM_ORDER_H

#include "methods/schedule.h"

#define GW_NO_EXCHANGE SIZE_MAX

/*
 * An operation waits for the last of its dependencies on the other stream. Places number the
 * operations of a stream, in order; exchanges, and a server's updates, are on the communication
 * stream.
 */
struct gw_order {
    size_t compute_count, exchange_count;
    size_t *computes, *exchanges; /* per place: the operation */
    size_t *awaited_exchanges;    /* per compute: how many exchanges must have ended */
    size_t *awaited_computes;     /* per exchange: how many computes must have */
    /*
     * The exchanges that wait for just n computes: first_waiting[n], and from each the next one;
     * GW_NO_EXCHANGE: no more.
     */
    size_t *first_waiting, *next_waiting;
};

/* Lives as long as the arena. */
enum gw_status gw_order_open(struct gw_order *out, const struct gw_schedule *schedule,
                             struct gw_arena *arena, struct gw_error *error);

#endif
