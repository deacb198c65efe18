/*
 * Arcs, and passes over them: parts of the search for the optimum beside fronts
 * (docs/optimal-merging.md). Private to this room.
 */
#ifndef GW_PLANNER_SEARCH_H
#define GW_PLANNER_SEARCH_H

#include <math.h>

#include "planner/front.h"
#include "planner/planner.h"

/* ---- groups ---------------------------------------------------------------------------------- */

/*
 * Walks the tensors in ready order and closes a group as soon as it holds at least the limit:
 * `first` for the first group, `others` for those after it. `unit` is what one element counts.
 */
void gw_close_at(const struct gw_model *model, uint64_t unit, uint64_t first, uint64_t others,
                 bool *ends);

/* When the exchange of the last of the marked groups ends: an iteration without its update, as an
 * update of days would round plans' differences away. */
double gw_marks_exchanged_s(const struct gw_mix *choices, const size_t *marks);

/* ---- arcs ------------------------------------------------------------------------------------ */

/*
 * Groups as arcs between positions 0..L, where p tensors are ready at position p: an arc from p to
 * q is a group of the tensors between, that travels by one of the choices. Keeps those that may be
 * part of a better plan than the best that is known, row by row of their beginning, with their
 * costs while there are few enough of them.
 *
 * A plan is better the smaller its time + weight_s times the energy that it loses. What an arc
 * loses is a part of both its costs, and is taken off the time at which it is ready, as both follow
 * that (docs/optimal-merging.md).
 */

struct gw_arc {
    uint32_t to, choice;
    double compress, exchange; /* in steps, see gw_arcs_cost */
};

struct gw_arcs {
    const struct gw_mix *choices;
    size_t tensors;
    double *lost; /* [choices][tensors + 1]: before each position, in steps; NULL: nothing is */
    uint64_t *elements;    /* [tensors + 1]: before each position */
    struct gw_size *sizes; /* [choices][tensors + 1]: likewise; NULL: no choice has a rank */
    double *ready;         /* [tensors + 1]: when a position is reached, without any compression */
    double *rest_compress, *rest_exchange; /* [tensors + 1]: least costs ahead */
    double step_s;      /* the unit of all times here: they are whole, so that sums are exact */
    double steps_per_s; /* exact, as a step is a power of two */
    bool rising;        /* whether larger groups never cost less, ... */
    bool superadditive; /* ... or their compression less than that of their parts, but for ... */
    double startup;     /* ... its startup */
    struct gw_arc_row {
        size_t first, last;  /* all arcs kept lead to a position between, if there are any */
        size_t start, count; /* in `stored` */
    } * rows;                /* [tensors] */
    size_t longest;          /* the most tensors in a group that is kept */
    size_t total;            /* arcs that the next pass may meet */
    bool dropping;           /* whether this pass drops arcs */
    enum gw_arcs_storage { GW_ARCS_COMPUTED, GW_ARCS_STORING, GW_ARCS_STORED } storage;
    size_t stored_count, stored_capacity;
    struct gw_arc *stored;
    struct gw_arc *scratch;     /* [tensors + GW_COSTS_ROW][choices] */
    struct gw_costs_near *near; /* [choices] */
};

/*
 * Finds all arcs, in steps so small that `known_s`, what some plan comes to, is 2^52 to 2^53 of
 * them, but not below 2^-953 s. Longer times are not exact, and need not be.
 */
enum gw_status gw_arcs_open(struct gw_arcs *arcs, const struct gw_mix *choices, double weight_s,
                            double known_s, struct gw_error *error);

void gw_arcs_close(struct gw_arcs *arcs);

/* Added to each cost, which makes the plan with fewer groups the better one of two that take
 * equally long; more than a cost is rounded by. */
static const double gw_arcs_tie_break = 4;

/* Costs of the group between two positions by one of the choices, rounded up. */
struct gw_arc gw_arcs_cost(const struct gw_arcs *arcs, size_t from, size_t to, size_t choice);

/* When the group of an arc is ready without any compression, less what it loses. */
static inline double gw_arcs_ready(const struct gw_arcs *arcs, size_t from,
                                   const struct gw_arc *arc) {
    double ready = arcs->ready[arc->to];
    if (arcs->lost != NULL) {
        const double *lost = arcs->lost + arc->choice * (arcs->tensors + 1);
        ready -= lost[arc->to] - lost[from];
    }
    return ready;
}

/* Finds the arcs between two positions that are kept; returns how many there are. */
size_t gw_arcs_find(struct gw_arcs *arcs, size_t from, size_t to, const struct gw_arc **found);

/* ---- a pass over all rows, in any order ---------------------------------------------------- */

/* Begins a pass over all rows; without `dropping` it drops no arcs. */
void gw_arcs_begin_pass(struct gw_arcs *arcs, bool dropping);

/*
 * Finds the arcs from a position, in the order of their ends. May leave out those over which no
 * plan ends before `limit` that begins with no less than `least` (compression, clock).
 */
size_t gw_arcs_row(struct gw_arcs *arcs, size_t from, struct gw_front_pair least, double limit,
                   struct gw_arc **row);

/* Keeps the first `count` arcs of the row that gw_arcs_row gave, after the caller moved those that
 * it wants to the front of it. */
enum gw_status gw_arcs_keep(struct gw_arcs *arcs, size_t from, const struct gw_arc *row,
                            size_t count, struct gw_error *error);

void gw_arcs_end_pass(struct gw_arcs *arcs);

/* ---- passes ---------------------------------------------------------------------------------- */

/*
 * Passes over the arcs, from the first position to the last and back, each of which makes a front
 * for every position and drops the arcs over which no better plan leads.
 */

enum gw_front_kind {
    GW_HULL,  /* convex lower bounds: quick, never exact */
    GW_STAIR, /* lower bounds, exact but where it was squeezed */
    GW_REAL,  /* costs that plans reach, without those lost by thinning */
    GW_FRONT_KINDS
};

/* A position where a beginning of a plan meets a rest. */
struct gw_meeting {
    size_t at;
    struct gw_front_pair before, after;
};

struct gw_passes {
    struct gw_arcs arcs;
    size_t tensors;
    struct gw_front *forward[GW_FRONT_KINDS];  /* [kind][tensors + 1] */
    struct gw_front *backward[GW_FRONT_KINDS]; /* [kind][tensors + 1] */
    size_t exact_to, exact_from;               /* stairs are exact forward to the one position, and
                                                  backward from the other one on */
    struct gw_meeting meeting;                 /* of the last pass */
    double guess[GW_FRONT_KINDS];              /* see gw_front_squeeze */
    struct gw_front scratch;
    struct gw_front run; /* pairs carried over one arc */
    size_t promised_capacity;
    double *promised;       /* by the opposite hull, for each pair of a front that is thinned */
    double work, most_work; /* pairs that went over arcs so far, and may in all */
};

/* Passes are undefined until opened; close them also if that fails. `known_s` and `weight_s` as for
 * gw_arcs_open. */
enum gw_status gw_passes_open(struct gw_passes *x, const struct gw_mix *choices, double weight_s,
                              double known_s, double most_work, struct gw_error *error);
void gw_passes_close(struct gw_passes *x);

/* Hulls have corners between whole steps; sums over them are rounded by less than this share. */
static inline double gw_passes_slack(const struct gw_passes *x) {
    return 1e-12 + 1e-15 * (double)x->tensors;
}

/* Whether passes have done all the work that they may; a pass that stops drops no more arcs. */
static inline bool gw_passes_are_spent(const struct gw_passes *x) {
    return x->work > x->most_work;
}

/* Ends the pass that gw_arcs_begin_pass began, if it got to its end. */
static inline void gw_passes_end(struct gw_passes *x) {
    if (!gw_passes_are_spent(x)) {
        gw_arcs_end_pass(&x->arcs);
    }
}

/* End of a pass over all positions. */
static inline struct gw_meeting gw_meeting_at_end(const struct gw_passes *x, bool forward) {
    return (struct gw_meeting){.at = forward ? x->tensors : 0, .after = {-INFINITY, 0}};
}

/* Lower bound of all plans, before any pass. */
double gw_passes_least(const struct gw_passes *x);

/* The most pairs of a front. */
struct gw_widths {
    size_t real;   /* of real fronts, which are thinned to that */
    size_t exact;  /* of stairs with which the ends grow, ... */
    size_t stairs; /* ... and of those between, which are squeezed to that */
};

/* Makes real fronts that may lead to less than `limit`, from one end. */
enum gw_status gw_pass_real(struct gw_passes *x, bool forward, const struct gw_widths *widths,
                            double limit, struct gw_error *error);

/*
 * Goes on with exact stairs that may lead to less than `limit`, from both ends, until they meet or
 * have too many pairs; squeezes those between, from the last on. Drops the arcs over which there
 * are none. No plan that takes less than `limit` takes less than *bound: INFINITY if there is none,
 * and 0 if it was too much work to tell.
 */
enum gw_status gw_pass_stairs(struct gw_passes *x, const struct gw_widths *widths, double limit,
                              double *bound, struct gw_error *error);

/* Gives back the memory of all fronts of a kind. */
void gw_passes_forget(struct gw_passes *x, enum gw_front_kind kind);

/*
 * Marks the plan that the last pass, which was of that kind, promises most of: from where its
 * fronts meet back and on, always over the arc that promises most. marks [tensors + 1] comes in all
 * 0, and is 1 + its choice where a group ends. Returns whether it got to both ends.
 */
bool gw_passes_trace(struct gw_passes *x, enum gw_front_kind kind, size_t *marks);

/* ---- lines --------------------------------------------------------------------------------- */

/*
 * Least weighted sums of the two costs for some weights; passes make hulls of them
 * (docs/optimal-merging.md).
 */
enum { GW_MAX_WEIGHTS = 64 };

struct gw_lines {
    size_t tensors;
    size_t count;                   /* of weights */
    double weights[GW_MAX_WEIGHTS]; /* [count]: of the first cost, ascending from 0 to 1 */
    double *forward;  /* [tensors + 1][count]: lower bounds of the weighted sums; ... */
    double *backward; /* ... INFINITY without any arc */
};

/* For passes that have been opened and have made no hulls. Close it also if that fails. */
enum gw_status gw_lines_open(struct gw_lines *lines, const struct gw_passes *x,
                             struct gw_error *error);
void gw_lines_close(struct gw_lines *lines);

/*
 * Goes on with at most `most` weights, beside those with which the lines of both ends promise most
 * together. At least 5, at most GW_MAX_WEIGHTS.
 */
enum gw_status gw_lines_refine(struct gw_lines *lines, size_t most, struct gw_error *error);

/*
 * Makes forward or backward hulls and drops the arcs over which, with the lines of the other end,
 * nothing can take less than `limit`. *bound as for gw_pass_stairs.
 */
enum gw_status gw_pass_of_lines(struct gw_lines *lines, struct gw_passes *x, bool forward,
                                double limit, double *bound, struct gw_error *error);

/* ---- searches ------------------------------------------------------------------------------ */

/*
 * Improves the marked plan until none is better by a share of more than `equal`, or the search is
 * cut short. *least_s: lower bound of what all plans come to (see gw_arcs), without the update.
 */
enum gw_status gw_search_best(const struct gw_mix *choices, double weight_s, double equal,
                              struct gw_arena *arena, size_t *marks, double *least_s,
                              struct gw_error *error);

/*
 * Marks the fastest plan that loses at most choices->most_lost, where the marked one is the fastest
 * of all and loses more. *least_s: comes in as a lower bound of all plans' times, and goes out as
 * one of those that count.
 */
enum gw_status gw_search_within(const struct gw_mix *choices, struct gw_arena *arena, size_t *marks,
                                double *least_s, struct gw_error *error);

#endif
