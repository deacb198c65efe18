/*
 * The ring: in every step each rank hands the block that it got last to its right neighbour, so
 * that after P - 1 steps each block was everywhere. Private to this room.
 */
#ifndef GW_COLLECTIVES_RING_H
#define GW_COLLECTIVES_RING_H

#include "collectives/collectives.h"

/* Ranks and blocks of a step, which may be of a second round; bytes are the caller's to fill. */
static inline struct gw_step gw_ring_step(uint32_t workers, uint32_t rank, uint32_t index) {
    uint32_t sent = (rank + workers - index % workers) % workers;
    uint32_t left = (rank + workers - 1) % workers;
    return (struct gw_step){.to = (rank + 1) % workers,
                            .from = left,
                            .send = {.first = sent, .count = 1},
                            .receive = {.first = (sent + workers - 1) % workers, .count = 1}};
}

#endif
