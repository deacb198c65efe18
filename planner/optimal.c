/*
 * The plan with the smallest iteration time of all ways to merge L tensors into groups, each of
 * which travels by one of K choices, found without trying them all; the method and its proof are in
 * docs/optimal-merging.md.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/search.h"

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

static void mark_fewest(const struct positions *x, double end, size_t *marks) {
    double limit =
        end + (double)x->tensors; /* plans that are equal but for the rounding of alpha */
    double after = 0;             /* of the exchanges behind the group */
    for (size_t q = x->tensors; q > 0;) {
        size_t p = q - 1;
        double latest = limit - x->ready[q] - x->alpha - after;
        while (p > 0 && x->transfer[q] - x->transfer[p - 1] <= latest) {
            p--;
        }
        marks[x->tensors - q] = 1;
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
static enum gw_status mark_dense(const struct gw_costs *costs, struct gw_arena *arena,
                                 size_t *marks, double *least_s, struct gw_error *error) {
    size_t count = costs->model->tensor_count;
    struct positions x = {.tensors = count,
                          .ready = gw_arena_zeros(arena, count + 1, sizeof *x.ready),
                          .transfer = gw_arena_zeros(arena, count + 1, sizeof *x.transfer),
                          .end = gw_arena_zeros(arena, count + 1, sizeof *x.end),
                          .queue = gw_arena_zeros(arena, count + 1, sizeof *x.queue)};
    GW_TRY(gw_arena_check(arena, "planning", error));
    read_positions(costs, &x);
    double end = earliest_end(&x);
    mark_fewest(&x, end, marks);
    *least_s = (end - (double)count - 4) * x.step_s;
    return GW_OK;
}

/* ---- plans that are known ------------------------------------------------------------------ */

/* Takes the plan of groups that end with those tensors, all of one choice, if it is faster than the
 * best one or the first. `trial` [tensors] is overwritten, `ends` comes out false. */
static void try_ends(const struct gw_mix *choices, size_t choice, bool *ends, size_t *trial,
                     size_t *best, double *best_s) {
    size_t count = choices->costs->model->tensor_count;
    ends[0] = true;
    for (size_t tensor = 0; tensor < count; tensor++) {
        trial[tensor] = ends[tensor] ? 1 + choice : 0;
    }
    double trial_s = gw_marks_exchanged_s(choices, trial);
    if (trial_s < *best_s || best[0] == 0) {
        *best_s = trial_s;
        memcpy(best, trial, count * sizeof *best);
    }
    memset(ends, 0, count * sizeof *ends);
}

/* Marks the fastest of all other policies' plans, and of those with groups of some size, but for
 * sizes that every tensor has: the policies have each tensor alone. */
static enum gw_status mark_simple_plan(const struct gw_mix *choices, struct gw_arena *arena,
                                       size_t *marks, struct gw_error *error) {
    const struct gw_model *model = choices->costs->model;
    uint64_t elements = gw_model_elements(model);
    uint64_t smallest = gw_model_smallest(model);
    bool *ends = gw_arena_zeros(arena, model->tensor_count, sizeof *ends);
    size_t *trial = gw_arena_zeros(arena, model->tensor_count, sizeof *trial);
    double best_s = INFINITY;
    GW_TRY(gw_arena_check(arena, "planning", error));
    for (size_t k = 0; k < choices->count; k++) {
        for (size_t i = 0; gw_policies[i].name != NULL; i++) {
            if (gw_policies[i].mark != NULL) {
                gw_policies[i].mark(&choices->costs[k], gw_policies[i].default_argument, ends);
                try_ends(choices, k, ends, trial, marks, &best_s);
            }
        }
        for (uint64_t limit = 1; limit / 2 <= elements; limit *= 2) {
            if (limit > smallest) {
                gw_close_at(model, 1, limit, limit, ends);
                try_ends(choices, k, ends, trial, marks, &best_s);
            }
        }
    }
    return GW_OK;
}

/* ---- the optimum --------------------------------------------------------------------------- */

/* Share of the time of the best plan that is known at first by which plans may differ that count as
 * equally fast where they lose energy. */
static const double equally_fast = 1e-9;

/* Sets what is known of the marked plan, and the bound of all plans; equal if they differ by
 * rounding. */
static void evaluate_plan(const struct gw_mix *choices, double least_s, double equal_s,
                          struct gw_optimum *out) {
    double update_s = gw_costs_update_s(choices->costs);
    out->iteration_s = gw_marks_exchanged_s(choices, out->marks) + update_s;
    out->lost = gw_marks_lost(choices, out->marks);
    out->lower_bound_s = fmin(fmax(least_s, 0) + update_s, out->iteration_s);
    equal_s += 5e-15 * (double)(choices->costs->model->tensor_count + 2) * out->iteration_s;
    if (out->iteration_s - out->lower_bound_s <= equal_s) {
        out->lower_bound_s = out->iteration_s;
    }
}

/* Bound on what a plan loses: every tensor by the choice that loses most of it. */
static double most_lost(const struct gw_mix *choices) {
    size_t count = choices->costs->model->tensor_count;
    double sum = 0;
    for (size_t tensor = 0; choices->lost != NULL && tensor < count; tensor++) {
        double most = 0;
        for (size_t k = 0; k < choices->count; k++) {
            most = fmax(most, choices->lost[k * count + tensor]);
        }
        sum += most;
    }
    return sum;
}

static enum gw_status find_optimum(const struct gw_mix *choices, struct gw_arena *arena,
                                   struct gw_optimum *out, struct gw_error *error) {
    double least_s = 0;
    if (choices->count == 1 && is_dense(choices->costs)) {
        GW_TRY(mark_dense(choices->costs, arena, out->marks, &least_s, error));
        evaluate_plan(choices, least_s, 0, out);
        return GW_OK;
    }
    GW_TRY(mark_simple_plan(choices, arena, out->marks, error));
    double lost = choices->count == 1 ? 0 : most_lost(choices);
    double equal_s = lost > 0 ? equally_fast * gw_marks_exchanged_s(choices, out->marks) : 0;
    double weight_s = lost > 0 ? equal_s / lost : 0;
    GW_TRY(gw_search_best(choices, weight_s, lost > 0 ? 1e-4 * equally_fast : 0, arena, out->marks,
                          &least_s, error));
    least_s -= equal_s;
    if (gw_marks_lost(choices, out->marks) > choices->most_lost) {
        GW_TRY(gw_search_within(choices, arena, out->marks, &least_s, error));
    }
    evaluate_plan(choices, least_s, 2 * equal_s, out);
    return GW_OK;
}

enum gw_status gw_planner_optimum(const struct gw_mix *choices, struct gw_optimum *out,
                                  struct gw_error *error) {
    struct gw_arena arena = {0};
    *out = (struct gw_optimum){
        .marks = calloc(choices->costs->model->tensor_count, sizeof *out->marks),
    };
    enum gw_status status = out->marks == NULL ? gw_fail_memory(error, "planning")
                                               : find_optimum(choices, &arena, out, error);
    gw_arena_free(&arena);
    if (status != GW_OK) {
        gw_optimum_free(out);
    }
    return status;
}

void gw_optimum_free(struct gw_optimum *optimum) {
    free(optimum->marks);
    *optimum = (struct gw_optimum){0};
}
