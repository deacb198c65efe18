/*
 * A convex outline of a front: looser, but a few corners stand for thousands of pairs. Corners are
 * a front's pairs whose edges become less steep from one to the next, and what lies on or above an
 * edge is promised (docs/optimal-merging.md). Private to this room.
 */
#ifndef GW_PLANNER_HULL_H
#define GW_PLANNER_HULL_H

#include "planner/front.h"

/*
 * A line promises that weight * first + (1 - weight) * second >= value. The hull of `count` >= 2
 * lines, whose weights [count] ascend from 0 to 1; it has no corner if values[0] is INFINITY.
 */
enum gw_status gw_hull_from_lines(struct gw_front *hull, const double *weights,
                                  const double *values, size_t count, struct gw_error *error);

/* As gw_front_keep, with the hull's points for partners. */
size_t gw_hull_keep(const struct gw_front *hull, double limit, struct gw_front_pair *pairs,
                    size_t count);

/* The least, over the hull's points, of the larger of (first + x) and (second + y); INFINITY if
 * there is none. */
double gw_hull_complete(const struct gw_front *hull, double x, double y);

#endif
