/*
 * The plan with the smallest iteration time of all 2^(L-1), found without trying them all; the
 * method and its proof are in docs/optimal-merging.md. Positions 0..L count the tensors that are
 * ready; an arc from p to q is a group of the tensors between. Passes over the arcs, alternately
 * from the last position to the first and back, keep a front for each position and drop what cannot
 * lead to a plan better than the best that is known. A pass whose fronts were squeezed gives a
 * lower bound; one whose fronts were not gives the optimum.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/front.h"
#include "planner/policies.h"

/* Sums of the same times in another order differ in their last digits. */
static const double rounding = 1e-12;

/* Steps after which the search ends with a plan and a bound that may differ: about 20 seconds. */
static const double most_work = 3e8;

struct arc {
    uint32_t from, to;
    double compress_s, exchange_s;
};

struct search {
    const struct gw_planning *planning;
    size_t tensors;
    uint64_t *elements; /* [tensors + 1]: before each position */
    double *ready_s;    /* [tensors + 1]: without any compression */
    size_t arc_count, arc_capacity;
    struct arc *arcs;
    size_t *first_out;           /* [tensors + 2]: arcs are in the order of their beginning */
    size_t *first_in, *in_order; /* and, through in_order, of their end */
    struct gw_front *forward, *backward; /* [tensors + 1] */
    bool *keep;                          /* per arc, in the pass at hand */
    bool *trial;                         /* marks of a plan that is tried */
    bool *best;                          /* marks of the best plan known ... */
    struct gw_group *groups;             /* (scratch) */
    double best_s;                       /* ... and its time, without the update */
    double work;
};

/* ---- plans that are known ------------------------------------------------------------------ */

/* Takes the marked plan if it is the best so far, and clears the marks. */
static void try_plan(struct search *x) {
    size_t count = 0;
    size_t first = x->tensors - 1;
    for (size_t tensor = x->tensors; tensor-- > 0;) {
        if (x->trial[tensor] || tensor == 0) {
            x->groups[count++] = (struct gw_group){.first = first, .last = tensor};
            first = tensor - 1;
        }
    }
    double time_s =
        gw_planning_iteration_s(x->planning, x->groups, count) - x->planning->model->update_s;
    if (time_s < x->best_s) {
        x->best_s = time_s;
        memcpy(x->best, x->trial, x->tensors * sizeof *x->best);
    }
    memset(x->trial, 0, x->tensors * sizeof *x->trial);
}

static enum gw_status try_simple_plans(struct search *x, struct gw_error *error) {
    const struct gw_model *model = x->planning->model;
    struct gw_marks marks = {.ends = x->trial};
    GW_TRY(gw_policy_omgs.mark(x->planning, 0, &marks, error));
    try_plan(x);
    for (uint64_t limit = 1; limit / 2 <= x->elements[x->tensors]; limit *= 2) {
        gw_close_at(model, 1, limit, limit, x->trial);
        try_plan(x);
    }
    return GW_OK;
}

/* From the first position on, takes the arc from which the backward fronts promise most. */
static void try_going_forward(struct search *x) {
    struct gw_front_pair state = {0, 0};
    for (size_t p = 0; p < x->tensors;) {
        double promised = INFINITY;
        struct gw_front_pair next = state;
        size_t to = p;
        for (size_t i = x->first_out[p]; i < x->first_out[p + 1]; i++) {
            const struct arc *arc = &x->arcs[i];
            double compress = state.first + arc->compress_s;
            double clock = fmax(state.second, x->ready_s[arc->to] + compress) + arc->exchange_s;
            double time = gw_front_complete(&x->backward[arc->to], compress, clock);
            if (time < promised) {
                promised = time;
                next = (struct gw_front_pair){compress, clock};
                to = arc->to;
            }
        }
        if (to == p) {
            memset(x->trial, 0, x->tensors * sizeof *x->trial);
            return;
        }
        p = to;
        state = next;
        x->trial[x->tensors - p] = true;
    }
    try_plan(x);
}

/* The mirror image, from the last position back. */
static void try_going_backward(struct search *x) {
    struct gw_front_pair rest = {-INFINITY, 0};
    for (size_t q = x->tensors; q > 0;) {
        double promised = INFINITY;
        struct gw_front_pair next = rest;
        size_t from = q;
        for (size_t i = x->first_in[q]; i < x->first_in[q + 1]; i++) {
            const struct arc *arc = &x->arcs[x->in_order[i]];
            double second = arc->exchange_s + rest.second;
            double first = arc->compress_s + fmax(rest.first, x->ready_s[q] + second);
            double time = gw_front_complete(&x->forward[arc->from], first, second);
            if (time < promised) {
                promised = time;
                next = (struct gw_front_pair){first, second};
                from = arc->from;
            }
        }
        if (from == q) {
            memset(x->trial, 0, x->tensors * sizeof *x->trial);
            return;
        }
        x->trial[x->tensors - q] = true;
        q = from;
        rest = next;
    }
    try_plan(x);
}

/* ---- passes -------------------------------------------------------------------------------- */

static struct arc make_arc(const struct search *x, size_t from, size_t to) {
    uint64_t n = x->elements[to] - x->elements[from];
    return (struct arc){.from = (uint32_t)from,
                        .to = (uint32_t)to,
                        .compress_s = gw_planning_compress_s(x->planning, n),
                        .exchange_s = gw_planning_exchange_s(x->planning, n)};
}

static double limit_s(const struct search *x) {
    return x->best_s * (1 + rounding);
}

/* Extends the front before the arc over it; *useful says whether anything came of it. */
static enum gw_status extend_forward(struct search *x, const struct arc *arc, bool prune,
                                     bool *useful, struct gw_error *error) {
    const struct gw_front *before = &x->forward[arc->from];
    for (size_t i = 0; i < before->count; i++) {
        double compress = before->pairs[i].first + arc->compress_s;
        double clock =
            fmax(before->pairs[i].second, x->ready_s[arc->to] + compress) + arc->exchange_s;
        if (prune && gw_front_complete(&x->backward[arc->to], compress, clock) > limit_s(x)) {
            continue;
        }
        *useful = true;
        GW_TRY(gw_front_add(&x->forward[arc->to], (struct gw_front_pair){compress, clock}, error));
    }
    x->work += (double)before->count;
    return GW_OK;
}

static enum gw_status extend_backward(struct search *x, const struct arc *arc, bool *useful,
                                      struct gw_error *error) {
    const struct gw_front *after = &x->backward[arc->to];
    for (size_t i = 0; i < after->count; i++) {
        double second = arc->exchange_s + after->pairs[i].second;
        double first = arc->compress_s + fmax(after->pairs[i].first, x->ready_s[arc->to] + second);
        if (gw_front_complete(&x->forward[arc->from], first, second) > limit_s(x)) {
            continue;
        }
        *useful = true;
        GW_TRY(gw_front_add(&x->backward[arc->from], (struct gw_front_pair){first, second}, error));
    }
    x->work += (double)after->count;
    return GW_OK;
}

/* The first look at all arcs: fronts of one pair each, and nothing pruned. */
static enum gw_status look_forward(struct search *x, struct gw_error *error) {
    GW_TRY(gw_front_add(&x->forward[0], (struct gw_front_pair){0, 0}, error));
    for (size_t p = 0; p < x->tensors; p++) {
        bool useful = false;
        (void)gw_front_squeeze(&x->forward[p], 1);
        for (size_t q = p + 1; q <= x->tensors; q++) {
            struct arc arc = make_arc(x, p, q);
            GW_TRY(extend_forward(x, &arc, false, &useful, error));
            (void)gw_front_squeeze(&x->forward[q], 1);
        }
    }
    return GW_OK;
}

/* The first look back: keeps the arcs over which a better plan may yet be found. */
static enum gw_status collect_arcs(struct search *x, size_t most_pairs, bool *squeezed,
                                   struct gw_error *error) {
    GW_TRY(gw_front_add(&x->backward[x->tensors], (struct gw_front_pair){-INFINITY, 0}, error));
    for (size_t p = x->tensors; p-- > 0;) {
        for (size_t q = p + 1; q <= x->tensors; q++) {
            struct arc arc = make_arc(x, p, q);
            bool useful = false;
            GW_TRY(extend_backward(x, &arc, &useful, error));
            if (!useful) {
                continue;
            }
            struct arc *arcs = gw_grow(x->arcs, x->arc_count + 1, &x->arc_capacity, sizeof *arcs);
            if (arcs == NULL) {
                return gw_fail_memory(error, "planning");
            }
            x->arcs = arcs;
            arcs[x->arc_count++] = arc;
        }
        *squeezed = gw_front_squeeze(&x->backward[p], most_pairs) || *squeezed;
    }
    return GW_OK;
}

static enum gw_status pass_forward(struct search *x, size_t most_pairs, bool *squeezed,
                                   struct gw_error *error) {
    for (size_t q = 1; q <= x->tensors; q++) {
        x->forward[q].count = 0;
        for (size_t i = x->first_in[q]; i < x->first_in[q + 1]; i++) {
            size_t index = x->in_order[i];
            x->keep[index] = false;
            GW_TRY(extend_forward(x, &x->arcs[index], true, &x->keep[index], error));
        }
        *squeezed = gw_front_squeeze(&x->forward[q], most_pairs) || *squeezed;
    }
    return GW_OK;
}

static enum gw_status pass_backward(struct search *x, size_t most_pairs, bool *squeezed,
                                    struct gw_error *error) {
    for (size_t p = x->tensors; p-- > 0;) {
        x->backward[p].count = 0;
        for (size_t i = x->first_out[p]; i < x->first_out[p + 1]; i++) {
            x->keep[i] = false;
            GW_TRY(extend_backward(x, &x->arcs[i], &x->keep[i], error));
        }
        *squeezed = gw_front_squeeze(&x->backward[p], most_pairs) || *squeezed;
    }
    return GW_OK;
}

/* ---- arcs ---------------------------------------------------------------------------------- */

static int by_beginning(const void *a, const void *b) {
    const struct arc *x = a;
    const struct arc *y = b;
    return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
                              : (x->to > y->to) - (x->to < y->to);
}

/* Finds the arcs by their beginning and by their end, by counting. */
static void index_arcs(struct search *x) {
    size_t size = (x->tensors + 2) * sizeof(size_t);
    memset(x->first_out, 0, size);
    memset(x->first_in, 0, size);
    for (size_t i = 0; i < x->arc_count; i++) {
        x->first_out[x->arcs[i].from + 1]++;
        x->first_in[x->arcs[i].to]++;
    }
    for (size_t p = 0; p <= x->tensors; p++) {
        x->first_out[p + 1] += x->first_out[p];
        x->first_in[p + 1] += x->first_in[p];
    }
    /* first_in holds ends of ranges now; filling from the back turns them into beginnings. */
    for (size_t i = x->arc_count; i-- > 0;) {
        x->in_order[--x->first_in[x->arcs[i].to]] = i;
    }
}

static void drop_arcs(struct search *x) {
    size_t kept = 0;
    for (size_t i = 0; i < x->arc_count; i++) {
        if (x->keep[i]) {
            x->arcs[kept++] = x->arcs[i];
        }
    }
    x->arc_count = kept;
    index_arcs(x);
}

/* ---- the search ---------------------------------------------------------------------------- */

static enum gw_status open_search(struct search *x, const struct gw_planning *planning,
                                  struct gw_error *error) {
    const struct gw_model *model = planning->model;
    size_t count = model->tensor_count;
    *x = (struct search){.planning = planning,
                         .tensors = count,
                         .elements = calloc(count + 1, sizeof *x->elements),
                         .ready_s = calloc(count + 1, sizeof *x->ready_s),
                         .first_out = calloc(count + 2, sizeof *x->first_out),
                         .first_in = calloc(count + 2, sizeof *x->first_in),
                         .forward = calloc(count + 1, sizeof *x->forward),
                         .backward = calloc(count + 1, sizeof *x->backward),
                         .trial = calloc(count, sizeof *x->trial),
                         .best = calloc(count, sizeof *x->best),
                         .groups = calloc(count, sizeof *x->groups),
                         .best_s = INFINITY};
    if (x->elements == NULL || x->ready_s == NULL || x->first_out == NULL || x->first_in == NULL ||
        x->forward == NULL || x->backward == NULL || x->trial == NULL || x->best == NULL ||
        x->groups == NULL) {
        return gw_fail_memory(error, "planning");
    }
    x->ready_s[0] = model->forward_s;
    for (size_t p = 0; p < count; p++) {
        x->elements[p + 1] = x->elements[p] + model->tensors[count - 1 - p].elements;
        x->ready_s[p + 1] = x->ready_s[p] + model->tensors[count - 1 - p].backward_s;
    }
    return GW_OK;
}

static void close_search(struct search *x) {
    for (size_t p = 0; p <= x->tensors; p++) {
        if (x->forward != NULL) {
            free(x->forward[p].pairs);
        }
        if (x->backward != NULL) {
            free(x->backward[p].pairs);
        }
    }
    free(x->forward);
    free(x->backward);
    free(x->elements);
    free(x->ready_s);
    free(x->arcs);
    free(x->first_out);
    free(x->first_in);
    free(x->in_order);
    free(x->keep);
    free(x->trial);
    free(x->best);
    free(x->groups);
}

/* Collects arcs, then narrows; *proven_s becomes a time that no plan beats, without the update. */
static enum gw_status narrow(struct search *x, double *proven_s, struct gw_error *error) {
    size_t most_pairs = 4;
    bool squeezed = false;
    GW_TRY(look_forward(x, error));
    GW_TRY(collect_arcs(x, most_pairs, &squeezed, error));
    if (x->arc_count > 0) {
        qsort(x->arcs, x->arc_count, sizeof *x->arcs, by_beginning);
    }
    x->in_order = calloc(x->arc_count + 1, sizeof *x->in_order);
    x->keep = calloc(x->arc_count + 1, sizeof *x->keep);
    if (x->in_order == NULL || x->keep == NULL) {
        return gw_fail_memory(error, "planning");
    }
    index_arcs(x);
    try_going_forward(x);
    *proven_s = gw_front_complete(&x->backward[0], 0, 0);
    for (bool forward = true; squeezed && *proven_s < x->best_s * (1 - rounding) &&
                              x->work < most_work && x->arc_count > 0;
         forward = !forward) {
        most_pairs *= 2;
        squeezed = false;
        if (forward) {
            GW_TRY(pass_forward(x, most_pairs, &squeezed, error));
            *proven_s = fmax(*proven_s, gw_front_complete(&x->forward[x->tensors], -INFINITY, 0));
            try_going_backward(x);
        } else {
            GW_TRY(pass_backward(x, most_pairs, &squeezed, error));
            *proven_s = fmax(*proven_s, gw_front_complete(&x->backward[0], 0, 0));
            try_going_forward(x);
        }
        drop_arcs(x);
    }
    return GW_OK;
}

static enum gw_status mark(const struct gw_planning *planning, uint64_t argument,
                           struct gw_marks *marks, struct gw_error *error) {
    (void)argument;
    struct search x;
    double proven_s = 0;
    enum gw_status status = open_search(&x, planning, error);
    status = status == GW_OK ? try_simple_plans(&x, error) : status;
    status = status == GW_OK ? narrow(&x, &proven_s, error) : status;
    if (status == GW_OK) {
        memcpy(marks->ends, x.best, x.tensors * sizeof *x.best);
        marks->proven_s = proven_s + planning->model->update_s;
    }
    close_search(&x);
    return status;
}

const struct gw_policy gw_policy_optimal = {
    .name = "optimal",
    .title = "the fastest of all plans",
    .paper = "gradweave",
    .mark = mark,
};
