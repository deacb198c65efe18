/*
 * The plan with the smallest iteration time of all 2^(L-1), found without trying them all; the
 * method and its proof are in docs/optimal-merging.md.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/optimal_dense.h"
#include "planner/passes.h"
#include "planner/policies.h"

/* What a search may cost before it ends with a plan and a bound that differ: some seconds for each,
 * and half a gigabyte. */
static const double most_work = 2.5e9;          /* pairs carried over arcs */
static const double most_work_for_groups = 2e8; /* of it, only to find fewer groups */
static const size_t most_tensors = 50000;
static const size_t most_pairs = 45000000; /* in the fronts of one pass */

struct search {
    const struct gw_planning *planning;
    size_t tensors;
    struct gw_passes passes;
    bool *trial;        /* a plan that is tried: [position], whether a group ends there */
    bool *best;         /* the best plan known ... */
    double best_time;   /* ... and its time in steps, without the update */
    double proven_time; /* no plan takes less */
    double proven_work; /* done when this was found, but for rounding, to be the same */
};

/* ---- plans that are known ------------------------------------------------------------------ */

/* Takes the marked plan if it is the best so far, and clears the marks. */
static void try_plan(struct search *x) {
    const struct gw_arcs *arcs = &x->passes.arcs;
    double compress = 0;
    double clock = 0;
    x->trial[x->tensors] = true;
    for (size_t from = 0, to = 1; to <= x->tensors; to++) {
        if (x->trial[to]) {
            struct gw_arc arc = gw_arcs_cost(arcs, from, to);
            compress += arc.compress;
            clock = fmax(clock, arcs->ready[to] + compress) + arc.exchange;
            from = to;
        }
    }
    if (clock < x->best_time) {
        x->best_time = clock;
        memcpy(x->best, x->trial, (x->tensors + 1) * sizeof *x->best);
    }
    memset(x->trial, 0, (x->tensors + 1) * sizeof *x->trial);
}

/* Marks by tensor, as policies make them, to marks by position. */
static void try_marks(struct search *x, bool *ends) {
    for (size_t tensor = 0; tensor < x->tensors; tensor++) {
        x->trial[x->tensors - tensor] = ends[tensor];
    }
    memset(ends, 0, x->tensors * sizeof *ends);
    try_plan(x);
}

static enum gw_status try_simple_plans(struct search *x, struct gw_error *error) {
    const struct gw_model *model = x->planning->model;
    bool *ends = calloc(x->tensors, sizeof *ends);
    if (ends == NULL) {
        return gw_fail_memory(error, "planning");
    }
    enum gw_status status = gw_policy_omgs.mark(x->planning, 0, ends, error);
    try_marks(x, ends);
    for (uint64_t limit = 1; limit / 2 <= x->passes.arcs.elements[x->tensors]; limit *= 2) {
        gw_close_at(model, 1, limit, limit, ends);
        try_marks(x, ends);
    }
    free(ends);
    return status;
}

/* ---- the search ---------------------------------------------------------------------------- */

/* Whether nothing is left to find but rounding and, among equals, the fewest groups. */
static bool is_proven(const struct search *x) {
    return x->best_time - x->proven_time <= 4 * (double)(x->tensors + 1);
}

static bool is_open(const struct search *x) {
    return x->proven_time < x->best_time && x->tensors <= most_tensors &&
           x->passes.work < most_work &&
           (!is_proven(x) || x->passes.work < x->proven_work + most_work_for_groups);
}

static enum gw_status pass(struct search *x, enum gw_front_kind kind, bool forward, size_t most,
                           struct gw_error *error) {
    if (!is_open(x)) {
        return GW_OK;
    }
    double bound = 0;
    if (forward) {
        GW_TRY(gw_pass_forward(&x->passes, kind, most, x->best_time, &bound, error));
    } else {
        GW_TRY(gw_pass_backward(&x->passes, kind, most, x->best_time, &bound, error));
    }
    if (kind != GW_REAL) {
        x->proven_time = fmax(x->proven_time, fmin(bound, x->best_time));
    }
    bool traced = forward ? gw_passes_trace_back(&x->passes, kind, x->trial)
                          : gw_passes_trace_on(&x->passes, kind, x->trial);
    if (traced) {
        try_plan(x);
    }
    memset(x->trial, 0, (x->tensors + 1) * sizeof *x->trial);
    gw_passes_forget(&x->passes, GW_REAL);
    x->proven_work = is_proven(x) ? x->proven_work : x->passes.work;
    return GW_OK;
}

/*
 * Wider and wider fronts: hulls to bound and to drop arcs, real ones for better plans, and stairs,
 * which are the proof in the end.
 */
static enum gw_status search(struct search *x, struct gw_error *error) {
    size_t widest = most_pairs / x->tensors;
    size_t most = 8;
    GW_TRY(try_simple_plans(x, error));
    x->proven_time = gw_passes_least(&x->passes);
    GW_TRY(pass(x, GW_HULL, true, most, error));
    while (is_open(x)) {
        GW_TRY(pass(x, GW_HULL, false, most, error));
        GW_TRY(pass(x, GW_REAL, true, most / 2, error));
        GW_TRY(pass(x, GW_HULL, true, most, error));
        GW_TRY(pass(x, GW_REAL, false, most / 2, error));
        GW_TRY(pass(x, GW_STAIR, false, 4 * most, error));
        most = 4 * most < widest / 4 ? 4 * most : widest / 4;
    }
    return GW_OK;
}

static enum gw_status open_search(struct search *x, const struct gw_planning *planning,
                                  struct gw_error *error) {
    size_t count = planning->model->tensor_count;
    struct gw_group all = {.first = count - 1, .last = 0};
    *x = (struct search){.planning = planning,
                         .tensors = count,
                         .trial = calloc(count + 1, sizeof *x->trial),
                         .best = calloc(count + 1, sizeof *x->best),
                         .best_time = INFINITY};
    if (x->trial == NULL || x->best == NULL) {
        return gw_fail_memory(error, "planning");
    }
    return gw_passes_open(&x->passes, planning, gw_planning_iteration_s(planning, &all, 1),
                          most_work, error);
}

static void close_search(struct search *x) {
    free(x->trial);
    free(x->best);
    gw_passes_close(&x->passes);
}

/* Marks by tensor, and what is proven in seconds: INFINITY if it is that they are the best. */
static void conclude(const struct search *x, double *proven_s, bool *ends) {
    for (size_t tensor = 0; tensor < x->tensors; tensor++) {
        ends[tensor] = x->best[x->tensors - tensor];
    }
    double rounded = 2 * (double)(x->tensors + 1);
    *proven_s = is_proven(x) ? INFINITY : (x->proven_time - rounded) * x->passes.arcs.step_s;
}

static enum gw_status find(const struct gw_planning *planning, double *proven_s, bool *ends,
                           struct gw_error *error) {
    if (gw_optimal_is_dense(planning)) {
        *proven_s = INFINITY;
        return gw_optimal_dense(planning, ends, error);
    }
    struct search x;
    enum gw_status status = open_search(&x, planning, error);
    if (status == GW_OK) {
        status = search(&x, error);
    }
    if (status == GW_OK) {
        conclude(&x, proven_s, ends);
    }
    close_search(&x);
    return status;
}

/* What marked ends take, and the lower bound of *out from what is proven, INFINITY for all. */
static enum gw_status evaluate(const struct gw_planning *planning, double proven_s,
                               struct gw_optimum *out, struct gw_error *error) {
    size_t group_count = 0;
    struct gw_group *groups =
        gw_groups_ended(out->ends, planning->model->tensor_count, &group_count);
    if (groups == NULL) {
        return gw_fail_memory(error, "planning");
    }
    out->iteration_s = gw_planning_iteration_s(planning, groups, group_count);
    out->lower_bound_s = fmin(proven_s + planning->model->update_s, out->iteration_s);
    free(groups);
    return GW_OK;
}

enum gw_status gw_planner_optimum(const struct gw_planning *planning, struct gw_optimum *out,
                                  struct gw_error *error) {
    double proven_s = 0;
    *out = (struct gw_optimum){
        .ends = calloc(planning->model->tensor_count, sizeof *out->ends),
    };
    enum gw_status status = out->ends == NULL ? gw_fail_memory(error, "planning")
                                              : find(planning, &proven_s, out->ends, error);
    if (status == GW_OK) {
        status = evaluate(planning, proven_s, out, error);
    }
    if (status != GW_OK) {
        gw_optimum_free(out);
    }
    return status;
}

void gw_optimum_free(struct gw_optimum *optimum) {
    free(optimum->ends);
    *optimum = (struct gw_optimum){0};
}

static enum gw_status mark(const struct gw_planning *planning, uint64_t argument, bool *ends,
                           struct gw_error *error) {
    (void)argument;
    double proven_s = 0;
    return find(planning, &proven_s, ends, error);
}

const struct gw_policy gw_policy_optimal = {
    .name = "optimal",
    .title = "the fastest of all plans",
    .paper = "gradweave",
    .mark = mark,
};
