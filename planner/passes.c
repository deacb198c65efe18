#include "planner/passes.h"

#include <math.h>
#include <stdlib.h>

#include "planner/hull.h"

/* Hulls have corners between whole steps; sums over them are rounded. */
static double slack(const struct gw_passes *x) {
    return 1e-12 + 1e-15 * (double)x->tensors;
}

/* ---- what a front becomes over an arc ------------------------------------------------------ */

/* Appends unless the run has a pair that is as good; replaces what is no better. */
static void append(struct gw_front *run, double first, double second) {
    while (run->count > 0 && run->pairs[run->count - 1].first >= first) {
        run->count--;
    }
    if (run->count == 0 || second < run->pairs[run->count - 1].second) {
        run->pairs[run->count++] = (struct gw_front_pair){first, second};
    }
}

/* Where, on the way from one cost to another, what is `over` before it is as much under after it.
 */
static double between(double from, double to, double over, double under) {
    return from + (to - from) * (over / (over + under));
}

/*
 * (1) in docs/optimal-merging.md. Exchange begins at `ready` + the first cost, or, if that is
 * later, when the network is free; from where it is not later on, more compression gains nothing.
 * A hull has a corner where the two meet. What `room` (the most of either cost, at the end of the
 * arc) has no place for is left out, but of a hull what is next to it is not.
 */
static void go_forward(const struct gw_front *before, double ready, const struct gw_arc *arc,
                       bool convex, struct gw_front_pair room, struct gw_front *run) {
    const struct gw_front_pair *pairs = before->pairs;
    double most_first = room.first - arc->compress;
    double most_second = room.second - arc->exchange;
    size_t i = 0;
    run->count = 0;
    while (i + convex < before->count && pairs[i + convex].second >= most_second) {
        i++;
    }
    size_t begin = i;
    for (; i < before->count && pairs[i].second > ready + pairs[i].first; i++) {
        run->pairs[run->count++] =
            (struct gw_front_pair){pairs[i].first + arc->compress, pairs[i].second + arc->exchange};
        if (pairs[i].first >= most_first) {
            return;
        }
    }
    if (i == before->count) {
        return;
    }
    double first = pairs[i].first;
    if (convex && i > begin) {
        double late = pairs[i - 1].second - ready - pairs[i - 1].first;
        double early = ready + first - pairs[i].second;
        first = between(pairs[i - 1].first, first, late, early);
    }
    append(run, first + arc->compress, ready + first + arc->exchange);
}

/* (3): the mirror image, from what is ahead of the arc's end to what is ahead of its beginning. */
static void go_backward(const struct gw_front *after, double ready, const struct gw_arc *arc,
                        bool convex, struct gw_front_pair room, struct gw_front *run) {
    const struct gw_front_pair *pairs = after->pairs;
    double exchanged = ready + arc->exchange;
    double most_first = room.first - arc->compress;
    double most_second = room.second - arc->exchange;
    size_t i = 0;
    run->count = 0;
    while (i + convex < after->count && pairs[i + convex].second >= most_second) {
        i++;
    }
    size_t begin = i;
    while (i < after->count && pairs[i].first < exchanged + pairs[i].second) {
        i++;
    }
    if (i > begin) {
        double second = pairs[i - 1].second;
        if (convex && i < after->count) {
            double late = exchanged + second - pairs[i - 1].first;
            double early = pairs[i].first - exchanged - pairs[i].second;
            second = between(second, pairs[i].second, late, early);
        }
        append(run, exchanged + second + arc->compress, second + arc->exchange);
    }
    for (; i < after->count; i++) {
        append(run, pairs[i].first + arc->compress, pairs[i].second + arc->exchange);
        if (pairs[i].first >= most_first) {
            return;
        }
    }
}

/* ---- passes -------------------------------------------------------------------------------- */

static enum gw_status merge(struct gw_passes *x, enum gw_front_kind kind, struct gw_front *front,
                            struct gw_error *error) {
    return kind == GW_HULL ? gw_hull_merge(front, x->run.pairs, x->run.count, &x->scratch, error)
                           : gw_front_merge(front, x->run.pairs, x->run.count, &x->scratch, error);
}

static enum gw_status thin(struct gw_passes *x, size_t most, const struct gw_front *opposite_hull,
                           struct gw_front *front, struct gw_error *error) {
    double *promised = gw_grow(x->promised, front->count, &x->promised_capacity, sizeof *promised);
    if (promised == NULL) {
        return gw_fail_memory(error, "planning");
    }
    x->promised = promised;
    for (size_t i = 0; i < front->count && front->count > most; i++) {
        promised[i] =
            gw_hull_complete(opposite_hull, front->pairs[i].first, front->pairs[i].second);
    }
    gw_front_thin(front, most, &x->guess[GW_REAL], promised);
    return GW_OK;
}

/* Makes a finished front small enough. */
static enum gw_status reduce(struct gw_passes *x, enum gw_front_kind kind, size_t most,
                             const struct gw_front *opposite_hull, double limit,
                             struct gw_front *front, struct gw_error *error) {
    switch (kind) {
    case GW_HULL:
        gw_hull_trim(front, opposite_hull, limit * (1 + slack(x)));
        gw_hull_simplify(front, most, &x->guess[kind]);
        break;
    case GW_STAIR:
        gw_front_squeeze(front, most, &x->guess[kind]);
        break;
    default:
        GW_TRY(thin(x, most, opposite_hull, front, error));
    }
    gw_front_shrink(front);
    return GW_OK;
}

/* Leaves in the run what may yet take less than the limit, given all that is known of the other
 * end; returns whether anything is left. */
static bool is_promising(struct gw_passes *x, enum gw_front_kind kind, const struct gw_front *hull,
                         const struct gw_front *stairs, double limit) {
    double relaxed = limit * (1 + slack(x));
    struct gw_front *run = &x->run;
    if (kind == GW_HULL) {
        return gw_hull_meets(hull, relaxed, run->pairs, run->count);
    }
    run->count = gw_hull_keep(hull, relaxed, run->pairs, run->count);
    if (stairs != NULL && run->count > 0) {
        run->count = gw_front_keep(stairs, limit, run->pairs, run->count);
    }
    return run->count > 0;
}

/* What is left of the limit for one end, given the least that the other takes; none if there is no
 * other end. */
static struct gw_front_pair room_beside(const struct gw_passes *x, const struct gw_front *hull,
                                        double limit) {
    if (hull->count == 0) {
        return (struct gw_front_pair){-INFINITY, -INFINITY};
    }
    double relaxed = limit * (1 + slack(x));
    return (struct gw_front_pair){relaxed - hull->pairs[0].first,
                                  relaxed - hull->pairs[hull->count - 1].second};
}

enum gw_status gw_pass_forward(struct gw_passes *x, enum gw_front_kind kind, size_t most,
                               double limit, double *bound, struct gw_error *error) {
    static const struct gw_front_pair start = {0, 0};
    struct gw_front *fronts = x->forward[kind];
    for (size_t p = 0; p <= x->tensors; p++) {
        fronts[p].count = 0;
    }
    GW_TRY(gw_front_merge(&fronts[0], &start, 1, &x->scratch, error));
    gw_arcs_begin_pass(&x->arcs, kind != GW_REAL);
    *bound = 0;
    for (size_t p = 0; p < x->tensors; p++) {
        if (x->work > x->most_work) {
            return GW_OK;
        }
        struct gw_front *before = &fronts[p];
        struct gw_arc *row = NULL;
        size_t count = 0;
        size_t kept = 0;
        if (before->count > 0) {
            GW_TRY(reduce(x, kind, most, &x->backward[GW_HULL][p], limit, before, error));
            GW_TRY(gw_front_reserve(&x->run, before->count + 1, error));
            struct gw_front_pair least = {before->pairs[0].first,
                                          before->pairs[before->count - 1].second};
            count = gw_arcs_row(&x->arcs, p, least, limit * (1 + slack(x)), &row);
        }
        for (size_t i = 0; i < count; i++) {
            size_t q = row[i].to;
            go_forward(before, x->arcs.ready[q] + row[i].compress, &row[i], kind == GW_HULL,
                       room_beside(x, &x->backward[GW_HULL][q], limit), &x->run);
            if (x->run.count > 0 &&
                is_promising(x, kind, &x->backward[GW_HULL][q],
                             x->stairs_ahead ? &x->backward[GW_STAIR][q] : NULL, limit)) {
                GW_TRY(merge(x, kind, &fronts[q], error));
                if (kind != GW_REAL) {
                    row[kept++] = row[i];
                }
            }
        }
        x->work += (double)(before->count * count);
        GW_TRY(gw_arcs_keep(&x->arcs, p, row, kept, error));
    }
    gw_arcs_end_pass(&x->arcs);
    struct gw_front *end = &fronts[x->tensors];
    x->stairs_behind = x->stairs_behind || kind == GW_STAIR;
    *bound = end->count > 0 ? end->pairs[end->count - 1].second : INFINITY;
    *bound *= kind == GW_HULL ? 1 - slack(x) : 1;
    return GW_OK;
}

enum gw_status gw_pass_backward(struct gw_passes *x, enum gw_front_kind kind, size_t most,
                                double limit, double *bound, struct gw_error *error) {
    static const struct gw_front_pair end = {-INFINITY, 0};
    struct gw_front *fronts = x->backward[kind];
    fronts[x->tensors].count = 0;
    GW_TRY(gw_front_merge(&fronts[x->tensors], &end, 1, &x->scratch, error));
    gw_arcs_begin_pass(&x->arcs, kind != GW_REAL);
    *bound = 0;
    for (size_t p = x->tensors; p-- > 0;) {
        if (x->work > x->most_work) {
            return GW_OK;
        }
        const struct gw_front *behind = &x->forward[GW_HULL][p];
        const struct gw_front *stairs = x->stairs_behind ? &x->forward[GW_STAIR][p] : NULL;
        struct gw_arc *row = NULL;
        size_t count = 0;
        size_t kept = 0;
        struct gw_front_pair room = room_beside(x, behind, limit);
        fronts[p].count = 0;
        if (behind->count > 0) {
            struct gw_front_pair least = {behind->pairs[0].first,
                                          behind->pairs[behind->count - 1].second};
            count = gw_arcs_row(&x->arcs, p, least, limit * (1 + slack(x)), &row);
        }
        for (size_t i = 0; i < count; i++) {
            const struct gw_front *after = &fronts[row[i].to];
            if (after->count == 0) {
                continue;
            }
            GW_TRY(gw_front_reserve(&x->run, after->count + 1, error));
            go_backward(after, x->arcs.ready[row[i].to], &row[i], kind == GW_HULL, room, &x->run);
            x->work += (double)after->count;
            if (x->run.count > 0 && is_promising(x, kind, behind, stairs, limit)) {
                GW_TRY(merge(x, kind, &fronts[p], error));
                if (kind != GW_REAL) {
                    row[kept++] = row[i];
                }
            }
        }
        if (fronts[p].count > 0) {
            GW_TRY(reduce(x, kind, most, behind, limit, &fronts[p], error));
        }
        GW_TRY(gw_arcs_keep(&x->arcs, p, row, kept, error));
    }
    gw_arcs_end_pass(&x->arcs);
    x->stairs_ahead = x->stairs_ahead || kind == GW_STAIR;
    *bound = kind == GW_HULL ? gw_hull_complete(&fronts[0], 0, 0) * (1 - slack(x))
                             : gw_front_complete(&fronts[0], 0, 0);
    return GW_OK;
}

/* ---- plans --------------------------------------------------------------------------------- */

bool gw_passes_trace_back(struct gw_passes *x, enum gw_front_kind kind, bool *ends) {
    struct gw_front_pair rest = {-INFINITY, 0};
    for (size_t q = x->tensors; q > 0;) {
        double promised = INFINITY;
        struct gw_front_pair next = rest;
        size_t from = q;
        for (size_t p = q; p-- > 0 && q - p <= x->arcs.longest;) {
            if (x->forward[kind][p].count == 0) {
                continue;
            }
            struct gw_arc arc = gw_arcs_cost(&x->arcs, p, q);
            double second = arc.exchange + rest.second;
            double first = arc.compress + fmax(rest.first, x->arcs.ready[q] + second);
            double time = gw_front_complete(&x->forward[kind][p], first, second);
            if (time < promised) {
                promised = time;
                next = (struct gw_front_pair){first, second};
                from = p;
            }
        }
        if (from == q) {
            return false;
        }
        ends[q] = true;
        q = from;
        rest = next;
    }
    return true;
}

bool gw_passes_trace_on(struct gw_passes *x, enum gw_front_kind kind, bool *ends) {
    struct gw_front_pair state = {0, 0};
    for (size_t p = 0; p < x->tensors;) {
        double promised = INFINITY;
        struct gw_front_pair next = state;
        size_t to = p;
        struct gw_arc *row = NULL;
        size_t count = gw_arcs_row(&x->arcs, p, state, INFINITY, &row);
        for (size_t i = 0; i < count; i++) {
            double compress = state.first + row[i].compress;
            double clock =
                fmax(state.second, x->arcs.ready[row[i].to] + compress) + row[i].exchange;
            double time = gw_front_complete(&x->backward[kind][row[i].to], compress, clock);
            if (time < promised) {
                promised = time;
                next = (struct gw_front_pair){compress, clock};
                to = row[i].to;
            }
        }
        if (to == p) {
            return false;
        }
        p = to;
        state = next;
        ends[p] = true;
    }
    return true;
}

/* ---- opening and closing ------------------------------------------------------------------- */

/* Before anything is known of what is ahead, at least what rest.h says must be waited for. */
static enum gw_status promise_the_least(struct gw_passes *x, struct gw_error *error) {
    const struct gw_arcs *arcs = &x->arcs;
    double last = arcs->rising ? arcs->rest_exchange[x->tensors - 1] : 0;
    for (size_t p = 0; p <= x->tensors; p++) {
        struct gw_front_pair pair = {
            p < x->tensors ? arcs->ready[x->tensors] + arcs->rest_compress[p] + last : -INFINITY,
            arcs->rest_exchange[p]};
        GW_TRY(gw_hull_merge(&x->backward[GW_HULL][p], &pair, 1, &x->scratch, error));
    }
    return GW_OK;
}

enum gw_status gw_passes_open(struct gw_passes *x, const struct gw_planning *planning,
                              double most_s, double most_work, struct gw_error *error) {
    size_t count = planning->model->tensor_count;
    *x = (struct gw_passes){.tensors = count, .most_work = most_work};
    bool complete = true;
    for (int kind = 0; kind < gw_front_kinds; kind++) {
        x->forward[kind] = calloc(count + 1, sizeof *x->forward[kind]);
        x->backward[kind] = calloc(count + 1, sizeof *x->backward[kind]);
        complete = complete && x->forward[kind] != NULL && x->backward[kind] != NULL;
        x->guess[kind] = 0x1p33;
    }
    if (!complete) {
        return gw_fail_memory(error, "planning");
    }
    GW_TRY(gw_arcs_open(&x->arcs, planning, most_s, error));
    return promise_the_least(x, error);
}

double gw_passes_least(const struct gw_passes *x) {
    return gw_hull_complete(&x->backward[GW_HULL][0], 0, 0) * (1 - slack(x));
}

void gw_passes_forget(struct gw_passes *x, enum gw_front_kind kind) {
    for (size_t p = 0; p <= x->tensors; p++) {
        free(x->forward[kind][p].pairs);
        free(x->backward[kind][p].pairs);
        x->forward[kind][p] = (struct gw_front){0};
        x->backward[kind][p] = (struct gw_front){0};
    }
}

static void free_fronts(struct gw_front *fronts, size_t count) {
    for (size_t p = 0; fronts != NULL && p < count; p++) {
        free(fronts[p].pairs);
    }
    free(fronts);
}

void gw_passes_close(struct gw_passes *x) {
    for (int kind = 0; kind < gw_front_kinds; kind++) {
        free_fronts(x->forward[kind], x->tensors + 1);
        free_fronts(x->backward[kind], x->tensors + 1);
    }
    free(x->scratch.pairs);
    free(x->run.pairs);
    free(x->promised);
    gw_arcs_close(&x->arcs);
}
