/*
 * The plan with the smallest iteration time of all 2^(L-1), found without trying them all; the
 * method and its proof are in docs/optimal-merging.md.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/search.h"

/* Limits of a search, some seconds each and most of a gigabyte; a search that reaches one ends with
 * a plan and a bound that differ. */
static const double most_work = 2.5e9;          /* pairs carried over arcs */
static const double most_work_for_groups = 2e8; /* of it, only to find fewer groups */
static const size_t most_tensors = 50000;
static const size_t most_rounds = 100; /* of passes, each of which is wider than the one before */
static const size_t most_pairs = 45000000; /* in the fronts of one pass */

struct search {
    const struct gw_costs *costs;
    size_t tensors;
    struct gw_passes passes;
    struct gw_lines lines;
    size_t passes_of_hulls;
    bool *trial;        /* a plan that is tried: [position], whether a group ends there */
    bool *best;         /* the best plan known ... */
    double best_time;   /* ... and its time in steps, without the update */
    double known_s;     /* time of the best plan that was known before the search */
    double proven_time; /* lower bound of all plans, in steps */
    double proven_work; /* work done when the bound met the best time, but for rounding */
};

/* ---- dense exchange on a straight curve --------------------------------------------------- */

/*
 * Let T(q) be the earliest time at which all tensors before position q can have been exchanged,
 * R(q) the time at which they are ready and N(q) their elements:
 *
 *     T(q) = alpha + beta N(q) + min over p < q of max(T(p), R(q)) - beta N(p).
 *
 * T and R never fall. Where T(p) <= R(q), the last such p is best; beyond it the least of
 * T(p) - beta N(p) is that of a window whose ends only move on, so that a queue of candidates finds
 * it. Then, of all plans that take T(L), the one with the fewest groups: from the last tensor back,
 * each group as long as it can be (docs/optimal-merging.md). Times are whole numbers of steps, so
 * that sums are exact in any order.
 */
struct positions {
    size_t tensors;
    double step_s; /* the unit of all times here */
    double alpha;
    double *ready;    /* [tensors + 1]: R */
    double *transfer; /* [tensors + 1]: beta N */
    double *end;      /* [tensors + 1]: T */
    size_t *queue;    /* [tensors + 1] */
};

/* Whether nothing is compressed and an exchange takes alpha + beta * bytes. */
static bool is_dense(const struct gw_costs *costs) {
    return !gw_costs_compress(costs) && !costs->by_legs && costs->exchange.point_count == 0 &&
           costs->exchange.per_nlog2n_s == 0;
}

static double earliest_end(struct positions *x) {
    size_t ready = 0; /* the last position whose exchange ends before the next one is ready */
    size_t head = 0;
    size_t tail = 0;
    for (size_t q = 1; q <= x->tensors; q++) {
        while (ready + 1 < q && x->end[ready + 1] <= x->ready[q]) {
            ready++;
        }
        while (head < tail && x->queue[head] <= ready) {
            head++;
        }
        double best = x->ready[q] - x->transfer[ready];
        if (head < tail) {
            size_t p = x->queue[head];
            best = fmin(best, x->end[p] - x->transfer[p]);
        }
        x->end[q] = x->alpha + x->transfer[q] + best;
        double left = x->end[q] - x->transfer[q];
        while (head < tail &&
               x->end[x->queue[tail - 1]] - x->transfer[x->queue[tail - 1]] >= left) {
            tail--;
        }
        x->queue[tail++] = q;
    }
    return x->end[x->tensors];
}

static void mark_fewest(const struct positions *x, double end, bool *ends) {
    double limit =
        end + (double)x->tensors; /* plans that are equal but for the rounding of alpha */
    double after = 0;             /* of the exchanges behind the group */
    for (size_t q = x->tensors; q > 0;) {
        size_t p = q - 1;
        double latest = limit - x->ready[q] - x->alpha - after;
        while (p > 0 && x->transfer[q] - x->transfer[p - 1] <= latest) {
            p--;
        }
        ends[x->tensors - q] = true;
        after += x->alpha + x->transfer[q] - x->transfer[p];
        q = p;
    }
}

static void read_positions(const struct gw_costs *costs, struct positions *x) {
    const struct gw_model *model = costs->model;
    uint64_t elements = 0;
    x->ready[0] = gw_model_ahead_s(model);
    for (size_t p = 0; p < x->tensors; p++) {
        const struct gw_tensor *tensor = &model->tensors[x->tensors - 1 - p];
        elements += tensor->elements;
        x->ready[p + 1] = x->ready[p] + tensor->backward_s;
        x->transfer[p + 1] = costs->exchange.per_unit_s * (double)gw_costs_bytes(costs, elements);
    }
    /* One group, which takes less than twice as long as the best plan, is less than 2^53 steps. */
    double single_s = x->ready[x->tensors] + costs->exchange.fixed_s + x->transfer[x->tensors];
    int exponent = 0;
    (void)frexp(fmin(single_s, DBL_MAX), &exponent);
    x->step_s = ldexp(1, exponent > -900 ? exponent - 53 : -953);
    x->alpha = ceil(costs->exchange.fixed_s / x->step_s);
    for (size_t p = 0; p <= x->tensors; p++) {
        x->ready[p] = ceil(x->ready[p] / x->step_s);
        x->transfer[p] = ceil(x->transfer[p] / x->step_s);
    }
}

/* *least_s: lower bound of all plans, in seconds, without the update. O(tensors). */
static enum gw_status mark_dense(const struct gw_costs *costs, struct gw_arena *arena, bool *ends,
                                 double *least_s, struct gw_error *error) {
    size_t count = costs->model->tensor_count;
    struct positions x = {.tensors = count,
                          .ready = gw_arena_zeros(arena, count + 1, sizeof *x.ready),
                          .transfer = gw_arena_zeros(arena, count + 1, sizeof *x.transfer),
                          .end = gw_arena_zeros(arena, count + 1, sizeof *x.end),
                          .queue = gw_arena_zeros(arena, count + 1, sizeof *x.queue)};
    GW_TRY(gw_arena_check(arena, "planning", error));
    read_positions(costs, &x);
    double end = earliest_end(&x);
    mark_fewest(&x, end, ends);
    *least_s = (end - (double)count - 4) * x.step_s;
    return GW_OK;
}

/* ---- plans that are known ------------------------------------------------------------------ */

/* Takes the plan with those marks, by tensor, if it takes less than *best_s (without the update) or
 * is the first. */
static void try_marks(const struct gw_costs *costs, bool *ends, bool *best, double *best_s) {
    size_t tensor_count = costs->model->tensor_count;
    ends[0] = true;
    double time_s = gw_marks_exchanged_s(costs, ends);
    if (time_s < *best_s || !best[0]) {
        *best_s = time_s;
        memcpy(best, ends, tensor_count * sizeof *best);
    }
    memset(ends, 0, tensor_count * sizeof *ends);
}

/* Marks the best of all other policies' plans, and of those with groups of some size, but for sizes
 * that every tensor has: the policies have each tensor alone. */
static void mark_simple_plan(const struct gw_costs *costs, bool *ends, bool *best, double *best_s) {
    uint64_t elements = gw_model_elements(costs->model);
    uint64_t smallest = gw_model_smallest(costs->model);
    for (size_t i = 0; gw_policies[i].name != NULL; i++) {
        if (gw_policies[i].mark != NULL) {
            gw_policies[i].mark(costs, gw_policies[i].default_argument, ends);
            try_marks(costs, ends, best, best_s);
        }
    }
    for (uint64_t limit = 1; limit / 2 <= elements; limit *= 2) {
        if (limit > smallest) {
            gw_close_at(costs->model, 1, limit, limit, ends);
            try_marks(costs, ends, best, best_s);
        }
    }
}

/* Takes the plan that is tried if it is the best so far, and forgets it. */
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
    if (clock < x->best_time || !x->best[x->tensors]) {
        x->best_time = clock;
        memcpy(x->best, x->trial, (x->tensors + 1) * sizeof *x->best);
    }
    memset(x->trial, 0, (x->tensors + 1) * sizeof *x->trial);
}

/* ---- the search ---------------------------------------------------------------------------- */

/* Largest error of a plan's time, in steps: each group's two costs, and one position, are rounded
 * up. */
static double most_rounding(size_t tensors) {
    return (gw_arcs_tie_break + 1) * (double)(tensors + 2);
}

/* Whether nothing is left to find but rounding and, among equals, the fewest groups. */
static bool is_proven(const struct search *x) {
    return x->best_time - x->proven_time <= most_rounding(x->tensors);
}

/* Whether steps are too long for the best plan found since they were chosen. */
static bool is_coarse(const struct search *x) {
    return x->best_time * x->passes.arcs.step_s < x->known_s / 4;
}

static bool is_open(const struct search *x) {
    return x->proven_time < x->best_time && !is_coarse(x) && x->tensors <= most_tensors &&
           x->passes.work < most_work &&
           (!is_proven(x) || x->passes.work < x->proven_work + most_work_for_groups);
}

/* Makes a pass, if there is need for it, and tries the plan that its fronts lead to. */
static enum gw_status run_pass(struct search *x, enum gw_front_kind kind, bool forward, size_t most,
                               struct gw_error *error) {
    if (!is_open(x)) {
        return GW_OK;
    }
    double bound = 0;
    if (kind == GW_HULL) {
        GW_TRY(gw_pass_of_lines(&x->lines, &x->passes, forward, x->best_time, &bound, error));
    } else {
        GW_TRY(forward ? gw_pass_forward(&x->passes, most, x->best_time, error)
                       : gw_pass_backward(&x->passes, kind, most, x->best_time, &bound, error));
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

/* Makes a pass with hulls; from the third one on with weights by the lines of earlier ones. */
static enum gw_status pass_of_hulls(struct search *x, bool forward, size_t most_weights,
                                    struct gw_error *error) {
    if (is_open(x) && x->passes_of_hulls++ >= 2) {
        GW_TRY(gw_lines_refine(&x->lines, most_weights, error));
    }
    return run_pass(x, GW_HULL, forward, 0, error);
}

/* Makes hulls forward and backward with better and better weights, as long as each round halves the
 * gap between plan and bound. */
static enum gw_status bound_from_below(struct search *x, size_t most_weights,
                                       struct gw_error *error) {
    double gap = INFINITY;
    for (size_t round = 0;
         round < most_rounds && is_open(x) && x->best_time - x->proven_time < gap / 2; round++) {
        gap = x->best_time - x->proven_time;
        GW_TRY(pass_of_hulls(x, true, most_weights, error));
        GW_TRY(pass_of_hulls(x, false, most_weights, error));
    }
    return GW_OK;
}

/*
 * Makes rounds of wider and wider fronts: hulls bound all plans and drop arcs, real fronts find
 * better plans, and stairs prove the optimum in the end.
 */
static enum gw_status pass_by_pass(struct search *x, struct gw_error *error) {
    size_t widest = most_pairs / (x->tensors + 1);
    size_t weights = 12;
    size_t stairs = 32;
    for (size_t round = 0; round < most_rounds && is_open(x); round++) {
        GW_TRY(bound_from_below(x, weights, error));
        GW_TRY(run_pass(x, GW_REAL, true, stairs / 8, error));
        GW_TRY(pass_of_hulls(x, true, weights, error));
        GW_TRY(run_pass(x, GW_REAL, false, stairs / 8, error));
        GW_TRY(run_pass(x, GW_STAIR, false, stairs, error));
        weights = 2 * weights < GW_MAX_WEIGHTS ? 2 * weights : GW_MAX_WEIGHTS;
        stairs = 4 * stairs < widest ? 4 * stairs : widest;
    }
    return GW_OK;
}

/* Searches in steps that suit a plan of x->known_s, the marks of which come and go in `ends`. */
static enum gw_status search_plans(struct search *x, bool *ends, struct gw_error *error) {
    GW_TRY(gw_passes_open(&x->passes, x->costs, x->known_s, most_work, error));
    GW_TRY(gw_lines_open(&x->lines, &x->passes, error));
    for (size_t tensor = 0; tensor < x->tensors; tensor++) {
        x->trial[x->tensors - tensor] = ends[tensor];
    }
    x->passes_of_hulls = 0;
    x->best_time = INFINITY;
    try_plan(x);
    x->proven_time = gw_passes_least(&x->passes);
    x->proven_work = 0;
    GW_TRY(pass_by_pass(x, error));
    for (size_t tensor = 0; tensor < x->tensors; tensor++) {
        ends[tensor] = x->best[x->tensors - tensor];
    }
    return GW_OK;
}

/* Improves the marked plan, which takes `known_s`. *least_s: lower bound of all plans. */
static enum gw_status search_from(const struct gw_costs *costs, double known_s,
                                  struct gw_arena *arena, bool *ends, double *least_s,
                                  struct gw_error *error) {
    size_t count = costs->model->tensor_count;
    struct search x = {.costs = costs,
                       .tensors = count,
                       .trial = gw_arena_zeros(arena, count + 1, sizeof *x.trial),
                       .best = gw_arena_zeros(arena, count + 1, sizeof *x.best),
                       .known_s = known_s};
    enum gw_status status = gw_arena_check(arena, "planning", error);
    for (bool coarse = true; coarse && status == GW_OK;) {
        status = search_plans(&x, ends, error);
        coarse = status == GW_OK && is_coarse(&x);
        *least_s = (x.proven_time - most_rounding(count)) * x.passes.arcs.step_s;
        x.known_s = x.best_time * x.passes.arcs.step_s;
        gw_passes_close(&x.passes);
        gw_lines_close(&x.lines);
    }
    return status;
}

/* Marks the best plan. *least_s: lower bound of all plans, in seconds, without the update. */
static enum gw_status mark_fastest(const struct gw_costs *costs, struct gw_arena *arena, bool *ends,
                                   double *least_s, struct gw_error *error) {
    if (is_dense(costs)) {
        return mark_dense(costs, arena, ends, least_s, error);
    }
    bool *trial = gw_arena_zeros(arena, costs->model->tensor_count, sizeof *trial);
    double known_s = INFINITY;
    GW_TRY(gw_arena_check(arena, "planning", error));
    mark_simple_plan(costs, trial, ends, &known_s);
    return search_from(costs, known_s, arena, ends, least_s, error);
}

/* Sets the marked plan's time and the bound of all plans; equal if they differ by rounding. */
static void evaluate_plan(const struct gw_costs *costs, double least_s, struct gw_optimum *out) {
    double equal = 5e-15 * (double)(costs->model->tensor_count + 2);
    out->iteration_s = gw_marks_iteration_s(costs, out->ends);
    out->lower_bound_s = fmin(fmax(least_s, 0) + gw_costs_update_s(costs), out->iteration_s);
    if (out->iteration_s - out->lower_bound_s <= equal * out->iteration_s) {
        out->lower_bound_s = out->iteration_s;
    }
}

enum gw_status gw_planner_optimum(const struct gw_costs *costs, struct gw_optimum *out,
                                  struct gw_error *error) {
    struct gw_arena arena = {0};
    double least_s = 0;
    *out = (struct gw_optimum){
        .ends = calloc(costs->model->tensor_count, sizeof *out->ends),
    };
    enum gw_status status = out->ends == NULL
                                ? gw_fail_memory(error, "planning")
                                : mark_fastest(costs, &arena, out->ends, &least_s, error);
    gw_arena_free(&arena);
    if (status == GW_OK) {
        evaluate_plan(costs, least_s, out);
    } else {
        gw_optimum_free(out);
    }
    return status;
}

void gw_optimum_free(struct gw_optimum *optimum) {
    free(optimum->ends);
    *optimum = (struct gw_optimum){0};
}
