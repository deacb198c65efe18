/*
 * Passes over the arcs, from the first position to the last and back, each of which makes a front
 * for every position and drops the arcs over which no better plan leads
 * (docs/optimal-merging.md). Private to this room.
 */
#ifndef GW_PLANNER_PASSES_H
#define GW_PLANNER_PASSES_H

#include "planner/arcs.h"
#include "planner/front.h"

enum gw_front_kind {
    GW_HULL,  /* convex, promises too much: quick, never exact */
    GW_STAIR, /* promises too much only where it had to be squeezed */
    GW_REAL,  /* promises too little where it had to be thinned: what it promises, a plan keeps */
    GW_FRONT_KINDS
};

struct gw_passes {
    struct gw_arcs arcs;
    size_t tensors;
    struct gw_front *forward[GW_FRONT_KINDS];  /* [kind][tensors + 1]; no stairs */
    struct gw_front *backward[GW_FRONT_KINDS]; /* [kind][tensors + 1] */
    double guess[GW_FRONT_KINDS];              /* see gw_front_squeeze */
    bool stairs_known;                         /* whether there are stairs yet */
    struct gw_front scratch;
    struct gw_front run; /* what came over one arc */
    size_t promised_capacity;
    double *promised;       /* by the opposite hull, for each pair of a front that is thinned */
    double work, most_work; /* pairs that went over arcs so far, and may in all */
};

/* Passes are undefined until opened; close them also if that fails. `known_s` as for gw_arcs_open.
 */
enum gw_status gw_passes_open(struct gw_passes *x, const struct gw_planning *planning,
                              double known_s, double most_work, struct gw_error *error);
void gw_passes_close(struct gw_passes *x);

/* Hulls have corners between whole steps; sums over them are rounded by less than this share. */
static inline double gw_passes_slack(const struct gw_passes *x) {
    return 1e-12 + 1e-15 * (double)x->tensors;
}

/* Whether passes have done all the work that they may; one that stops for it drops nothing more. */
static inline bool gw_passes_are_spent(const struct gw_passes *x) {
    return x->work > x->most_work;
}

/* Ends what gw_arcs_begin_pass began, if the pass got to its end. */
static inline void gw_passes_end(struct gw_passes *x) {
    if (!gw_passes_are_spent(x)) {
        gw_arcs_end_pass(&x->arcs);
    }
}

/* A time that no plan beats, before any pass. */
double gw_passes_least(const struct gw_passes *x);

/* Makes real forward fronts of at most `most` pairs, of what may take less than `limit`. */
enum gw_status gw_pass_forward(struct gw_passes *x, size_t most, double limit,
                               struct gw_error *error);

/*
 * Makes stairs or real backward fronts of at most `most` pairs, of what may take less than `limit`;
 * drops the arcs over which stairs find nothing. No plan that takes less than `limit` takes less
 * than *bound: INFINITY if there is none, and 0 if it was too much work to tell. The bound of
 * GW_REAL says nothing.
 */
enum gw_status gw_pass_backward(struct gw_passes *x, enum gw_front_kind kind, size_t most,
                                double limit, double *bound, struct gw_error *error);

/* Gives back the memory of all fronts of a kind. */
void gw_passes_forget(struct gw_passes *x, enum gw_front_kind kind);

/*
 * A plan, as positions where groups end: from the last position back along the forward fronts, or
 * from the first on along the backward fronts, always over the arc that promises most. ends
 * [tensors + 1] comes in false. Returns whether it got to the end.
 */
bool gw_passes_trace_back(struct gw_passes *x, enum gw_front_kind kind, bool *ends);
bool gw_passes_trace_on(struct gw_passes *x, enum gw_front_kind kind, bool *ends);

/* ---- lines --------------------------------------------------------------------------------- */

/*
 * What passes make hulls of: for some weights, how small the weighted sum of the two costs can
 * become (docs/optimal-merging.md).
 */
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
enum gw_status gw_pass_of_lines(struct gw_lines *lines, struct gw_passes *x, bool forward,
                                double limit, double *bound, struct gw_error *error);

#endif
