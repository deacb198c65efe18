/* The exchanges of a schedule as calls of collectives; private to this room. */
#ifndef GW_SIM_EXCHANGES_H
#define GW_SIM_EXCHANGES_H

#include "collectives/collectives.h"
#include "sim/sim.h"

struct gw_exchange {
    size_t operation; /* of the schedule */
    const struct gw_collective *collective;
    struct gw_call call;
    uint32_t ranks; /* that take part: workers, and servers */
};

struct gw_exchanges {
    uint32_t ranks; /* of the largest exchange; at least the workers */
    size_t count;
    struct gw_exchange *list;
    bool symmetric; /* in all of them ranks are interchangeable */
};

/*
 * Shares of a call are made equal, in whole elements, where that makes all ranks alike: a message
 * is then at most an element longer. Fails if there is no such collective.
 */
enum gw_status gw_exchanges_open(struct gw_exchanges *out, const struct gw_schedule *schedule,
                                 const struct gw_simulation *simulation, struct gw_error *error);

/* Exchanges of other bytes than before, with the same collectives. */
void gw_exchanges_again(struct gw_exchanges *exchanges, const struct gw_schedule *schedule);
void gw_exchanges_close(struct gw_exchanges *exchanges);

/* How many steps the rank takes: none for no bytes. */
uint32_t gw_exchange_steps(const struct gw_exchange *exchange, uint32_t rank);

#endif
