#include "planner/lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As fmax and fmin, but a single instruction: no number here is NaN. */
static inline double larger(double a, double b) {
    return a > b ? a : b;
}

static inline double smaller(double a, double b) {
    return a < b ? a : b;
}

/* ---- opening and closing ------------------------------------------------------------------- */

/* At the last position nothing is left to compress, and no time to exchange. */
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

/* ---- better weights ------------------------------------------------------------------------ */

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

/* The ends, the weights of at least `least` uses, and one on either side of each of those. */
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
static double *resample(const struct gw_lines *lines, const double *sums, const double *weights,
                        size_t count) {
    double *made = calloc((lines->tensors + 1) * count, sizeof *made);
    for (size_t i = 0, below = 0; made != NULL && i < count; i++) {
        while (below + 2 < lines->count && lines->weights[below + 1] <= weights[i]) {
            below++;
        }
        double from = lines->weights[below];
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
    size_t uses[GW_MOST_WEIGHTS] = {0};
    double weights[2 * GW_MOST_WEIGHTS];
    size_t count = 2 * GW_MOST_WEIGHTS;
    count_uses(lines, uses);
    for (size_t least = 1; count > most; least *= 2) {
        count = list_weights(lines, uses, least, weights);
    }
    struct gw_lines refined = {.tensors = lines->tensors,
                               .count = count,
                               .forward = resample(lines, lines->forward, weights, count),
                               .backward = resample(lines, lines->backward, weights, count)};
    memcpy(refined.weights, weights, count * sizeof *weights);
    gw_lines_close(lines);
    *lines = refined;
    if (lines->forward == NULL || lines->backward == NULL) {
        return gw_fail_memory(error, "planning");
    }
    end_backward(lines);
    return GW_OK;
}

/* ---- over arcs ----------------------------------------------------------------------------- */

/*
 * Leads the lines before an arc over it; returns the least time that they promise together with
 * those after it. A line of weight w at the arc's end comes from any of w' >= w at its beginning:
 * T' is at least any mean of T + e and R + A' + e, and w' - w is what the latter weighs.
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

/* Lowers the lines at a position to those of one more arc. */
static void unite(size_t count, const double *led, double *sums) {
    for (size_t i = 0; i < count; i++) {
        sums[i] = smaller(sums[i], led[i]);
    }
}

/* ---- passes -------------------------------------------------------------------------------- */

static void clear(size_t count, double *sums) {
    for (size_t i = 0; i < count; i++) {
        sums[i] = INFINITY;
    }
}

/* The bound of a pass, from where it ended. */
static double conclude(const struct gw_lines *lines, const struct gw_passes *x, size_t position) {
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

enum gw_status gw_lines_forward(struct gw_lines *lines, struct gw_passes *x, double limit,
                                double *bound, struct gw_error *error) {
    size_t count = lines->count;
    double relaxed = limit * (1 + gw_passes_slack(x));
    double led[GW_MOST_WEIGHTS];
    for (size_t p = 1; p <= x->tensors; p++) {
        clear(count, lines->forward + p * count);
    }
    memset(lines->forward, 0, count * sizeof *lines->forward);
    gw_arcs_begin_pass(&x->arcs, true);
    for (size_t p = 0; p < x->tensors && !gw_passes_are_spent(x); p++) {
        const double *before = lines->forward + p * count;
        struct gw_front *hull = &x->forward[GW_HULL][p];
        struct gw_arc *row = NULL;
        size_t arcs = 0;
        size_t kept = 0;
        GW_TRY(gw_hull_from_lines(hull, lines->weights, before, count, error));
        if (hull->count > 0) {
            struct gw_front_pair least = {before[count - 1], before[0]};
            arcs = gw_arcs_row(&x->arcs, p, least, relaxed, &row);
        }
        for (size_t i = 0; i < arcs; i++) {
            size_t q = row[i].to;
            const double *after = lines->backward + q * count;
            if (lead_forward(lines, &row[i], x->arcs.ready[q], before, after, led) < relaxed) {
                unite(count, led, lines->forward + q * count);
                row[kept++] = row[i];
            }
        }
        x->work += (double)(arcs * count);
        GW_TRY(gw_arcs_keep(&x->arcs, p, row, kept, error));
    }
    gw_passes_end(x);
    *bound = conclude(lines, x, x->tensors);
    return gw_hull_from_lines(&x->forward[GW_HULL][x->tensors], lines->weights,
                              lines->forward + x->tensors * count, count, error);
}

enum gw_status gw_lines_backward(struct gw_lines *lines, struct gw_passes *x, double limit,
                                 double *bound, struct gw_error *error) {
    size_t count = lines->count;
    double relaxed = limit * (1 + gw_passes_slack(x));
    double led[GW_MOST_WEIGHTS];
    gw_arcs_begin_pass(&x->arcs, true);
    for (size_t p = x->tensors; p-- > 0 && !gw_passes_are_spent(x);) {
        const double *before = lines->forward + p * count;
        struct gw_front *hull = &x->backward[GW_HULL][p];
        struct gw_arc *row = NULL;
        size_t arcs = 0;
        size_t kept = 0;
        clear(count, lines->backward + p * count);
        if (!isinf(before[0])) {
            struct gw_front_pair least = {before[count - 1], before[0]};
            arcs = gw_arcs_row(&x->arcs, p, least, relaxed, &row);
        }
        for (size_t i = 0; i < arcs; i++) {
            size_t q = row[i].to;
            const double *after = lines->backward + q * count;
            if (lead_backward(lines, &row[i], x->arcs.ready[q], after, before, led) < relaxed) {
                unite(count, led, lines->backward + p * count);
                row[kept++] = row[i];
            }
        }
        x->work += (double)(arcs * count);
        GW_TRY(gw_hull_from_lines(hull, lines->weights, lines->backward + p * count, count, error));
        GW_TRY(gw_arcs_keep(&x->arcs, p, row, kept, error));
    }
    gw_passes_end(x);
    *bound = conclude(lines, x, 0);
    return GW_OK;
}
