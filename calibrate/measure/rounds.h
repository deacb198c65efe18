/*
 * Which points to measure next, and how often; private to this room. Nothing here measures or reads
 * a clock.
 *
 * Points are visited in rounds, each in a new random order, for a block of repeats at a time. What
 * drifts slowly then touches all sizes alike and shows as spread, where repeats of one size after
 * the other would make a slope of it.
 */
#ifndef GW_CALIBRATE_ROUNDS_H
#define GW_CALIBRATE_ROUNDS_H

#include "calibrate/measure/points.h"

struct gw_visit {
    size_t point, repeats;
};

/*
 * Chooses the visits of a round that takes no more than `left_s`, in random order: all points that
 * are open if there is time for them, otherwise those without five visits first and then those
 * whose medians are known worst. A visit is about `visit_s` long, but at least one repeat; a point
 * without any repeats is visited whatever is left. `out` has room for all points.
 */
enum gw_status gw_choose_round(const struct gw_points *points, double left_s, double visit_s,
                               double precision, struct gw_random *random, struct gw_visit *out,
                               size_t *count, struct gw_error *error);

/*
 * Whether a size is too large to be measured at all: one repeat of it would take longer than
 * `share_s`, judging by `previous`, the size before it, which costs cost_s. The first five sizes of
 * a series never are.
 */
bool gw_is_too_large(const struct gw_points *points, size_t point, double share_s);

/* What a series' largest size may cost for each repeat if all of them are to fit in the time. */
double gw_largest_share_s(size_t series_count, double time_s);

#endif
