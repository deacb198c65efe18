#include "planner/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- lines --------------------------------------------------------------------------------- */

/* The larger of two numbers that are not NaN, in a single instruction, unlike fmax. */
static inline double larger(double a, double b) {
    return a > b ? a : b;
}

/* ---- lines: opening and closing -------------------------------------------------------------- */

/* Begins at the last position, where nothing is left to compress or to exchange. */
static void end_backward(struct gw_lines *lines) {
    for (size_t i = 0; i < lines->count; i++) {
        lines->backward[lines->tensors * lines->count + i] = i == 0 ? 0 : -INFINITY;
    }
}

enum gw_status gw_lines_open(struct gw_lines *lines, const struct gw_passes *x,
                             struct gw_error *error) {
    enum { count = 9 };
    size_t positions = x->tensors + 1;
    *lines = (struct gw_lines){.tensors = x->tensors,
                               .count = count,
                               .forward = calloc(positions * count, sizeof(double)),
                               .backward = calloc(positions * count, sizeof(double))};
    if (lines->forward == NULL || lines->backward == NULL) {
        return gw_fail_memory(error, "planning");
    }
    /* The weights that matter are mostly a little below 1, how little is not known beforehand. */
    for (size_t i = 0; i < count; i++) {
        lines->weights[i] = i + 1 < count ? 1 - pow(4, -(double)i) : 1;
    }
    for (size_t p = 0; p < x->tensors; p++) {
        const struct gw_front_pair *pair = x->backward[GW_HULL][p].pairs;
        for (size_t i = 0; i < count; i++) {
            lines->backward[p * count + i] =
                lines->weights[i] * pair->first + (1 - lines->weights[i]) * pair->second;
        }
    }
    end_backward(lines);
    return GW_OK;
}

void gw_lines_close(struct gw_lines *lines) {
    free(lines->forward);
    free(lines->backward);
    *lines = (struct gw_lines){0};
}

/* ---- lines: better weights ------------------------------------------------------------------- */

/* Counts, for each weight, the positions where with it both ends promise most. */
static void count_uses(const struct gw_lines *lines, size_t *uses) {
    for (size_t p = 0; p < lines->tensors; p++) {
        const double *before = lines->forward + p * lines->count;
        const double *after = lines->backward + p * lines->count;
        size_t best = 0;
        for (size_t i = 1; i < lines->count; i++) {
            best = before[i] + after[i] > before[best] + after[best] ? i : best;
        }
        uses[best] += !isinf(before[best] + after[best]);
    }
}

/* Chooses weights: both ends, those with at least `least` uses, and their neighbours. */
static size_t list_weights(const struct gw_lines *lines, const size_t *uses, size_t least,
                           double *weights) {
    static const double least_distance = 1e-9;
    size_t last = lines->count - 1;
    size_t count = 0;
    for (size_t i = 0; i <= last; i++) {
        double weight = lines->weights[i];
        double before = i > 0 ? lines->weights[i - 1] : weight;
        if (weight - before > least_distance && (uses[i - 1] >= least || uses[i] >= least)) {
            weights[count++] = i == last ? 1 - (1 - before) / 4 : (before + weight) / 2;
        }
        if (i == 0 || i == last || uses[i] >= least) {
            weights[count++] = weight;
        }
    }
    return count;
}

/*
 * The sums of one end for other weights; NULL if memory ran out. Least sums are concave in the
 * weight: between two that are known, they are on or above the chord.
 */
static double *resample_lines(const struct gw_lines *lines, const double *sums,
                              const double *weights, size_t count) {
    double *made = calloc((lines->tensors + 1) * count, sizeof *made);
    for (size_t i = 0, below = 0; made != NULL && i < count; i++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): all `count` are set */
        while (below + 2 < lines->count && lines->weights[below + 1] <= weights[i]) {
            below++;
        }
        double from = lines->weights[below];
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): as above */
        double share = (weights[i] - from) / (lines->weights[below + 1] - from);
        for (size_t p = 0; p <= lines->tensors; p++) {
            const double *known = sums + p * lines->count + below;
            made[p * count + i] =
                isinf(known[0]) ? known[0] : known[0] + share * (known[1] - known[0]);
        }
    }
    return made;
}

enum gw_status gw_lines_refine(struct gw_lines *lines, size_t most, struct gw_error *error) {
    size_t uses[GW_MAX_WEIGHTS] = {0};
    double weights[2 * GW_MAX_WEIGHTS];
    size_t count = 2 * GW_MAX_WEIGHTS;
    count_uses(lines, uses);
    for (size_t least = 1; count > most; least *= 2) {
        count = list_weights(lines, uses, least, weights);
    }
    struct gw_lines refined = {.tensors = lines->tensors,
                               .count = count,
                               .forward = resample_lines(lines, lines->forward, weights, count),
                               .backward = resample_lines(lines, lines->backward, weights, count)};
    memcpy(refined.weights, weights, count * sizeof *weights);
    gw_lines_close(lines);
    *lines = refined;
    if (lines->forward == NULL || lines->backward == NULL) {
        return gw_fail_memory(error, "planning");
    }
    end_backward(lines);
    return GW_OK;
}

/* ---- lines: over arcs ------------------------------------------------------------------------ */

/*
 * Leads the lines before an arc over it; returns the least time that they promise together with
 * those after it. A line of weight w at the arc's end comes from any of w' >= w at its beginning:
 * T' is at least any mean of T + e and R + A' + e, in which the latter has weight w' - w.
 */
static double lead_forward(const struct gw_lines *lines, const struct gw_arc *arc, double ready,
                           const double *before, const double *after, double *led) {
    double least = -INFINITY;
    double bound = -INFINITY;
    for (size_t i = lines->count; i-- > 0;) {
        double weight = lines->weights[i];
        least = larger(least, before[i] + weight * (arc->compress + ready));
        led[i] = least - weight * ready + (1 - weight) * arc->exchange;
        bound = larger(bound, led[i] + after[i]);
    }
    return bound;
}

/* The mirror image: from the lines after an arc to those before it. */
static double lead_backward(const struct gw_lines *lines, const struct gw_arc *arc, double ready,
                            const double *after, const double *before, double *led) {
    double least = -INFINITY;
    double bound = -INFINITY;
    for (size_t i = 0; i < lines->count; i++) {
        double weight = lines->weights[i];
        least = larger(least, after[i] + (1 - weight) * arc->exchange - weight * ready);
        led[i] = least + weight * (arc->compress + ready);
        bound = larger(bound, led[i] + before[i]);
    }
    return bound;
}

/* ---- lines: passes --------------------------------------------------------------------------- */

/* The bound of a pass, from where it ended. */
static double conclude_pass(const struct gw_lines *lines, const struct gw_passes *x,
                            size_t position) {
    const double *before = lines->forward + position * lines->count;
    const double *after = lines->backward + position * lines->count;
    double bound = -INFINITY;
    if (gw_passes_are_spent(x)) {
        return 0;
    }
    if (before[0] == INFINITY || after[0] == INFINITY) {
        return INFINITY;
    }
    for (size_t i = 0; i < lines->count; i++) {
        bound = larger(bound, before[i] + after[i]);
    }
    return bound * (1 - gw_passes_slack(x));
}

enum gw_status gw_pass_of_lines(struct gw_lines *lines, struct gw_passes *x, bool forward,
                                double limit, double *bound, struct gw_error *error) {
    size_t count = lines->count;
    double relaxed = limit * (1 + gw_passes_slack(x));
    double led[GW_MAX_WEIGHTS];
    double *made = forward ? lines->forward : lines->backward;
    struct gw_front *hulls = forward ? x->forward[GW_HULL] : x->backward[GW_HULL];
    for (size_t p = 0; p < x->tensors; p++) {
        for (size_t i = 0; i < count; i++) {
            made[(forward ? p + 1 : p) * count + i] = INFINITY;
        }
    }
    if (forward) {
        memset(made, 0, count * sizeof *made);
    }
    gw_arcs_begin_pass(&x->arcs, true);
    for (size_t done = 0; done < x->tensors && !gw_passes_are_spent(x); done++) {
        size_t p = forward ? done : x->tensors - 1 - done;
        const double *before = lines->forward + p * count;
        struct gw_arc *row = NULL;
        size_t arcs = 0;
        size_t kept = 0;
        if (!isinf(before[0])) {
            struct gw_front_pair least = {before[count - 1], before[0]};
            arcs = gw_arcs_row(&x->arcs, p, least, relaxed, &row);
        }
        for (size_t i = 0; i < arcs; i++) {
            size_t q = row[i].to;
            const double *after = lines->backward + q * count;
            double ready = gw_arcs_ready(&x->arcs, p, &row[i]);
            double least = forward ? lead_forward(lines, &row[i], ready, before, after, led)
                                   : lead_backward(lines, &row[i], ready, after, before, led);
            if (least < relaxed) {
                double *sums = made + (forward ? q : p) * count;
                for (size_t k = 0; k < count; k++) {
                    sums[k] = led[k] < sums[k] ? led[k] : sums[k];
                }
                row[kept++] = row[i];
            }
        }
        x->work += (double)(arcs * count);
        GW_TRY(gw_hull_from_lines(&hulls[p], lines->weights, made + p * count, count, error));
        GW_TRY(gw_arcs_keep(&x->arcs, p, row, kept, error));
    }
    gw_passes_end(x);
    x->meeting = gw_meeting_at_end(x, forward);
    *bound = conclude_pass(lines, x, forward ? x->tensors : 0);
    return forward ? gw_hull_from_lines(&hulls[x->tensors], lines->weights,
                                        made + x->tensors * count, count, error)
                   : GW_OK;
}
