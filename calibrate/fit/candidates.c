/* Fits kinds of cost curves to points, and chooses the one that predicts held-out sizes best. */
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/fit.h"

const char *const gw_candidate_names[GW_CANDIDATE_KINDS] = {"straight", "nlog2n", "two-segment",
                                                            "points"};

/* ---- fitting ------------------------------------------------------------------------------- */

enum {
    SEGMENT_POINTS = 3,         /* minimum number of points of a segment */
    HELD_OUT_SEGMENT_POINTS = 2 /* the minimum if one of them may be held out */
};

static double residual_at(const struct gw_curve *curve, const struct gw_curve_point *point) {
    return (gw_curve_time(curve, point->size) - point->time_s) / point->time_s;
}

static double loss_over(const struct gw_curve *curve, const struct gw_curve_point *points,
                        size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += fabs(residual_at(curve, &points[i]));
    }
    return sum;
}

/* Tries every break. Adds relative errors without squaring them, so that an outlier does not
 * determine it. */
static enum gw_status find_best_break(const struct gw_curve_point *points, size_t count,
                                      size_t fewest, struct gw_candidate *out,
                                      struct gw_error *error) {
    double best = INFINITY;
    for (size_t first = fewest; first + fewest <= count; first++) {
        struct gw_fit low;
        struct gw_fit high;
        GW_TRY(gw_fit_curve(GW_STRAIGHT, points, first, &low, error));
        GW_TRY(gw_fit_segment(points + first, count - first, &high, error));
        double loss = loss_over(&low.curve, points, first) +
                      loss_over(&high.curve, points + first, count - first);
        if (loss < best) {
            best = loss;
            out->first_count = first;
            out->fits[0] = low;
            out->fits[1] = high;
        }
    }
    return GW_OK;
}

/*
 * Fits one line up to a size and another from the next on; the curve consists of the ends of both.
 */
static enum gw_status fit_two_segments(const struct gw_curve_point *points, size_t count,
                                       size_t fewest, struct gw_candidate *out,
                                       struct gw_error *error) {
    if (count < 2 * fewest) {
        return GW_OK;
    }
    GW_TRY(find_best_break(points, count, fewest, out, error));
    size_t corners[4] = {0, out->first_count - 1, out->first_count, count - 1};
    struct gw_curve_point *ends = calloc(4, sizeof *ends);
    if (ends == NULL) {
        return gw_fail_memory(error, "fitting a cost curve");
    }
    for (int i = 0; i < 4; i++) {
        double size = points[corners[i]].size;
        ends[i] = (struct gw_curve_point){.size = size,
                                          .time_s = gw_curve_time(&out->fits[i / 2].curve, size)};
    }
    out->curve = (struct gw_curve){.point_count = 4, .points = ends};
    out->fitted = true;
    return GW_OK;
}

static enum gw_status fit_shape(enum gw_curve_shape shape, const struct gw_curve_point *points,
                                size_t count, struct gw_candidate *out, struct gw_error *error) {
    GW_TRY(gw_fit_curve(shape, points, count, &out->fits[0], error));
    out->curve = out->fits[0].curve;
    out->fitted = true;
    return GW_OK;
}

/* fewest: minimum number of points of a segment. */
static enum gw_status fit_kind(enum gw_candidate_kind kind, const struct gw_curve_point *points,
                               size_t count, size_t fewest, struct gw_candidate *out,
                               struct gw_error *error) {
    *out = (struct gw_candidate){.kind = kind};
    switch (kind) {
    case GW_CANDIDATE_STRAIGHT:
        return fit_shape(GW_STRAIGHT, points, count, out, error);
    case GW_CANDIDATE_NLOG2N:
        return fit_shape(GW_NLOG2N, points, count, out, error);
    case GW_CANDIDATE_TWO_SEGMENT:
        return fit_two_segments(points, count, fewest, out, error);
    default:
        out->fitted = true;
        return gw_curve_copy(
            &(struct gw_curve){.point_count = count,
                               .points = (struct gw_curve_point *)(uintptr_t)points},
            &out->curve, error);
    }
}

struct gw_curve gw_median_line(const struct gw_curve_point *points, size_t count) {
    double values[GW_MAX_LAST_POINTS * (GW_MAX_LAST_POINTS - 1) / 2];
    struct gw_curve line = {0};
    size_t pairs = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i + 1; j < count; j++) {
            values[pairs++] =
                (points[j].time_s - points[i].time_s) / (points[j].size - points[i].size);
        }
    }
    gsl_sort(values, 1, pairs);
    line.per_unit_s = gsl_stats_median_from_sorted_data(values, 1, pairs);
    for (size_t i = 0; i < count; i++) {
        values[i] = points[i].time_s - line.per_unit_s * points[i].size;
    }
    gsl_sort(values, 1, count);
    line.fixed_s = gsl_stats_median_from_sorted_data(values, 1, count);
    return line;
}

/* ---- errors of held-out sizes -------------------------------------------------------------- */

/* Predicts each size from the others, except the ends, which points could only extrapolate. */
static enum gw_status hold_out(struct gw_candidate *candidate, const struct gw_curve_point *points,
                               size_t count, struct gw_curve_point *others,
                               struct gw_error *error) {
    double off_s = 0;
    double sum_s = 0;
    for (size_t held = 1; held + 1 < count; held++) {
        struct gw_candidate rest;
        memcpy(others, points, held * sizeof *points);
        memcpy(others + held, points + held + 1, (count - held - 1) * sizeof *points);
        GW_TRY(fit_kind(candidate->kind, others, count - 1, HELD_OUT_SEGMENT_POINTS, &rest, error));
        double residual = residual_at(&rest.curve, &points[held]);
        gw_curve_free(&rest.curve);
        candidate->residuals[candidate->held_out++] = residual;
        candidate->held_out_mean += fabs(residual) / ((double)count - 2);
        candidate->held_out_max = fmax(candidate->held_out_max, fabs(residual));
        off_s += fabs(residual) * points[held].time_s;
        sum_s += points[held].time_s;
    }
    candidate->held_out_costly = sum_s > 0 ? off_s / sum_s : 0;
    return GW_OK;
}

static enum gw_status open_one(enum gw_candidate_kind kind, const struct gw_curve_point *points,
                               size_t count, struct gw_curve_point *others,
                               struct gw_candidate *out, struct gw_error *error) {
    GW_TRY(fit_kind(kind, points, count, SEGMENT_POINTS, out, error));
    if (!out->fitted) {
        return GW_OK;
    }
    out->residuals = calloc(count + 1, sizeof *out->residuals);
    if (out->residuals == NULL) {
        return gw_fail_memory(error, "judging cost curves");
    }
    double off_s = 0;
    double sum_s = 0;
    for (size_t i = 0; i < count; i++) {
        off_s += fabs(residual_at(&out->curve, &points[i])) * points[i].time_s;
        sum_s += points[i].time_s;
    }
    out->costly_error = off_s / sum_s;
    return hold_out(out, points, count, others, error);
}

/* ---- choosing ------------------------------------------------------------------------------ */

/*
 * One-sided: a straight line is compared with two richer kinds, and must be kept in 95% of cases.
 */
static const double level = 0.025;

/* Returns the share of the 2^count ways to sign the ranks 1 .. count for which the ranks with a
 * plus add up to `sum` or more. shares: [1 + count (count + 1) / 2]. */
static double tail_of_signed_ranks(size_t count, double sum, double *shares) {
    size_t reach = 0;
    shares[0] = 1;
    for (size_t rank = 1; rank <= count; rank++) {
        for (size_t s = reach + 1; s <= reach + rank; s++) {
            shares[s] = 0;
        }
        reach += rank;
        for (size_t s = reach + 1; s-- > 0;) {
            shares[s] = 0.5 * (shares[s] + (s >= rank ? shares[s - rank] : 0));
        }
    }
    double tail = 0;
    for (size_t s = reach + 1; s-- > 0 && (double)s >= sum;) {
        tail += shares[s];
    }
    return tail;
}

/* Lists the differences of the poorer candidate's losses and the richer one's, without differences
 * that are only rounding. */
static size_t find_gains(const struct gw_candidate *richer, const struct gw_candidate *poorer,
                         double *gains) {
    static const double rounding = 1e-9;
    size_t count = 0;
    for (size_t i = 0; i < poorer->held_out; i++) {
        double gain = fabs(poorer->residuals[i]) - fabs(richer->residuals[i]);
        if (fabs(gain) > rounding) {
            gains[count++] = gain;
        }
    }
    return count;
}

/* The sum of the ranks of positive gains, among all gains ranked by magnitude; equal ones share
 * ranks. */
static double sum_ranks(const double *gains, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double rank = 0.5;
        for (size_t j = 0; j < count; j++) {
            double difference = fabs(gains[i]) - fabs(gains[j]);
            rank += difference > 0 ? 1 : difference < 0 ? 0 : 0.5;
        }
        sum += gains[i] > 0 ? rank : 0;
    }
    return sum;
}

/*
 * Few sizes, or a few large gains, are not significant, however large the gains are. A straight
 * line with noise looks this much worse than richer kinds in fewer than 3% of cases
 * (candidates_test).
 */
static const double far_better = 0.6;

/* True if residuals are correlated with their neighbours, as for a curve of another shape: for
 * noise alone the correlation is about -1/n +- 1/sqrt(n). */
static bool has_trend(const struct gw_candidate *candidate) {
    enum { MIN_TREND_POINTS = 6 };
    double products = 0;
    double squares = 0;
    for (size_t i = 0; i < candidate->held_out; i++) {
        const double *residual = &candidate->residuals[i];
        squares += residual[0] * residual[0];
        products += i > 0 ? residual[-1] * residual[0] : 0;
    }
    double n = (double)candidate->held_out;
    return n >= MIN_TREND_POINTS && products > (2 / sqrt(n) - 1 / n) * squares;
}

/* room: scratch memory for held_out gains and the shares of their ranks. */
static bool significantly_better(const struct gw_candidate *richer,
                                 const struct gw_candidate *poorer, double noise, double *room) {
    static const double worth_it = 0.05;
    size_t count = find_gains(richer, poorer, room);
    double sum = sum_ranks(room, count);
    return richer->held_out_mean < far_better * poorer->held_out_mean ||
           (richer->costly_error < far_better * poorer->costly_error &&
            (has_trend(poorer) ||
             (poorer->costly_error > worth_it && poorer->costly_error > 2 * noise))) ||
           (richer->held_out_mean < poorer->held_out_mean &&
            tail_of_signed_ranks(count, sum, room + count) <= level);
}

static enum gw_candidate_kind choose_kind(const struct gw_candidate candidates[GW_CANDIDATE_KINDS],
                                          double noise, double *room) {
    const struct gw_candidate *best = NULL;
    for (size_t k = 0; k < GW_CANDIDATE_KINDS; k++) {
        const struct gw_candidate *candidate = &candidates[k];
        bool as_rich = k <= GW_CANDIDATE_NLOG2N;
        if (candidate->fitted &&
            (best == NULL || (as_rich ? candidate->held_out_mean < best->held_out_mean
                                      : significantly_better(candidate, best, noise, room)))) {
            best = candidate;
        }
    }
    return best == NULL ? GW_CANDIDATE_POINTS : best->kind;
}

enum gw_status gw_candidates_open(const bool wanted[GW_CANDIDATE_KINDS],
                                  const struct gw_curve_point *points, size_t count,
                                  struct gw_candidate out[GW_CANDIDATE_KINDS],
                                  enum gw_candidate_kind *chosen, struct gw_error *error) {
    memset(out, 0, GW_CANDIDATE_KINDS * sizeof *out);
    struct gw_curve_point *others = calloc(count + 1, sizeof *others);
    double *room = calloc(1 + 2 * count + count * count / 2, sizeof *room);
    enum gw_status status =
        others == NULL || room == NULL ? gw_fail_memory(error, "judging cost curves") : GW_OK;
    for (size_t k = 0; k < GW_CANDIDATE_KINDS && status == GW_OK; k++) {
        if (wanted[k]) {
            status = open_one((enum gw_candidate_kind)k, points, count, others, &out[k], error);
        }
    }
    if (status == GW_OK) {
        const struct gw_candidate *joined = &out[GW_CANDIDATE_POINTS];
        double mean = joined->held_out_mean;
        double noise = fmin(fmax(joined->held_out_costly, mean / 2), mean);
        size_t last = gw_last_points(points, count);
        if (last > 0) { /* the mean distance of the last points from the line through them */
            struct gw_curve line = gw_median_line(points + count - last, last);
            double n = (double)last;
            noise =
                fmin(noise, sqrt(n / (n - 2)) * loss_over(&line, points + count - last, last) / n);
        }
        *chosen = choose_kind(out, noise, room);
    } else {
        gw_candidates_close(out);
    }
    free(others);
    free(room);
    return status;
}

void gw_candidates_close(struct gw_candidate candidates[GW_CANDIDATE_KINDS]) {
    for (size_t k = 0; k < GW_CANDIDATE_KINDS; k++) {
        gw_curve_free(&candidates[k].curve);
        free(candidates[k].residuals);
        candidates[k] = (struct gw_candidate){0};
    }
}
