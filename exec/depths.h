/* How long products of matrices take, by how deep they are; private to this room. */
#ifndef GW_EXEC_DEPTHS_H
#define GW_EXEC_DEPTHS_H

#include "core/core.h"

enum { GW_DEPTH_STEP = 16, GW_MOST_DEPTHS = 8 };

struct gw_depths {
    size_t count;
    struct gw_curve_point points[GW_MOST_DEPTHS]; /* of depth and time, both strictly ascending */
};

/*
 * From `count` measured depths, which ascend in multiples of GW_DEPTH_STEP: those that take less
 * time than every deeper one. GW_FAILED: a time is no time, fewer than three are left, or the
 * deepest does not take twice as long as the least deep.
 */
enum gw_status gw_depths_set(struct gw_depths *out, const struct gw_curve_point *measured,
                             size_t count, struct gw_error *error);

/*
 * The depth, a multiple of GW_DEPTH_STEP, of the next product for `*owed_s` of work, and takes off
 * its time, which is interpolated: the deepest, if that is not too long; 0, and nothing is taken
 * off, if the least is. What is taken off may be more than is owed, by half a step.
 */
size_t gw_depths_take(const struct gw_depths *depths, double *owed_s);

#endif
