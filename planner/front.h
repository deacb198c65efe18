/*
 * A front: pairs of costs of which none is at least as good as another in both; private to this
 * room. Forward, a pair is (compression so far, communication clock) after some prefix of the
 * tensors; backward, what completing from there adds to the one and to the other
 * (docs/optimal-merging.md).
 */
#ifndef GW_PLANNER_FRONT_H
#define GW_PLANNER_FRONT_H

#include "core/core.h"

struct gw_front_pair {
    double first, second; /* in steps of struct gw_arcs, whole but for corners of a hull */
};

struct gw_front {
    size_t count, capacity;
    struct gw_front_pair *pairs; /* first ascending, second descending */
};

/* Points past the last pair; NULL for a front without pairs that never had room. */
static inline const struct gw_front_pair *gw_front_end(const struct gw_front *front) {
    return front->count == 0 ? front->pairs : front->pairs + front->count;
}

/* Room for `count` pairs in all. */
enum gw_status gw_front_reserve(struct gw_front *front, size_t count, struct gw_error *error);

/* Gives back most of the room that a front of many pairs no longer needs. */
void gw_front_shrink(struct gw_front *front);

/*
 * Adds `count` pairs, themselves first ascending and second descending, but for those that the
 * front has matched already; removes those that they make useless. `scratch` is overwritten.
 */
enum gw_status gw_front_merge(struct gw_front *front, const struct gw_front_pair *pairs,
                              size_t count, struct gw_front *scratch, struct gw_error *error);

/*
 * Unites neighbours into one pair that is as good as each, those first that lose least by it, until
 * at most `most` pairs are left. The front's costs are then lower bounds. *guess is the loss of the
 * last squeezed front, and becomes this one's.
 */
void gw_front_squeeze(struct gw_front *front, size_t most, double *guess);

/* Same as gw_front_squeeze, but keeps of neighbours the pair with the least promised[i], unchanged:
 * plans reach all costs of the front. */
void gw_front_thin(struct gw_front *front, size_t most, double *guess, const double *promised);

/* The least, over the pairs, of the larger of (first + x) and (second + y); INFINITY if there is
 * none. */
double gw_front_complete(const struct gw_front *front, double x, double y);

/*
 * Keeps, of `count` pairs (first ascending, second descending), those that together with some pair
 * of the front stay below `limit` in both costs. Returns the number that it kept.
 */
size_t gw_front_keep(const struct gw_front *front, double limit, struct gw_front_pair *pairs,
                     size_t count);

/* ---- hulls ----------------------------------------------------------------------------------- */

/*
 * A convex outline of a front: looser, but a few corners stand for thousands of pairs. Corners are
 * a front's pairs whose edges become less steep from one to the next, and what lies on or above an
 * edge is promised (docs/optimal-merging.md).
 */

/*
 * A line promises that weight * first + (1 - weight) * second >= value. The hull of `count` >= 2
 * lines, whose weights [count] ascend from 0 to 1; it has no corner if values[0] is INFINITY.
 */
enum gw_status gw_hull_from_lines(struct gw_front *hull, const double *weights,
                                  const double *values, size_t count, struct gw_error *error);

/* Same as gw_front_keep, with the hull's points as partners. */
size_t gw_hull_keep(const struct gw_front *hull, double limit, struct gw_front_pair *pairs,
                    size_t count);

/* The least, over the hull's points, of the larger of (first + x) and (second + y); INFINITY if
 * there is none. */
double gw_hull_complete(const struct gw_front *hull, double x, double y);

#endif
