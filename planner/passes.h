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
    gw_front_kinds
};

struct gw_passes {
    struct gw_arcs arcs;
    size_t tensors;
    struct gw_front *forward[gw_front_kinds];  /* [kind][tensors + 1] */
    struct gw_front *backward[gw_front_kinds]; /* [kind][tensors + 1] */
    double guess[gw_front_kinds];              /* see gw_front_squeeze */
    struct gw_front scratch;
    struct gw_front run; /* what came over one arc */
    size_t promised_capacity;
    double *promised; /* by the opposite hull, for each pair of a front that is thinned */
    bool stairs_ahead, stairs_behind; /* whether there are backward and forward stairs yet */
    double work, most_work;           /* pairs that went over arcs so far, and may in all */
};

/* Passes are undefined until opened; close them also if that fails. `most_s` as for gw_arcs_open.
 */
enum gw_status gw_passes_open(struct gw_passes *x, const struct gw_planning *planning,
                              double most_s, double most_work, struct gw_error *error);
void gw_passes_close(struct gw_passes *x);

/* A time that no plan beats, before any pass. */
double gw_passes_least(const struct gw_passes *x);

/*
 * Looks for what takes less than `limit`, with at most `most` pairs in a front. No plan better
 * than that takes less than *bound, which is INFINITY if there is none, and 0 if it was too much
 * work to tell. A bound of GW_REAL says nothing.
 */
enum gw_status gw_pass_forward(struct gw_passes *x, enum gw_front_kind kind, size_t most,
                               double limit, double *bound, struct gw_error *error);
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

#endif
