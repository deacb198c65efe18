/* Least weighted sums of the two costs, by passes over the arcs that make hulls of them. */
#include "planner/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The larger of two numbers that are not NaN, in a single instruction, unlike fmax. */
static inline double larger(double a, double b) {
    return a > b ? a : b;
}

/* ---- opening and closing ------------------------------------------------------------------- */

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

/* ---- over arcs ----------------------------------------------------------------------------- */

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

/* ---- passes -------------------------------------------------------------------------------- */

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
