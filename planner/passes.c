#include "planner/passes.h"

#include <math.h>
#include <stdlib.h>

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

/*
 * (1) in docs/optimal-merging.md. Exchange begins at `ready` + the first cost, or, if that is
 * later, when the network is free; from where it is not later on, more compression gains nothing.
 * What `room` (the most of either cost, at the end of the arc) has no place for is left out.
 */
static void go_forward(const struct gw_front *before, double ready, const struct gw_arc *arc,
                       struct gw_front_pair room, struct gw_front *run) {
    const struct gw_front_pair *pair = before->pairs;
    const struct gw_front_pair *end = pair + before->count;
    double most_first = room.first - arc->compress;
    double most_second = room.second - arc->exchange;
    run->count = 0;
    while (pair < end && pair->second >= most_second) {
        pair++;
    }
    for (; pair < end && pair->second > ready + pair->first; pair++) {
        if (pair->first >= most_first) {
            return;
        }
        run->pairs[run->count++] =
            (struct gw_front_pair){pair->first + arc->compress, pair->second + arc->exchange};
    }
    if (pair < end) {
        append(run, pair->first + arc->compress, ready + pair->first + arc->exchange);
    }
}

/* (3): the mirror image, from what is ahead of the arc's end to what is ahead of its beginning. */
static void go_backward(const struct gw_front *after, double ready, const struct gw_arc *arc,
                        struct gw_front_pair room, struct gw_front *run) {
    const struct gw_front_pair *pair = after->pairs;
    const struct gw_front_pair *end = pair + after->count;
    double exchanged = ready + arc->exchange;
    double most_first = room.first - arc->compress;
    double most_second = room.second - arc->exchange;
    run->count = 0;
    while (pair < end && pair->second >= most_second) {
        pair++;
    }
    const struct gw_front_pair *begin = pair;
    while (pair < end && pair->first < exchanged + pair->second) {
        pair++;
    }
    if (pair > begin) {
        append(run, exchanged + pair[-1].second + arc->compress, pair[-1].second + arc->exchange);
    }
    for (; pair < end && pair->first < most_first; pair++) {
        append(run, pair->first + arc->compress, pair->second + arc->exchange);
    }
}

/* ---- passes -------------------------------------------------------------------------------- */

/* What is known of the other end at a position, where something is. */
struct opposite {
    const struct gw_front *hull;
    const struct gw_front *stairs; /* NULL: none */
    double limit;                  /* what both ends together must stay below, ... */
    double relaxed;                /* ... and where hulls are among them */
};

static struct opposite know(const struct gw_passes *x, const struct gw_front *hull,
                            const struct gw_front *stairs, double limit) {
    return (struct opposite){.hull = hull,
                             .stairs = stairs,
                             .limit = limit,
                             .relaxed = limit * (1 + gw_passes_slack(x))};
}

/* What is left of the limit for one end, given the least that the other takes. */
static struct gw_front_pair room_beside(const struct opposite *other) {
    const struct gw_front *hull = other->hull;
    if (hull->count == 0) {
        return (struct gw_front_pair){-INFINITY, -INFINITY};
    }
    return (struct gw_front_pair){other->relaxed - hull->pairs[0].first,
                                  other->relaxed - hull->pairs[hull->count - 1].second};
}

static enum gw_status thin(struct gw_passes *x, size_t most, const struct gw_front *opposite_hull,
                           struct gw_front *front, struct gw_error *error) {
    if (front->count <= most) {
        return GW_OK;
    }
    double *promised = gw_grow(x->promised, front->count, &x->promised_capacity, sizeof *promised);
    if (promised == NULL) {
        return gw_fail_memory(error, "planning");
    }
    x->promised = promised;
    for (size_t i = 0; i < front->count; i++) {
        promised[i] =
            gw_hull_complete(opposite_hull, front->pairs[i].first, front->pairs[i].second);
    }
    gw_front_thin(front, most, &x->guess[GW_REAL], promised);
    return GW_OK;
}

/* Makes a finished front small enough. */
static enum gw_status reduce(struct gw_passes *x, enum gw_front_kind kind, size_t most,
                             const struct gw_front *opposite_hull, struct gw_front *front,
                             struct gw_error *error) {
    if (kind == GW_STAIR) {
        gw_front_squeeze(front, most, &x->guess[kind]);
    } else {
        GW_TRY(thin(x, most, opposite_hull, front, error));
    }
    gw_front_shrink(front);
    return GW_OK;
}

/* Adds to a front what the run has that may yet take less than the limit; whether it has any. */
static enum gw_status unite(struct gw_passes *x, enum gw_front_kind kind, size_t most,
                            const struct opposite *other, struct gw_front *front, bool *promising,
                            struct gw_error *error) {
    static const size_t crowded = 8; /* merging into long fronts takes longer than thinning them */
    struct gw_front *run = &x->run;
    run->count = gw_hull_keep(other->hull, other->relaxed, run->pairs, run->count);
    if (other->stairs != NULL) {
        run->count = gw_front_keep(other->stairs, other->limit, run->pairs, run->count);
    }
    *promising = run->count > 0;
    GW_TRY(gw_front_merge(front, run->pairs, run->count, &x->scratch, error));
    return kind == GW_REAL && front->count > crowded * most
               ? thin(x, most, other->hull, front, error)
               : GW_OK;
}

enum gw_status gw_pass_forward(struct gw_passes *x, size_t most, double limit,
                               struct gw_error *error) {
    static const struct gw_front_pair start = {0, 0};
    struct gw_front *fronts = x->forward[GW_REAL];
    for (size_t p = 0; p <= x->tensors; p++) {
        fronts[p].count = 0;
    }
    GW_TRY(gw_front_merge(&fronts[0], &start, 1, &x->scratch, error));
    gw_arcs_begin_pass(&x->arcs, false);
    for (size_t p = 0; p < x->tensors && !gw_passes_are_spent(x); p++) {
        struct gw_front *before = &fronts[p];
        struct gw_arc *row = NULL;
        size_t count = 0;
        if (before->count > 0) {
            GW_TRY(reduce(x, GW_REAL, most, &x->backward[GW_HULL][p], before, error));
            GW_TRY(gw_front_reserve(&x->run, before->count + 1, error));
            struct gw_front_pair least = {before->pairs[0].first,
                                          before->pairs[before->count - 1].second};
            count = gw_arcs_row(&x->arcs, p, least, limit * (1 + gw_passes_slack(x)), &row);
        }
        for (size_t i = 0; i < count; i++) {
            size_t q = row[i].to;
            struct opposite ahead = know(x, &x->backward[GW_HULL][q],
                                         x->stairs_known ? &x->backward[GW_STAIR][q] : NULL, limit);
            bool promising = false;
            go_forward(before, x->arcs.ready[q] + row[i].compress, &row[i], room_beside(&ahead),
                       &x->run);
            GW_TRY(unite(x, GW_REAL, most, &ahead, &fronts[q], &promising, error));
        }
        x->work += (double)(before->count * count);
    }
    gw_passes_end(x);
    return GW_OK;
}

enum gw_status gw_pass_backward(struct gw_passes *x, enum gw_front_kind kind, size_t most,
                                double limit, double *bound, struct gw_error *error) {
    static const struct gw_front_pair end = {-INFINITY, 0};
    struct gw_front *fronts = x->backward[kind];
    fronts[x->tensors].count = 0;
    GW_TRY(gw_front_merge(&fronts[x->tensors], &end, 1, &x->scratch, error));
    gw_arcs_begin_pass(&x->arcs, kind == GW_STAIR);
    for (size_t p = x->tensors; p-- > 0 && !gw_passes_are_spent(x);) {
        struct opposite behind = know(x, &x->forward[GW_HULL][p], NULL, limit);
        struct gw_front_pair room = room_beside(&behind);
        struct gw_arc *row = NULL;
        size_t count = 0;
        size_t kept = 0;
        fronts[p].count = 0;
        if (behind.hull->count > 0) {
            struct gw_front_pair least = {behind.hull->pairs[0].first,
                                          behind.hull->pairs[behind.hull->count - 1].second};
            count = gw_arcs_row(&x->arcs, p, least, behind.relaxed, &row);
        }
        for (size_t i = 0; i < count; i++) {
            const struct gw_front *after = &fronts[row[i].to];
            bool promising = false;
            GW_TRY(gw_front_reserve(&x->run, after->count + 1, error));
            go_backward(after, x->arcs.ready[row[i].to], &row[i], room, &x->run);
            GW_TRY(unite(x, kind, most, &behind, &fronts[p], &promising, error));
            if (promising && kind == GW_STAIR) {
                row[kept++] = row[i];
            }
            x->work += (double)after->count;
        }
        GW_TRY(reduce(x, kind, most, behind.hull, &fronts[p], error));
        GW_TRY(gw_arcs_keep(&x->arcs, p, row, kept, error));
    }
    gw_passes_end(x);
    x->stairs_known = x->stairs_known || kind == GW_STAIR;
    *bound = gw_passes_are_spent(x) ? 0 : gw_front_complete(&fronts[0], 0, 0);
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

/* Before anything is known of what is ahead, at least what must be waited for. */
static enum gw_status promise_the_least(struct gw_passes *x, struct gw_error *error) {
    const struct gw_arcs *arcs = &x->arcs;
    double last = arcs->rising ? arcs->rest_exchange[x->tensors - 1] : 0;
    for (size_t p = 0; p <= x->tensors; p++) {
        struct gw_front_pair pair = {
            p < x->tensors ? arcs->ready[x->tensors] + arcs->rest_compress[p] + last : -INFINITY,
            arcs->rest_exchange[p]};
        GW_TRY(gw_front_merge(&x->backward[GW_HULL][p], &pair, 1, &x->scratch, error));
    }
    return GW_OK;
}

enum gw_status gw_passes_open(struct gw_passes *x, const struct gw_planning *planning,
                              double known_s, double most_work, struct gw_error *error) {
    size_t count = planning->model->tensor_count;
    *x = (struct gw_passes){.tensors = count, .most_work = most_work};
    bool complete = true;
    for (int kind = 0; kind < GW_FRONT_KINDS; kind++) {
        x->forward[kind] = calloc(count + 1, sizeof *x->forward[kind]);
        x->backward[kind] = calloc(count + 1, sizeof *x->backward[kind]);
        complete = complete && x->forward[kind] != NULL && x->backward[kind] != NULL;
        x->guess[kind] = 0x1p33;
    }
    if (!complete) {
        return gw_fail_memory(error, "planning");
    }
    GW_TRY(gw_arcs_open(&x->arcs, planning, known_s, error));
    return promise_the_least(x, error);
}

double gw_passes_least(const struct gw_passes *x) {
    return gw_hull_complete(&x->backward[GW_HULL][0], 0, 0) * (1 - gw_passes_slack(x));
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
    for (int kind = 0; kind < GW_FRONT_KINDS; kind++) {
        free_fronts(x->forward[kind], x->tensors + 1);
        free_fronts(x->backward[kind], x->tensors + 1);
    }
    free(x->scratch.pairs);
    free(x->run.pairs);
    free(x->promised);
    gw_arcs_close(&x->arcs);
}
