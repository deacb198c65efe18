/*
 * The fastest plan that loses no more of the gradient's energy than it may, by Lagrange's
 * relaxation: plans that are best for a weight of what they lose, the weight that tells most, and
 * changes to single groups of them (docs/optimal-merging.md).
 */
#include "planner/search.h"

#include <math.h>
#include <string.h>

struct weighed_plan {
    size_t *marks; /* [tensors] */
    double time_s, lost;
};

struct place;

struct within {
    const struct gw_mix *choices;
    size_t tensors;
    struct gw_arena *arena;
    struct weighed_plan fast; /* loses too much, ... */
    struct weighed_plan
        kept; /* ... and one that does not; both are best for some weight, or first */
    struct weighed_plan best; /* the fastest known that does not lose too much */
    struct weighed_plan crossed;
    struct place *places; /* [tensors] */
    double least_s;       /* lower bound of the time of plans that do not lose too much */
};

/* Share of the time by which a plan that is found may miss the bound. */
static const double close_enough = 1e-6;
static const size_t most_weights = 40;

static void weigh(const struct gw_mix *choices, struct weighed_plan *plan) {
    plan->time_s = gw_marks_exchanged_s(choices, plan->marks);
    plan->lost = gw_marks_lost(choices, plan->marks);
}

static void copy_plan(const struct within *x, const struct weighed_plan *from,
                      struct weighed_plan *to) {
    memcpy(to->marks, from->marks, x->tensors * sizeof *to->marks);
    to->time_s = from->time_s;
    to->lost = from->lost;
}

/* ---- changes to single groups -------------------------------------------------------------- */

/* A group of a plan, and the plan without it: what is done before, and what is left to do after. */
struct place {
    size_t last; /* its tensor with which it ends */
    struct gw_size size;
    double ready_s;                          /* without any compression */
    double compressed_s, exchanged_s;        /* compression and clock before it */
    double left_compress_s, left_exchange_s; /* (3) in docs/optimal-merging.md */
};

static double group_lost(const struct within *x, const struct place *place, size_t choice) {
    double lost = 0;
    for (size_t i = 0; i < place->size.tensors; i++) {
        lost += x->choices->lost[choice * x->tensors + place->last + i];
    }
    return lost;
}

/* Time of the plan with the group by a choice. */
static double time_with(const struct within *x, const struct place *place, size_t choice) {
    const struct gw_costs *costs = &x->choices->costs[choice];
    double compressed_s = place->compressed_s + gw_costs_compress_s(costs, place->size.elements);
    double end_s = fmax(place->exchanged_s, place->ready_s + compressed_s) +
                   gw_costs_exchange_s(costs, &place->size);
    return fmax(compressed_s + place->left_compress_s, end_s + place->left_exchange_s);
}

/* Returns how many groups there are. */
static size_t find_places(const struct within *x, const struct weighed_plan *plan,
                          struct place *places) {
    const struct gw_model *model = x->choices->costs->model;
    size_t count = 0;
    struct place at = {.ready_s = gw_model_ahead_s(model)};
    for (size_t tensor = x->tensors; tensor-- > 0;) {
        gw_costs_add_tensor(x->choices->costs, tensor, &at.size);
        at.ready_s += model->tensors[tensor].backward_s;
        if (plan->marks[tensor] > 0) {
            const struct gw_costs *costs = &x->choices->costs[plan->marks[tensor] - 1];
            at.last = tensor;
            places[count++] = at;
            at.compressed_s += gw_costs_compress_s(costs, at.size.elements);
            at.exchanged_s = fmax(at.exchanged_s, at.ready_s + at.compressed_s) +
                             gw_costs_exchange_s(costs, &at.size);
            at.size = (struct gw_size){0};
        }
    }
    double compress_s = -INFINITY;
    double exchange_s = 0;
    for (size_t g = count; g-- > 0;) {
        struct place *place = &places[g];
        const struct gw_costs *costs = &x->choices->costs[plan->marks[place->last] - 1];
        place->left_compress_s = compress_s;
        place->left_exchange_s = exchange_s;
        exchange_s += gw_costs_exchange_s(costs, &place->size);
        compress_s = gw_costs_compress_s(costs, place->size.elements) +
                     fmax(compress_s, place->ready_s + exchange_s);
    }
    return count;
}

/*
 * Changes the choices of single groups, one after the other: while the plan loses too much the one
 * that costs least for what it loses less, and then the one that is fastest without losing too
 * much.
 */
static void change_groups(struct within *x, struct weighed_plan *plan) {
    double most = x->choices->most_lost;
    for (size_t changes = 0; changes < 4 * x->tensors; changes++) {
        size_t count = find_places(x, plan, x->places);
        bool loses = plan->lost > most;
        double best = loses ? INFINITY : plan->time_s * (1 - 1e-12);
        size_t *mark = NULL;
        size_t choice = 0;
        for (size_t g = 0; g < count; g++) {
            const struct place *place = &x->places[g];
            double before = group_lost(x, place, plan->marks[place->last] - 1);
            for (size_t k = 0; k < x->choices->count; k++) {
                double less = before - group_lost(x, place, k);
                double time_s = time_with(x, place, k);
                double value =
                    loses ? (time_s - plan->time_s) / fmin(less, plan->lost - most) : time_s;
                bool allowed = loses ? less > 0 : plan->lost - less <= most;
                if (allowed && value < best) {
                    best = value;
                    mark = &plan->marks[place->last];
                    choice = k;
                }
            }
        }
        if (mark == NULL) {
            return;
        }
        *mark = 1 + choice;
        weigh(x->choices, plan);
    }
}

/* Makes a plan that does not lose too much of one that is near, and keeps it if it is the best. */
static void try_near(struct within *x, struct weighed_plan *plan) {
    change_groups(x, plan);
    if (plan->lost <= x->choices->most_lost && plan->time_s < x->best.time_s) {
        copy_plan(x, plan, &x->best);
    }
}

/* ---- halves of two plans ------------------------------------------------------------------- */

/* Tries the plans that begin as one and go on as another, from each tensor on. */
static void cross_plans(struct within *x, const struct weighed_plan *begin,
                        const struct weighed_plan *rest, struct weighed_plan *trial) {
    struct weighed_plan *best = &x->crossed;
    best->time_s = INFINITY;
    copy_plan(x, rest, trial);
    for (size_t tensor = x->tensors; tensor-- > 1;) {
        size_t last = tensor; /* of the group of `begin` that is cut off here */
        while (begin->marks[last] == 0) {
            last--;
        }
        trial->marks[tensor] = begin->marks[last];
        weigh(x->choices, trial);
        if (trial->lost <= x->choices->most_lost && trial->time_s < best->time_s) {
            copy_plan(x, trial, best);
        }
        trial->marks[tensor] = begin->marks[tensor];
    }
    if (isfinite(best->time_s)) {
        try_near(x, best);
    }
}

/* ---- weights ------------------------------------------------------------------------------- */

/* Marks every tensor alone, by the choice that loses least of it. */
static enum gw_status keep_most(struct within *x, struct gw_error *error) {
    for (size_t tensor = 0; tensor < x->tensors; tensor++) {
        size_t best = 0;
        for (size_t k = 1; k < x->choices->count; k++) {
            const double *lost = x->choices->lost + tensor;
            best = lost[k * x->tensors] < lost[best * x->tensors] ? k : best;
        }
        x->kept.marks[tensor] = 1 + best;
    }
    weigh(x->choices, &x->kept);
    if (x->kept.lost > x->choices->most_lost) {
        return gw_fail(
            error, GW_BAD_INPUT,
            "energy kept: expected at most %.6g, the most that these choices keep; got %.6g",
            1 - x->kept.lost, 1 - x->choices->most_lost);
    }
    return GW_OK;
}

/* Searches with the weight by which x->fast and x->kept are equal; tells if another is better. */
static enum gw_status turn_weight(struct within *x, struct weighed_plan *trial, bool *found,
                                  struct gw_error *error) {
    double weight_s = (x->kept.time_s - x->fast.time_s) / (x->fast.lost - x->kept.lost);
    double value_s = x->kept.time_s + weight_s * x->kept.lost;
    double least_s = 0;
    copy_plan(x, &x->kept, trial);
    GW_TRY(gw_search_best(x->choices, weight_s, close_enough / 10, x->arena, trial->marks, &least_s,
                          error));
    weigh(x->choices, trial);
    x->least_s = fmax(x->least_s, least_s - weight_s * x->choices->most_lost);
    *found = trial->time_s + weight_s * trial->lost < value_s * (1 - close_enough / 10);
    if (*found) {
        copy_plan(x, trial, trial->lost > x->choices->most_lost ? &x->fast : &x->kept);
    }
    return GW_OK;
}

enum gw_status gw_search_within(const struct gw_mix *choices, struct gw_arena *arena, size_t *marks,
                                double *least_s, struct gw_error *error) {
    size_t count = choices->costs->model->tensor_count;
    struct within x = {.choices = choices, .tensors = count, .arena = arena, .least_s = *least_s};
    struct weighed_plan trial = {0};
    struct weighed_plan *plans[] = {&x.fast, &x.kept, &x.best, &x.crossed, &trial};
    x.places = gw_arena_zeros(arena, count, sizeof *x.places);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        plans[i]->marks = gw_arena_zeros(arena, count, sizeof *plans[i]->marks);
    }
    GW_TRY(gw_arena_check(arena, "planning", error));
    GW_TRY(keep_most(&x, error));
    copy_plan(&x, &x.kept, &x.best);
    memcpy(x.fast.marks, marks, count * sizeof *marks);
    weigh(choices, &x.fast);
    bool found = true;
    for (size_t i = 0;
         i < most_weights && found && x.best.time_s - x.least_s > close_enough * x.best.time_s;
         i++) {
        GW_TRY(turn_weight(&x, &trial, &found, error));
        try_near(&x, &trial);
    }
    cross_plans(&x, &x.fast, &x.kept, &trial);
    cross_plans(&x, &x.kept, &x.fast, &trial);
    memcpy(marks, x.best.marks, count * sizeof *marks);
    *least_s = x.least_s;
    return GW_OK;
}
