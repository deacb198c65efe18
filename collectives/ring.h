/*
 * The ring: in every step each rank hands the block that it got last to its right neighbour, so
 * that after P - 1 steps each block was everywhere. Private to this room.
 */
#ifndef GW_COLLECTIVES_RING_H
#define GW_COLLECTIVES_RING_H

#include "collectives/collectives.h"

/* Ranks and blocks of a step, which may be of a second round; bytes are the caller's to fill. */
static inline void gw_ring_step(uint32_t workers, uint32_t rank, uint32_t index,
                                struct gw_step *out) {
    uint32_t round = index < workers ? index : index - workers;
    uint32_t sent = rank >= round ? rank - round : rank + workers - round;
    out->to = rank + 1 < workers ? rank + 1 : 0;
    out->from = rank > 0 ? rank - 1 : workers - 1;
    out->send.first = sent;
    out->send.count = 1;
    out->receive.first = sent > 0 ? sent - 1 : workers - 1;
    out->receive.count = 1;
}

#endif
