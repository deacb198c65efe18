/*
 * The fastest plan that loses no more of the gradient's energy than it may. Plans that are best for
 * a weight of what they lose give a bound of all plans (Lagrange's relaxation); labels, which unite
 * beginnings of plans that are nearly alike, close the gap (docs/optimal-merging.md).
 */
#include "planner/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Share of the time by which a plan that is found may miss the bound, ... */
static const double close_enough = 1e-9;
static const double close_by_weight = 1e-4; /* ... and one that is best for a weight */
static const size_t most_weights = 40;

/* Limits of the search with labels: of those carried over arcs, about a second of them and more for
 * each arc, and of those in memory. */
static const double most_carried = 2e7;
static const double most_carried_by_arc = 20;
static const size_t most_labels = 2000000;

/* ---- labels ---------------------------------------------------------------------------------- */

/* A beginning of a plan, in steps of struct gw_arcs. */
struct beginning {
    double compress, clock; /* A and T, without what is lost */
    double lost;            /* times the weight */
};

/* Beginnings that were united. */
struct label {
    struct beginning least; /* none of them has less */
    struct beginning real;  /* one of them: its last group ... */
    uint32_t from, before;  /* ... begins at position `from`, after that label there, ... */
    uint32_t choice;        /* ... and goes by that choice */
    double merit;           /* of `real`, the less the better: see judge */
    uint64_t cell;          /* beginnings of the same cell are united */
};

struct labels {
    size_t count, capacity;
    struct label *at;
};

struct label_search {
    struct gw_passes passes; /* with the weight; their backward hulls bound rests of plans */
    struct gw_lines lines;
    size_t tensors;
    double most_lost;               /* times the weight, rounded up */
    double limit;                   /* plans that take less are searched for */
    double *least_rest, *most_rest; /* [tensors + 1]: what a rest loses, times the weight */
    double cell;                    /* size of cells, of what is compressed and of what is lost */
    struct labels *labels;          /* [tensors + 1] */
    uint32_t *slots;                /* [slot_count]: hash table, 1 + the label of a cell, or 0 */
    size_t slot_count;              /* a power of two */
    bool *used;       /* [arcs.stored_count]: whether a label went over that arc in this pass;
                         NULL: arcs are not stored */
    uint32_t *stairs; /* see unite_dominated */
    size_t stairs_capacity;
    double carried, most_carried; /* labels over arcs, and how many may */
    size_t kept;                  /* labels of this pass */
};

/* Lower bound of plans that begin so and do not lose too much; INFINITY: there are none. */
static double promise(const struct label_search *x, size_t position,
                      const struct beginning *begun) {
    if (begun->lost + x->least_rest[position] > x->most_lost) {
        return INFINITY;
    }
    double weighed = gw_hull_complete(&x->passes.backward[GW_HULL][position],
                                      begun->compress + begun->lost, begun->clock + begun->lost);
    return weighed * (1 - gw_passes_slack(&x->passes)) - x->most_lost;
}

/* Adds the group of an arc by (1) in docs/optimal-merging.md. Raises losses to the most that any
 * rest can follow, as smaller ones are worth no more. */
static struct beginning add_group(const struct label_search *x, const struct beginning *begun,
                                  const struct gw_arc *arc, double lost) {
    double compress = begun->compress + arc->compress - lost;
    double clock = fmax(begun->clock, x->passes.arcs.ready[arc->to] + compress);
    return (struct beginning){compress, clock + arc->exchange - lost,
                              fmax(begun->lost + lost, x->most_lost - x->most_rest[arc->to])};
}

static uint32_t *find_slot(const struct label_search *x, const struct labels *labels,
                           uint64_t cell) {
    size_t slot = (size_t)((cell * 0x9e3779b97f4a7c15u) >> 32) & (x->slot_count - 1);
    while (x->slots[slot] > 0 && labels->at[x->slots[slot] - 1].cell != cell) {
        slot = (slot + 1) & (x->slot_count - 1);
    }
    return &x->slots[slot];
}

/* Doubles the hash table if that many labels would fill more than half of it. */
static enum gw_status reserve_slots(struct label_search *x, const struct labels *labels,
                                    struct gw_error *error) {
    if (2 * (labels->count + 1) <= x->slot_count) {
        return GW_OK;
    }
    free(x->slots);
    x->slot_count = x->slot_count == 0 ? 1024 : 2 * x->slot_count;
    x->slots = calloc(x->slot_count, sizeof *x->slots);
    if (x->slots == NULL) {
        return gw_fail_memory(error, "planning");
    }
    for (size_t i = 0; i < labels->count; i++) {
        *find_slot(x, labels, labels->at[i].cell) = (uint32_t)i + 1;
    }
    return GW_OK;
}

/*
 * The bound of plans that begin so and, where bounds are equal, their costs: a hull may promise the
 * same of an earlier clock as of a later one, though a rest that loses less needs the earlier one.
 */
static double judge(const struct label_search *x, size_t position, const struct beginning *begun) {
    static const double least_share = 1e-6; /* bounds that differ decide */
    return promise(x, position, begun) +
           least_share * (begun->compress + begun->clock + begun->lost);
}

/* Takes the real beginning of the other label if it is better. */
static void take_better(struct label *label, const struct label *other) {
    if (other->merit < label->merit) {
        struct beginning least = label->least;
        *label = *other;
        label->least = least;
    }
}

/* Adds a label to those of a position, or unites it with that of its cell. */
static enum gw_status add_label(struct label_search *x, struct labels *labels,
                                const struct label *label, struct gw_error *error) {
    GW_TRY(reserve_slots(x, labels, error));
    uint32_t *slot = find_slot(x, labels, label->cell);
    if (*slot == 0) {
        GW_GROW(labels->at, labels->count + 1, labels->capacity, "planning", error);
        labels->at[labels->count++] = *label;
        *slot = (uint32_t)labels->count;
        return GW_OK;
    }
    struct label *old = &labels->at[*slot - 1];
    old->least = (struct beginning){fmin(old->least.compress, label->least.compress),
                                    fmin(old->least.clock, label->least.clock),
                                    fmin(old->least.lost, label->least.lost)};
    take_better(old, label);
    return GW_OK;
}

/* Carries the labels of the arc's beginning over it. */
static enum gw_status carry_labels(struct label_search *x, size_t from, const struct gw_arc *arc,
                                   struct gw_error *error) {
    size_t to = arc->to;
    double lost = x->passes.arcs.ready[to] - gw_arcs_ready(&x->passes.arcs, from, arc);
    for (size_t i = 0; i < x->labels[from].count; i++) {
        const struct label *before = &x->labels[from].at[i];
        struct label next = {.least = add_group(x, &before->least, arc, lost),
                             .real = add_group(x, &before->real, arc, lost),
                             .from = (uint32_t)from,
                             .before = (uint32_t)i,
                             .choice = arc->choice};
        if (promise(x, to, &next.least) >= x->limit) {
            continue;
        }
        if (x->used != NULL) {
            x->used[arc - x->passes.arcs.stored] = true;
        }
        next.merit = judge(x, to, &next.real);
        next.cell =
            (uint64_t)(next.least.lost / x->cell) << 32 | (uint64_t)(next.least.compress / x->cell);
        GW_TRY(add_label(x, &x->labels[to], &next, error));
    }
    x->carried += (double)x->labels[from].count;
    return GW_OK;
}

static int by_loss(const void *a, const void *b) {
    const struct beginning *x = &((const struct label *)a)->least;
    const struct beginning *y = &((const struct label *)b)->least;
    if (x->lost != y->lost) {
        return x->lost < y->lost ? -1 : 1;
    }
    if (x->compress != y->compress) {
        return x->compress < y->compress ? -1 : 1;
    }
    return x->clock < y->clock ? -1 : x->clock > y->clock;
}

/* Unites labels with those that are at least as good in compression, clock and loss. */
static enum gw_status unite_dominated(struct label_search *x, struct labels *labels,
                                      struct gw_error *error) {
    size_t kept = 0;
    size_t steps = 0; /* of the labels so far those that no other dominates, by compression */
    GW_GROW(x->stairs, labels->count + 1, x->stairs_capacity, "planning", error);
    if (labels->count > 0) {
        qsort(labels->at, labels->count, sizeof *labels->at, by_loss);
    }
    for (size_t i = 0; i < labels->count; i++) {
        const struct label next = labels->at[i];
        size_t low = 0;
        for (size_t high = steps; low < high;) {
            size_t middle = low + (high - low) / 2;
            bool before = labels->at[x->stairs[middle]].least.compress <= next.least.compress;
            low = before ? middle + 1 : low;
            high = before ? high : middle;
        }
        if (low > 0 && labels->at[x->stairs[low - 1]].least.clock <= next.least.clock) {
            take_better(&labels->at[x->stairs[low - 1]], &next);
            continue;
        }
        size_t end = low;
        while (end < steps && labels->at[x->stairs[end]].least.clock >= next.least.clock) {
            end++;
        }
        memmove(&x->stairs[low + 1], &x->stairs[end], (steps - end) * sizeof *x->stairs);
        steps = steps - end + low + 1;
        x->stairs[low] = (uint32_t)kept;
        labels->at[kept++] = next;
    }
    labels->count = kept;
    x->kept += kept;
    return GW_OK;
}

static bool is_spent(const struct label_search *x) {
    return x->carried > x->most_carried || x->kept > most_labels;
}

/* Drops the arcs that no label went over: finer ones would not either. */
static enum gw_status drop_unused(struct label_search *x, struct gw_error *error) {
    static const struct gw_front_pair start = {0, 0};
    struct gw_arcs *arcs = &x->passes.arcs;
    gw_arcs_begin_pass(arcs, true);
    for (size_t p = 0; p < x->tensors; p++) {
        struct gw_arc *row = NULL;
        size_t count = gw_arcs_row(arcs, p, start, INFINITY, &row);
        size_t kept = 0;
        for (size_t i = 0; i < count; i++) {
            if (x->used[&row[i] - arcs->stored]) {
                row[kept++] = row[i];
            }
        }
        GW_TRY(gw_arcs_keep(arcs, p, row, kept, error));
    }
    gw_arcs_end_pass(arcs);
    return GW_OK;
}

/* Makes the labels of all positions, unless it is too much work. */
static enum gw_status pass_labels(struct label_search *x, struct gw_error *error) {
    x->kept = 0;
    free(x->used);
    x->used = NULL;
    if (x->passes.arcs.storage == GW_ARCS_STORED) {
        x->used = calloc(x->passes.arcs.stored_count + 1, sizeof *x->used);
        if (x->used == NULL) {
            return gw_fail_memory(error, "planning");
        }
    }
    for (size_t to = 1; to <= x->tensors && !is_spent(x); to++) {
        x->labels[to].count = 0;
        memset(x->slots, 0, x->slot_count * sizeof *x->slots);
        for (size_t from = to; from-- > 0 && to - from <= x->passes.arcs.longest;) {
            const struct gw_arc *arc = NULL;
            size_t count =
                x->labels[from].count == 0 ? 0 : gw_arcs_find(&x->passes.arcs, from, to, &arc);
            for (; count > 0; count--, arc++) {
                GW_TRY(carry_labels(x, from, arc, error));
            }
        }
        GW_TRY(unite_dominated(x, &x->labels[to], error));
    }
    return is_spent(x) || x->used == NULL ? GW_OK : drop_unused(x, error);
}

/* Follows the label that ends first back to the beginning; returns whether there is any. */
static bool trace_labels(const struct label_search *x, size_t *marks) {
    const struct label *best = NULL;
    const struct labels *last = &x->labels[x->tensors];
    for (size_t i = 0; i < last->count; i++) {
        if (isfinite(last->at[i].merit) &&
            (best == NULL || last->at[i].real.clock < best->real.clock)) {
            best = &last->at[i];
        }
    }
    if (best == NULL) {
        return false;
    }
    memset(marks, 0, x->tensors * sizeof *marks);
    for (size_t to = x->tensors; to > 0; to = best->from, best = &x->labels[to].at[best->before]) {
        marks[x->tensors - to] = 1 + best->choice;
    }
    return true;
}

/* The least that the rest of a plan may lose from each position on, and the most. */
static void bound_losses(struct label_search *x) {
    const struct gw_arcs *arcs = &x->passes.arcs;
    for (size_t p = x->tensors; p-- > 0;) {
        double least = INFINITY;
        double most = 0;
        for (size_t k = 0; k < arcs->choices->count; k++) {
            const double *sum = arcs->lost + k * (x->tensors + 1) + p;
            least = fmin(least, sum[1] - sum[0]);
            most = fmax(most, sum[1] - sum[0]);
        }
        x->least_rest[p] = x->least_rest[p + 1] + least;
        x->most_rest[p] = x->most_rest[p + 1] + most;
    }
}

static enum gw_status open_labels(struct label_search *x, const struct gw_mix *choices,
                                  double weight_s, double known_s, struct gw_arena *arena,
                                  struct gw_error *error) {
    GW_TRY(gw_passes_open(&x->passes, choices, weight_s, known_s + weight_s * choices->most_lost,
                          INFINITY, error));
    GW_TRY(gw_lines_open(&x->lines, &x->passes, error));
    x->tensors = x->passes.tensors;
    double tensors = (double)x->tensors;
    x->most_carried =
        most_carried + most_carried_by_arc * tensors * tensors / 2 * (double)choices->count;
    x->most_lost =
        ceil(choices->most_lost * weight_s * x->passes.arcs.steps_per_s) + (double)x->tensors;
    x->least_rest = gw_arena_zeros(arena, x->tensors + 1, sizeof *x->least_rest);
    x->most_rest = gw_arena_zeros(arena, x->tensors + 1, sizeof *x->most_rest);
    x->labels = gw_arena_zeros(arena, x->tensors + 1, sizeof *x->labels);
    GW_TRY(gw_arena_check(arena, "planning", error));
    bound_losses(x);
    const struct label start = {0};
    return add_label(x, &x->labels[0], &start, error);
}

static void close_labels(struct label_search *x) {
    for (size_t p = 0; x->labels != NULL && p <= x->tensors; p++) {
        free(x->labels[p].at);
    }
    free(x->slots);
    free(x->used);
    free(x->stairs);
    gw_lines_close(&x->lines);
    gw_passes_close(&x->passes);
}

/* ---- weights --------------------------------------------------------------------------------- */

struct weighed_plan {
    size_t *marks; /* [tensors] */
    double time_s, lost;
};

struct within {
    const struct gw_mix *choices;
    size_t tensors;
    struct gw_arena *arena;
    struct weighed_plan fast;  /* loses too much, ... */
    struct weighed_plan kept;  /* ... and one that does not; both are best for some weight */
    struct weighed_plan best;  /* the fastest known that does not lose too much */
    struct weighed_plan trial; /* the one that was found last */
    double least_s;            /* lower bound of the time of plans that do not lose too much, ... */
    double weight_s;           /* ... by that weight of the energy that is lost */
};

static void copy_plan(const struct within *x, const struct weighed_plan *from,
                      struct weighed_plan *to) {
    memcpy(to->marks, from->marks, x->tensors * sizeof *to->marks);
    to->time_s = from->time_s;
    to->lost = from->lost;
}

/* Finds the time of the plan and what it loses; keeps it if it is the best. */
static void weigh(struct within *x, struct weighed_plan *plan) {
    plan->time_s = gw_marks_exchanged_s(x->choices, plan->marks);
    plan->lost = gw_marks_lost(x->choices, plan->marks);
    if (plan->lost <= x->choices->most_lost && plan->time_s < x->best.time_s) {
        copy_plan(x, plan, &x->best);
    }
}

static bool is_close(const struct within *x) {
    return x->best.time_s - x->least_s <= close_enough * x->best.time_s;
}

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
    weigh(x, &x->kept);
    if (x->kept.lost > x->choices->most_lost) {
        return gw_fail(
            error, GW_BAD_INPUT,
            "energy kept: expected at most %.6g, the most that these choices keep; got %.6g",
            1 - x->kept.lost, 1 - x->choices->most_lost);
    }
    return GW_OK;
}

/* Searches with the weight by which x->fast and x->kept are equal; tells if another is better. */
static enum gw_status turn_weight(struct within *x, bool *found, struct gw_error *error) {
    double weight_s = (x->kept.time_s - x->fast.time_s) / (x->fast.lost - x->kept.lost);
    double value_s = x->kept.time_s + weight_s * x->kept.lost;
    double least_s = 0;
    copy_plan(x, &x->kept, &x->trial);
    GW_TRY(gw_search_best(x->choices, weight_s, close_by_weight / 10, x->arena, x->trial.marks,
                          &least_s, error));
    weigh(x, &x->trial);
    least_s -= weight_s * x->choices->most_lost;
    if (x->weight_s == 0 || least_s > x->least_s) {
        x->least_s = fmax(x->least_s, least_s);
        x->weight_s = weight_s;
    }
    *found = x->trial.time_s + weight_s * x->trial.lost < value_s * (1 - close_by_weight);
    if (*found) {
        copy_plan(x, &x->trial, x->trial.lost > x->choices->most_lost ? &x->fast : &x->kept);
    }
    return GW_OK;
}

/* Drops arcs over which no plan can be better than the best, and makes better hulls. */
static enum gw_status pass_lines(struct label_search *labels, struct gw_error *error) {
    double weighed = labels->limit + labels->most_lost;
    double bound = 0;
    GW_TRY(gw_pass_of_lines(&labels->lines, &labels->passes, true, weighed, &bound, error));
    GW_TRY(gw_pass_of_lines(&labels->lines, &labels->passes, false, weighed, &bound, error));
    return gw_lines_refine(&labels->lines, 24, error);
}

/* Unites less and less in labels until the best plan is close to its bound. */
static enum gw_status search_labels(struct within *x, struct label_search *labels,
                                    struct gw_error *error) {
    GW_TRY(open_labels(labels, x->choices, x->weight_s, x->best.time_s, x->arena, error));
    double step_s = labels->passes.arcs.step_s;
    double rounding = (gw_arcs_tie_break + 1) * (double)(x->tensors + 2);
    for (labels->cell = x->best.time_s / step_s / 4;
         !is_close(x) && labels->cell * step_s > close_enough * x->best.time_s; labels->cell /= 4) {
        labels->limit = x->best.time_s * (1 - close_enough / 2) / step_s + rounding;
        GW_TRY(pass_lines(labels, error));
        GW_TRY(pass_lines(labels, error));
        GW_TRY(pass_labels(labels, error));
        if (is_spent(labels)) {
            break;
        }
        double least = labels->limit;
        for (size_t i = 0; i < labels->labels[x->tensors].count; i++) {
            least = fmin(least, labels->labels[x->tensors].at[i].least.clock);
        }
        x->least_s = fmax(x->least_s, (least - rounding) * step_s);
        if (trace_labels(labels, x->trial.marks)) {
            weigh(x, &x->trial);
        }
    }
    return GW_OK;
}

enum gw_status gw_search_within(const struct gw_mix *choices, struct gw_arena *arena, size_t *marks,
                                double *least_s, struct gw_error *error) {
    size_t count = choices->costs->model->tensor_count;
    struct within x = {.choices = choices,
                       .tensors = count,
                       .arena = arena,
                       .best.time_s = INFINITY,
                       .least_s = *least_s};
    struct weighed_plan *plans[] = {&x.fast, &x.kept, &x.best, &x.trial};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        plans[i]->marks = gw_arena_zeros(arena, count, sizeof *plans[i]->marks);
    }
    GW_TRY(gw_arena_check(arena, "planning", error));
    GW_TRY(keep_most(&x, error));
    memcpy(x.fast.marks, marks, count * sizeof *marks);
    weigh(&x, &x.fast);
    bool found = true;
    for (size_t i = 0; i < most_weights && found && x.kept.time_s > x.fast.time_s && !is_close(&x);
         i++) {
        GW_TRY(turn_weight(&x, &found, error));
    }
    struct label_search labels = {0};
    enum gw_status status =
        is_close(&x) || x.weight_s == 0 ? GW_OK : search_labels(&x, &labels, error);
    close_labels(&labels);
    memcpy(marks, x.best.marks, count * sizeof *marks);
    *least_s = is_close(&x) ? x.best.time_s : x.least_s;
    return status;
}
