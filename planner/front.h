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
    double first, second; /* seconds */
};

struct gw_front {
    size_t count, capacity;
    struct gw_front_pair *pairs; /* first ascending, second descending */
};

/* Adds the pair unless the front has one that is as good; removes those that it makes useless. */
enum gw_status gw_front_add(struct gw_front *front, struct gw_front_pair pair,
                            struct gw_error *error);

/*
 * Replaces neighbours by one pair that is as good as each, until `most` are left. The front then
 * promises too much, never too little. Returns whether it had to.
 */
bool gw_front_squeeze(struct gw_front *front, size_t most);

/* The least, over the pairs, of the larger of (first + x) and (second + y); INFINITY if there is
 * none. */
double gw_front_complete(const struct gw_front *front, double x, double y);

#endif
