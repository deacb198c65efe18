/*
 * The lower left convex hull of a front: looser, but a few corners stand for thousands of pairs,
 * and adding an arc's costs loosens it no further. Corners are a front's pairs whose edges become
 * less steep from one to the next (docs/optimal-merging.md). Private to this room.
 */
#ifndef GW_PLANNER_HULL_H
#define GW_PLANNER_HULL_H

#include "planner/front.h"

/* The hull of a hull and of `count` more corners, which come in a front's order. `scratch` is
 * overwritten. */
enum gw_status gw_hull_merge(struct gw_front *hull, const struct gw_front_pair *corners,
                             size_t count, struct gw_front *scratch, struct gw_error *error);

/*
 * At most `most` corners, by dropping edges and extending their neighbours, first where it loses
 * least; with most = 1, one corner that is as good as all. *guess as for gw_front_squeeze.
 */
void gw_hull_simplify(struct gw_front *hull, size_t most, double *guess);

/* Leaves the corners that, or whose neighbours, stay below `limit` together with a point of the
 * other hull. */
void gw_hull_trim(struct gw_front *hull, const struct gw_front *other, double limit);

/* Whether a point of the hull and one of the other stay below `limit` together. The corners come
 * in a hull's order. */
bool gw_hull_meets(const struct gw_front *hull, double limit, const struct gw_front_pair *corners,
                   size_t count);

/* As gw_front_keep, with the hull's points for partners. */
size_t gw_hull_keep(const struct gw_front *hull, double limit, struct gw_front_pair *pairs,
                    size_t count);

/* The least, over the hull's points, of the larger of (first + x) and (second + y); INFINITY if
 * there is none. */
double gw_hull_complete(const struct gw_front *hull, double x, double y);

#endif
