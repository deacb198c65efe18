/* In which order operations of a rank start that become free at once. */
#ifndef GW_GOAL_START_ORDER_H
#define GW_GOAL_START_ORDER_H

#include "goal/goal.h"

struct gw_start_order {
    size_t capacity;
    void *room; /* to work in */
};

/*
 * Sends, then receives, then calculations, each in LogGOPSim's order: up to 16 operations, as they
 * became free. More of them LogGOPSim orders by a sort that is not stable; the time at which a send
 * starts depends on it, so the same is done here, except that receives from the same peer with the
 * same tag (or, if there are wildcards, all receives) stay as they became free.
 */
enum gw_status gw_goal_start_order(struct gw_start_order *order,
                                   const struct gw_goal_operation *operations, uint32_t *free_ones,
                                   size_t count, struct gw_error *error);

void gw_start_order_free(struct gw_start_order *order);

#endif
