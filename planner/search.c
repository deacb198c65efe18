/* The search for the plan that comes to least: passes over the arcs, of wider and wider fronts. */
#include "planner/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limits of a search, some seconds each and most of a gigabyte; a search that reaches one ends with
 * a plan and a bound that differ. */
static const double most_work = 2.5e9;          /* pairs carried over arcs */
static const double most_work_for_groups = 2e8; /* of it, only to find fewer groups */
static const double most_work_of_choices = 5e7; /* of a search over several choices, */
static const double most_work_of_an_arc = 20;   /* beside this for each of their arcs */
static const size_t most_tensors = 50000;
static const size_t most_rounds = 100; /* of passes, each of which is wider than the one before */
static const size_t most_pairs = 45000000; /* in the fronts of one pass */

struct search {
    const struct gw_mix *choices;
    double weight_s;   /* of the energy that a plan loses, see gw_arcs_open */
    double equal;      /* share of its time by which a plan may miss the best; 0: of those that miss
                          it by rounding, one with the fewest groups is searched for */
    double worthwhile; /* round of hulls: leaves less than that share of the gap */
    double most_work;
    size_t tensors;
    struct gw_passes passes;
    struct gw_lines lines;
    size_t passes_of_hulls;
    size_t *trial;      /* a plan that is tried: [position], as gw_passes_trace marks it */
    size_t *best;       /* the best plan known ... */
    double best_time;   /* ... and what it comes to in steps, without the update */
    double known_s;     /* what the best plan that was known before the search comes to */
    double proven_time; /* lower bound of all plans, in steps */
    double proven_work; /* work done when the bound met the best time, but for rounding */
};

/* Takes the plan that is tried if it is the best so far, and forgets it. */
static void try_plan(struct search *x) {
    double compress = 0;
    double clock = 0;
    for (size_t from = 0, to = 1; to <= x->tensors; to++) {
        if (x->trial[to] > 0) {
            struct gw_arc arc = gw_arcs_cost(&x->passes.arcs, from, to, x->trial[to] - 1);
            compress += arc.compress;
            clock =
                fmax(clock, gw_arcs_ready(&x->passes.arcs, from, &arc) + compress) + arc.exchange;
            from = to;
        }
    }
    if (clock < x->best_time || x->best[x->tensors] == 0) {
        x->best_time = clock;
        memcpy(x->best, x->trial, (x->tensors + 1) * sizeof *x->best);
    }
}

/* ---- the search ---------------------------------------------------------------------------- */

/* Largest error of a plan's time, in steps: each group's two costs, and one position, are rounded
 * up. */
static double most_rounding(size_t tensors) {
    return (gw_arcs_tie_break + 1) * (double)(tensors + 2);
}

/* Whether nothing is left to find but rounding and, among equals, the fewest groups. */
static bool is_proven(const struct search *x) {
    return x->best_time - x->proven_time <= most_rounding(x->tensors) + x->equal * x->best_time;
}

/* Whether steps are too long for the best plan found since they were chosen. */
static bool is_coarse(const struct search *x) {
    return x->best_time * x->passes.arcs.step_s < x->known_s / 4;
}

static bool is_open(const struct search *x) {
    return x->proven_time < x->best_time && !is_coarse(x) && x->tensors <= most_tensors &&
           x->passes.work < x->most_work &&
           (!is_proven(x) ||
            (x->equal == 0 && x->passes.work < x->proven_work + most_work_for_groups));
}

/* Makes a pass, if there is need for it, and tries the plan that its fronts lead to. */
static enum gw_status run_pass(struct search *x, enum gw_front_kind kind, bool forward,
                               const struct gw_widths *widths, struct gw_error *error) {
    if (!is_open(x)) {
        return GW_OK;
    }
    double bound = 0;
    switch (kind) {
    case GW_HULL:
        GW_TRY(gw_pass_of_lines(&x->lines, &x->passes, forward, x->best_time, &bound, error));
        break;
    case GW_STAIR:
        GW_TRY(gw_pass_stairs(&x->passes, widths, x->best_time, &bound, error));
        break;
    default:
        GW_TRY(gw_pass_real(&x->passes, forward, widths, x->best_time, error));
    }
    x->proven_time = fmax(x->proven_time, fmin(bound, x->best_time));
    if (isfinite(bound) && gw_passes_trace(&x->passes, kind, x->trial)) {
        try_plan(x);
    }
    memset(x->trial, 0, (x->tensors + 1) * sizeof *x->trial);
    gw_passes_forget(&x->passes, GW_REAL);
    x->proven_work = is_proven(x) ? x->proven_work : x->passes.work;
    return GW_OK;
}

/* Makes a pass with hulls; from the third one on with weights by the lines of earlier ones. */
static enum gw_status pass_of_hulls(struct search *x, bool forward, size_t most_weights,
                                    struct gw_error *error) {
    if (is_open(x) && x->passes_of_hulls++ >= 2) {
        GW_TRY(gw_lines_refine(&x->lines, most_weights, error));
    }
    return run_pass(x, GW_HULL, forward, NULL, error);
}

/* Makes hulls forward and backward with better and better weights, as long as each round closes
 * enough of the gap between plan and bound. */
static enum gw_status bound_from_below(struct search *x, size_t most_weights,
                                       struct gw_error *error) {
    double gap = INFINITY;
    for (size_t round = 0;
         round < most_rounds && is_open(x) && x->best_time - x->proven_time < x->worthwhile * gap;
         round++) {
        gap = x->best_time - x->proven_time;
        GW_TRY(pass_of_hulls(x, true, most_weights, error));
        GW_TRY(pass_of_hulls(x, false, most_weights, error));
    }
    return GW_OK;
}

static size_t widen(size_t pairs, size_t factor, size_t widest) {
    return factor * pairs < widest ? factor * pairs : widest;
}

/*
 * Makes rounds of wider and wider fronts: hulls bound all plans and drop arcs, real fronts find
 * better plans, and stairs prove the optimum in the end.
 */
static enum gw_status pass_by_pass(struct search *x, struct gw_error *error) {
    size_t widest = most_pairs / (x->tensors + 1) / 2;
    struct gw_widths widths = {.real = 4, .exact = 32, .stairs = 8};
    size_t weights = 12;
    for (size_t round = 0; round < most_rounds && is_open(x); round++) {
        GW_TRY(bound_from_below(x, weights, error));
        GW_TRY(run_pass(x, GW_REAL, true, &widths, error));
        GW_TRY(pass_of_hulls(x, true, weights, error));
        GW_TRY(run_pass(x, GW_REAL, false, &widths, error));
        GW_TRY(run_pass(x, GW_STAIR, false, &widths, error));
        weights = 2 * weights < GW_MAX_WEIGHTS ? 2 * weights : GW_MAX_WEIGHTS;
        widths = (struct gw_widths){.real = widen(widths.real, 2, widest),
                                    .exact = widen(widths.exact, 32, widest),
                                    .stairs = widen(widths.stairs, 4, widest)};
    }
    return GW_OK;
}

/* Searches in steps that suit a plan of x->known_s, the marks of which come and go in `marks`. */
static enum gw_status search_plans(struct search *x, size_t *marks, struct gw_error *error) {
    GW_TRY(gw_passes_open(&x->passes, x->choices, x->weight_s, x->known_s, x->most_work, error));
    GW_TRY(gw_lines_open(&x->lines, &x->passes, error));
    for (size_t tensor = 0; tensor < x->tensors; tensor++) {
        x->trial[x->tensors - tensor] = marks[tensor];
    }
    x->passes_of_hulls = 0;
    x->best_time = INFINITY;
    try_plan(x);
    memset(x->trial, 0, (x->tensors + 1) * sizeof *x->trial);
    x->proven_time = gw_passes_least(&x->passes);
    x->proven_work = 0;
    GW_TRY(pass_by_pass(x, error));
    for (size_t tensor = 0; tensor < x->tensors; tensor++) {
        marks[tensor] = x->best[x->tensors - tensor];
    }
    return GW_OK;
}

enum gw_status gw_search_best(const struct gw_mix *choices, double weight_s, double equal,
                              struct gw_arena *arena, size_t *marks, double *least_s,
                              struct gw_error *error) {
    size_t count = choices->costs->model->tensor_count;
    double arcs = (double)(choices->count * count) * (double)count / 2;
    struct search x = {.choices = choices,
                       .weight_s = weight_s,
                       .equal = equal,
                       .worthwhile = choices->count == 1 ? 0.5 : 0.8, /* as fronts are larger */
                       .most_work = choices->count == 1
                                        ? most_work
                                        : most_work_of_choices + most_work_of_an_arc * arcs,
                       .tensors = count,
                       .trial = gw_arena_zeros(arena, count + 1, sizeof *x.trial),
                       .best = gw_arena_zeros(arena, count + 1, sizeof *x.best)};
    enum gw_status status = gw_arena_check(arena, "planning", error);
    x.known_s = gw_marks_exchanged_s(choices, marks) + weight_s * gw_marks_lost(choices, marks);
    for (bool coarse = true; coarse && status == GW_OK;) {
        status = search_plans(&x, marks, error);
        coarse = status == GW_OK && is_coarse(&x);
        *least_s = (x.proven_time - most_rounding(count)) * x.passes.arcs.step_s;
        x.known_s = x.best_time * x.passes.arcs.step_s;
        gw_passes_close(&x.passes);
        gw_lines_close(&x.lines);
    }
    return status;
}
