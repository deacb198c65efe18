/*
 * Groups as arcs between positions 0..L, where p tensors are ready at position p: an arc from p to
 * q is a group of the tensors between. Keeps those that may be part of a better plan than the best
 * that is known, row by row of their beginning, with their costs while there are few enough of
 * them. Private to this room.
 */
#ifndef GW_PLANNER_ARCS_H
#define GW_PLANNER_ARCS_H

#include "planner/front.h"
#include "planner/planner.h"

struct gw_arc {
    size_t to;
    double compress, exchange; /* in steps, see gw_arcs_cost */
};

struct gw_arcs {
    const struct gw_planning *planning;
    size_t tensors;
    uint64_t *elements; /* [tensors + 1]: before each position */
    double *ready;      /* [tensors + 1]: when a position is reached, without any compression */
    double *rest_compress, *rest_exchange; /* [tensors + 1]: what is ahead at least */
    double step_s;      /* the unit of all times here: they are whole, so that sums are exact */
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
    struct gw_arc *scratch; /* [tensors] */
};

/*
 * All arcs, in steps so small that `known_s`, what some plan takes, is 2^52 or more of them, and no
 * more than 2^53; but not below 2^-953 s. Longer times are not exact, and need not be.
 */
enum gw_status gw_arcs_open(struct gw_arcs *arcs, const struct gw_planning *planning,
                            double known_s, struct gw_error *error);

void gw_arcs_close(struct gw_arcs *arcs);

/* Added to each cost, which makes the plan with fewer groups the better one of two that take
 * equally long; more than a cost is rounded by. */
static const double gw_arcs_tie_break = 4;

/* What the group between two positions costs, rounded up. */
struct gw_arc gw_arcs_cost(const struct gw_arcs *arcs, size_t from, size_t to);

/* ---- a pass over all rows, in any order ---------------------------------------------------- */

/* Without `dropping` it makes no difference what the pass keeps. */
void gw_arcs_begin_pass(struct gw_arcs *arcs, bool dropping);

/*
 * The arcs from a position, ordered by where they lead. Those over which nothing can be finished
 * before `limit`, beginning with no less than `least` (compression, clock), may be left out.
 */
size_t gw_arcs_row(struct gw_arcs *arcs, size_t from, struct gw_front_pair least, double limit,
                   struct gw_arc **row);

/* Keeps the first `count` arcs of the row that gw_arcs_row gave, after the caller moved those that
 * it wants to the front of it. */
enum gw_status gw_arcs_keep(struct gw_arcs *arcs, size_t from, const struct gw_arc *row,
                            size_t count, struct gw_error *error);

void gw_arcs_end_pass(struct gw_arcs *arcs);

#endif
