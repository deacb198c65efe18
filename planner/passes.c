#include "planner/search.h"

#include <math.h>
#include <stdlib.h>

/* ---- fronts carried over an arc ------------------------------------------------------------ */

/* Appends a pair unless the run has one that is as good; replaces pairs that are no better. */
static void append_pair(struct gw_front *run, double first, double second) {
    while (run->count > 0 && run->pairs[run->count - 1].first >= first) {
        run->count--;
    }
    if (run->count == 0 || second < run->pairs[run->count - 1].second) {
        run->pairs[run->count++] = (struct gw_front_pair){first, second};
    }
}

/*
 * Carries a front forward over an arc by (1) in docs/optimal-merging.md. Exchange begins at `ready`
 * + the first cost, or when the network is free, if that is later; once it is not later, pairs with
 * more compression gain nothing. Leaves out pairs that reach `room`, the limits of both costs at
 * the end of the arc.
 */
static void go_forward(const struct gw_front *before, double ready, const struct gw_arc *arc,
                       struct gw_front_pair room, struct gw_front *run) {
    const struct gw_front_pair *pair = before->pairs;
    const struct gw_front_pair *end = gw_front_end(before);
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
        append_pair(run, pair->first + arc->compress, ready + pair->first + arc->exchange);
    }
}

/* Carries a front of the costs still ahead backward over an arc, by (3): the mirror image. */
static void go_backward(const struct gw_front *after, double ready, const struct gw_arc *arc,
                        struct gw_front_pair room, struct gw_front *run) {
    const struct gw_front_pair *pair = after->pairs;
    const struct gw_front_pair *end = gw_front_end(after);
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
        append_pair(run, exchanged + pair[-1].second + arc->compress,
                    pair[-1].second + arc->exchange);
    }
    for (; pair < end && pair->first < most_first; pair++) {
        append_pair(run, pair->first + arc->compress, pair->second + arc->exchange);
    }
}

/* ---- passes -------------------------------------------------------------------------------- */

static enum gw_status thin_front(struct gw_passes *x, size_t most,
                                 const struct gw_front *opposite_hull, struct gw_front *front,
                                 struct gw_error *error) {
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

/* Reduces a finished real front to at most `most` pairs. */
static enum gw_status reduce_front(struct gw_passes *x, bool forward, size_t p, size_t most,
                                   struct gw_error *error) {
    struct gw_front *front = forward ? &x->forward[GW_REAL][p] : &x->backward[GW_REAL][p];
    const struct gw_front *hulls = forward ? x->backward[GW_HULL] : x->forward[GW_HULL];
    GW_TRY(thin_front(x, most, &hulls[p], front, error));
    gw_front_shrink(front);
    return GW_OK;
}

/*
 * Carries the front at one end of an arc from p over it and unites it with that of the other end,
 * but for pairs with which no plan takes less than the limit; tells if any is left.
 */
static enum gw_status carry_front(struct gw_passes *x, enum gw_front_kind kind, bool forward,
                                  size_t p, const struct gw_arc *arc, size_t most, double limit,
                                  bool *promising, struct gw_error *error) {
    static const size_t crowded = 8; /* merging into long fronts takes longer than thinning them */
    size_t to = forward ? arc->to : p;
    const struct gw_front *from = forward ? &x->forward[kind][p] : &x->backward[kind][arc->to];
    struct gw_front *front = forward ? &x->forward[kind][to] : &x->backward[kind][to];
    struct gw_front *const *opposite = forward ? x->backward : x->forward;
    const struct gw_front *hull = &opposite[GW_HULL][to];
    struct gw_front *run = &x->run;
    double relaxed = limit * (1 + gw_passes_slack(x));
    double ready = gw_arcs_ready(&x->arcs, p, arc);
    x->work += (double)from->count;
    *promising = false;
    if (hull->count == 0) {
        return GW_OK;
    }
    struct gw_front_pair room = {relaxed - hull->pairs[0].first,
                                 relaxed - hull->pairs[hull->count - 1].second};
    GW_TRY(gw_front_reserve(run, from->count + 1, error));
    if (forward) {
        go_forward(from, ready + arc->compress, arc, room, run);
    } else {
        go_backward(from, ready, arc, room, run);
    }
    run->count = gw_hull_keep(hull, relaxed, run->pairs, run->count);
    if (forward ? to >= x->exact_from : to <= x->exact_to) {
        run->count = gw_front_keep(&opposite[GW_STAIR][to], limit, run->pairs, run->count);
    }
    *promising = run->count > 0;
    GW_TRY(gw_front_merge(front, run->pairs, run->count, &x->scratch, error));
    return kind == GW_REAL && front->count > crowded * most
               ? thin_front(x, most, hull, front, error)
               : GW_OK;
}

/* Carries fronts over all arcs from p: forward to their ends, or backward to p. Keeps the arcs that
 * may be part of a plan that takes less than the limit. */
static enum gw_status carry_row(struct gw_passes *x, enum gw_front_kind kind, bool forward,
                                size_t p, size_t most, double limit, struct gw_error *error) {
    const struct gw_front *begun = forward ? &x->forward[kind][p] : &x->forward[GW_HULL][p];
    struct gw_arc *row = NULL;
    size_t count = 0;
    size_t kept = 0;
    if (begun->count > 0) {
        struct gw_front_pair least = {begun->pairs[0].first, begun->pairs[begun->count - 1].second};
        count = gw_arcs_row(&x->arcs, p, least, limit * (1 + gw_passes_slack(x)), &row);
    }
    for (size_t i = 0; i < count; i++) {
        bool promising = false;
        GW_TRY(carry_front(x, kind, forward, p, &row[i], most, limit, &promising, error));
        if (promising && x->arcs.dropping) {
            row[kept++] = row[i];
        }
    }
    return gw_arcs_keep(&x->arcs, p, row, kept, error);
}

/* Begins fronts of a kind from an end. */
static enum gw_status begin_fronts(struct gw_passes *x, enum gw_front_kind kind, bool forward,
                                   struct gw_error *error) {
    struct gw_front *fronts = forward ? x->forward[kind] : x->backward[kind];
    struct gw_front_pair start = {forward ? 0 : -INFINITY, 0};
    for (size_t p = 0; p <= x->tensors; p++) {
        fronts[p].count = 0;
    }
    return gw_front_merge(&fronts[forward ? 0 : x->tensors], &start, 1, &x->scratch, error);
}

enum gw_status gw_pass_real(struct gw_passes *x, bool forward, const struct gw_widths *widths,
                            double limit, struct gw_error *error) {
    size_t most = widths->real;
    GW_TRY(begin_fronts(x, GW_REAL, forward, error));
    gw_arcs_begin_pass(&x->arcs, false);
    for (size_t done = 0; done < x->tensors && !gw_passes_are_spent(x); done++) {
        size_t p = forward ? done : x->tensors - 1 - done;
        if (forward) {
            GW_TRY(reduce_front(x, true, p, most, error));
        }
        GW_TRY(carry_row(x, GW_REAL, forward, p, most, limit, error));
        if (!forward) {
            GW_TRY(reduce_front(x, false, p, most, error));
        }
    }
    gw_passes_end(x);
    x->meeting = gw_meeting_at_end(x, forward);
    return GW_OK;
}

/* Finds where stairs of both ends promise least together; returns what they promise. */
static double meet_stairs(struct gw_passes *x) {
    double least = INFINITY;
    for (size_t q = x->exact_to; q <= x->tensors; q++) {
        const struct gw_front *forward = &x->forward[GW_STAIR][q];
        for (size_t i = 0; i < forward->count; i++) {
            struct gw_front_pair pair = forward->pairs[i];
            double promised = gw_front_complete(&x->backward[GW_STAIR][q], pair.first, pair.second);
            if (promised < least) {
                least = promised;
                x->meeting = (struct gw_meeting){.at = q, .before = pair};
            }
        }
    }
    const struct gw_front *backward = &x->backward[GW_STAIR][x->meeting.at];
    for (size_t i = 0; isfinite(least) && i < backward->count; i++) {
        struct gw_front_pair pair = backward->pairs[i];
        if (fmax(x->meeting.before.first + pair.first, x->meeting.before.second + pair.second) <=
            least) {
            x->meeting.after = pair;
        }
    }
    return least;
}

/* Leaves out pairs of stairs with which, by newer hulls, no plan takes less than the limit. */
static void keep_stairs(struct gw_passes *x, double limit) {
    double relaxed = limit * (1 + gw_passes_slack(x));
    for (size_t p = 0; p <= x->tensors; p++) {
        struct gw_front *forward = &x->forward[GW_STAIR][p];
        struct gw_front *backward = &x->backward[GW_STAIR][p];
        forward->count =
            gw_hull_keep(&x->backward[GW_HULL][p], relaxed, forward->pairs, forward->count);
        backward->count =
            gw_hull_keep(&x->forward[GW_HULL][p], relaxed, backward->pairs, backward->count);
    }
}

/* Keeps all arcs from the positions between. */
static enum gw_status keep_rows(struct gw_passes *x, size_t from, size_t to,
                                struct gw_error *error) {
    for (size_t p = from; p < to; p++) {
        static const struct gw_front_pair start = {0, 0};
        struct gw_arc *row = NULL;
        size_t count = gw_arcs_row(&x->arcs, p, start, INFINITY, &row);
        GW_TRY(gw_arcs_keep(&x->arcs, p, row, count, error));
    }
    return GW_OK;
}

enum gw_status gw_pass_stairs(struct gw_passes *x, const struct gw_widths *widths, double limit,
                              double *bound, struct gw_error *error) {
    double begun = x->work;
    keep_stairs(x, limit);
    gw_arcs_begin_pass(&x->arcs, true);
    GW_TRY(keep_rows(x, 0, x->exact_to, error));
    GW_TRY(keep_rows(x, x->exact_from, x->tensors, error));
    while (x->exact_to < x->exact_from && !gw_passes_are_spent(x)) {
        struct gw_front *ahead = &x->forward[GW_STAIR][x->exact_to + 1];
        struct gw_front *behind = &x->backward[GW_STAIR][x->exact_from - 1];
        size_t forward = ahead[-1].count;
        size_t backward = behind[1].count;
        if ((forward > widths->exact && backward > widths->exact) || x->work > 2 * begun) {
            break;
        }
        if (forward <= backward) {
            GW_TRY(carry_row(x, GW_STAIR, true, x->exact_to++, 0, limit, error));
            gw_front_shrink(ahead);
        } else {
            behind->count = 0;
            GW_TRY(carry_row(x, GW_STAIR, false, --x->exact_from, 0, limit, error));
            gw_front_shrink(behind);
        }
    }
    for (size_t p = x->exact_from; p-- > x->exact_to && !gw_passes_are_spent(x);) {
        struct gw_front *front = &x->backward[GW_STAIR][p];
        front->count = 0;
        GW_TRY(carry_row(x, GW_STAIR, false, p, 0, limit, error));
        gw_front_squeeze(front, widths->stairs, &x->guess[GW_STAIR]);
        gw_front_shrink(front);
    }
    gw_passes_end(x);
    *bound = gw_passes_are_spent(x) ? 0 : meet_stairs(x);
    return GW_OK;
}

/* ---- plans --------------------------------------------------------------------------------- */

/* Marks the groups of a plan before a position, by the rest that follows. */
static bool trace_back(struct gw_passes *x, enum gw_front_kind kind, size_t *marks) {
    struct gw_front_pair rest = x->meeting.after;
    for (size_t q = x->meeting.at; q > 0;) {
        double promised = INFINITY;
        struct gw_front_pair next = rest;
        size_t from = q;
        for (size_t p = q; p-- > 0 && q - p <= x->arcs.longest;) {
            const struct gw_arc *arc = NULL;
            size_t count = x->forward[kind][p].count == 0 ? 0 : gw_arcs_find(&x->arcs, p, q, &arc);
            for (; count > 0; count--, arc++) {
                double second = arc->exchange + rest.second;
                double first =
                    arc->compress + fmax(rest.first, gw_arcs_ready(&x->arcs, p, arc) + second);
                double time = gw_front_complete(&x->forward[kind][p], first, second);
                if (time < promised) {
                    promised = time;
                    next = (struct gw_front_pair){first, second};
                    from = p;
                    marks[q] = 1 + arc->choice;
                }
            }
        }
        if (from == q) {
            return false;
        }
        q = from;
        rest = next;
    }
    return true;
}

/* Marks the groups of a plan from a position on, by its beginning. */
static bool trace_on(struct gw_passes *x, enum gw_front_kind kind, size_t *marks) {
    struct gw_front_pair state = x->meeting.before;
    for (size_t p = x->meeting.at; p < x->tensors;) {
        double promised = INFINITY;
        struct gw_front_pair next = state;
        struct gw_arc *row = NULL;
        const struct gw_arc *best = NULL;
        size_t count = gw_arcs_row(&x->arcs, p, state, INFINITY, &row);
        for (size_t i = 0; i < count; i++) {
            double compress = state.first + row[i].compress;
            double clock = fmax(state.second, gw_arcs_ready(&x->arcs, p, &row[i]) + compress) +
                           row[i].exchange;
            double time = gw_front_complete(&x->backward[kind][row[i].to], compress, clock);
            if (time < promised) {
                promised = time;
                next = (struct gw_front_pair){compress, clock};
                best = &row[i];
            }
        }
        if (best == NULL) {
            return false;
        }
        p = best->to;
        state = next;
        marks[p] = 1 + best->choice;
    }
    return true;
}

bool gw_passes_trace(struct gw_passes *x, enum gw_front_kind kind, size_t *marks) {
    return trace_back(x, kind, marks) && trace_on(x, kind, marks);
}

/* ---- opening and closing ------------------------------------------------------------------- */

/* Bounds the costs ahead before any backward pass, by the least that is left to do. */
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

enum gw_status gw_passes_open(struct gw_passes *x, const struct gw_mix *choices, double weight_s,
                              double known_s, double most_work, struct gw_error *error) {
    size_t count = choices->costs->model->tensor_count;
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
    x->exact_from = count;
    GW_TRY(begin_fronts(x, GW_STAIR, true, error));
    GW_TRY(begin_fronts(x, GW_STAIR, false, error));
    GW_TRY(gw_arcs_open(&x->arcs, choices, weight_s, known_s, error));
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
