/*
 * Operations that found their processor or their network interface busy. Of those that wait for the
 * same, only the one that is next in order is kept in the event queue; the others are parked here,
 * so that a thousand messages for one host cost a thousand events and not a million.
 */
#ifndef GW_GOAL_PARKING_H
#define GW_GOAL_PARKING_H

#include "engine/engine.h"

struct gw_parking;

enum gw_status gw_parking_open(struct gw_parking **out, struct gw_error *error);
void gw_parking_close(struct gw_parking *parking);

/* *parked: it is kept here. Otherwise it is the next in order, and belongs in the queue. */
enum gw_status gw_park(struct gw_parking *parking, uint64_t resource, uint32_t order, uint32_t id,
                       bool *parked, struct gw_error *error);

/*
 * The event of that order, which had not been parked, has used the resource. Whether another one is
 * next now: *order and *id, which leave.
 */
bool gw_unpark(struct gw_parking *parking, uint64_t resource, uint32_t used, uint32_t *order,
               uint32_t *id);

#endif
