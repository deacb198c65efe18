/*
 * Passes that make hulls: for some weights, how small the weighted sum of the two costs can become
 * (docs/optimal-merging.md). Private to this room.
 */
#ifndef GW_PLANNER_LINES_H
#define GW_PLANNER_LINES_H

#include "planner/passes.h"

enum { GW_MOST_WEIGHTS = 64 };

struct gw_lines {
    size_t tensors;
    size_t count;                    /* of weights */
    double weights[GW_MOST_WEIGHTS]; /* [count]: of the first cost, ascending from 0 to 1 */
    double *forward;  /* [tensors + 1][count]: what the weighted sums are at least; ... */
    double *backward; /* ... INFINITY where nothing leads */
};

/* For passes that have been opened and have made no hulls. Close it also if that fails. */
enum gw_status gw_lines_open(struct gw_lines *lines, const struct gw_passes *x,
                             struct gw_error *error);
void gw_lines_close(struct gw_lines *lines);

/*
 * Goes on with at most `most` weights, beside those with which the lines of both ends promise most
 * together. At least 5, at most GW_MOST_WEIGHTS.
 */
enum gw_status gw_lines_refine(struct gw_lines *lines, size_t most, struct gw_error *error);

/*
 * Makes forward or backward hulls and drops the arcs over which, with the lines of the other end,
 * nothing can take less than `limit`. *bound as for gw_pass_backward.
 */
enum gw_status gw_lines_forward(struct gw_lines *lines, struct gw_passes *x, double limit,
                                double *bound, struct gw_error *error);
enum gw_status gw_lines_backward(struct gw_lines *lines, struct gw_passes *x, double limit,
                                 double *bound, struct gw_error *error);

#endif
