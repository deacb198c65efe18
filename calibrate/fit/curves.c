/* What a cost curve may be, and which of these predicts sizes that were not measured best. */
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/fit.h"

const char *const gw_candidate_names[GW_CANDIDATE_KINDS] = {"straight", "nlog2n", "two-segment",
                                                            "points"};

/* ---- fitting ------------------------------------------------------------------------------- */

enum {
    SEGMENT_POINTS = 3,         /* that a segment has at least */
    HELD_OUT_SEGMENT_POINTS = 2 /* when one of them may be held out */
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

/* Every break is tried; relative errors are added as they are, or an outlier would choose it. */
static enum gw_status find_break(const struct gw_curve_point *points, size_t count, size_t fewest,
                                 struct gw_candidate *out, struct gw_error *error) {
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

/* As points: the ends of both segments. */
static enum gw_status fit_two_segments(const struct gw_curve_point *points, size_t count,
                                       size_t fewest, struct gw_candidate *out,
                                       struct gw_error *error) {
    if (count < 2 * fewest) {
        return GW_OK;
    }
    GW_TRY(find_break(points, count, fewest, out, error));
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

static enum gw_status fit_points(const struct gw_curve_point *points, size_t count,
                                 struct gw_candidate *out, struct gw_error *error) {
    struct gw_curve seen = {.point_count = count,
                            .points = (struct gw_curve_point *)(uintptr_t)points};
    GW_TRY(gw_curve_copy(&seen, &out->curve, error));
    out->fitted = true;
    return GW_OK;
}

/* fewest: points of a segment. */
static enum gw_status fit(enum gw_candidate_kind kind, const struct gw_curve_point *points,
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
        return fit_points(points, count, out, error);
    }
}

/* Theil's and Sen's: medians of what all pairs of points say. */
static struct gw_curve find_line(const struct gw_curve_point *points, size_t count) {
    double values[GW_MOST_LAST * (GW_MOST_LAST - 1) / 2];
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

/* ---- judging ------------------------------------------------------------------------------- */

/* Each size but the ends, which points could only extrapolate, from what the others give. */
static enum gw_status hold_out(struct gw_candidate *candidate, const struct gw_curve_point *points,
                               size_t count, struct gw_curve_point *others,
                               struct gw_error *error) {
    double off_s = 0;
    double sum_s = 0;
    for (size_t held = 1; held + 1 < count; held++) {
        struct gw_candidate rest;
        memcpy(others, points, held * sizeof *points);
        memcpy(others + held, points + held + 1, (count - held - 1) * sizeof *points);
        GW_TRY(fit(candidate->kind, others, count - 1, HELD_OUT_SEGMENT_POINTS, &rest, error));
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
    GW_TRY(fit(kind, points, count, SEGMENT_POINTS, out, error));
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

/* One-sided: a straight line is compared with two richer kinds, and shall stand in 95% of cases. */
static const double level = 0.025;

/*
 * Of all 2^count ways to give the ranks 1 .. count a sign, the share in which those with a plus add
 * up to `sum` or more. shares: room for 1 + count (count + 1) / 2.
 */
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

/* By how much the richer one's losses are less; what rounding makes of equal ones does not count.
 */
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

/* Sum of the ranks of what is above 0 among all sizes without their signs; equal ones share ranks.
 */
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
 * Few sizes, or a few that are far off, give no significance, however much is gained. A straight
 * line with noise looks so much worse than richer kinds in fewer than 3% of cases
 * (candidates_test).
 */
static const double far_better = 0.6;

/*
 * Whether residuals follow each other, as where a curve has another shape: of noise alone their
 * correlation with the next one is about -1/n +- 1/sqrt(n).
 */
static bool has_trend(const struct gw_candidate *candidate) {
    enum { FEWEST = 6 };
    double products = 0;
    double squares = 0;
    for (size_t i = 0; i < candidate->held_out; i++) {
        const double *residual = &candidate->residuals[i];
        squares += residual[0] * residual[0];
        products += i > 0 ? residual[-1] * residual[0] : 0;
    }
    double n = (double)candidate->held_out;
    return n >= FEWEST && products > (2 / sqrt(n) - 1 / n) * squares;
}

/*
 * Whether it is another shape: off at the sizes that cost most, the largest among them, by more
 * than is worth a richer kind, which is chosen, and than twice the `noise`, by which sizes miss the
 * line between their neighbours; or with a trend.
 */
static bool misses_shape(const struct gw_candidate *candidate, double noise) {
    static const double worth_it = 0.05;
    return has_trend(candidate) ||
           (candidate->costly_error > worth_it && candidate->costly_error > 2 * noise);
}

/* room: for held_out gains and the shares of their ranks. */
static bool significantly_better(const struct gw_candidate *richer,
                                 const struct gw_candidate *poorer, double noise, double *room) {
    size_t count = find_gains(richer, poorer, room);
    double sum = sum_ranks(room, count);
    return richer->held_out_mean < far_better * poorer->held_out_mean ||
           (richer->costly_error < far_better * poorer->costly_error &&
            misses_shape(poorer, noise)) ||
           (richer->held_out_mean < poorer->held_out_mean &&
            tail_of_signed_ranks(count, sum, room + count) <= level);
}

/* Mean distance of the last points from the line through them; INFINITY: they are few. */
static double noise_of_last(const struct gw_curve_point *points, size_t count) {
    size_t last = gw_last_points(points, count);
    if (last == 0) {
        return INFINITY;
    }
    struct gw_curve line = find_line(points + count - last, last);
    double n = (double)last;
    return sqrt(n / (n - 2)) * loss_over(&line, points + count - last, last) / n;
}

/*
 * By how much sizes miss the line between their neighbours: those that cost most, if small ones
 * miss it by more, as where waking up takes as long as what is measured, but half as much at least.
 * Noise of small sizes is none of large ones that lie on a line.
 */
static double noise_of(const struct gw_candidate *of, const struct gw_curve_point *points,
                       size_t count) {
    double mean = of->held_out_mean;
    double around = fmin(fmax(of->held_out_costly, mean / 2), mean);
    return fmin(around, noise_of_last(points, count));
}

static enum gw_candidate_kind choose(const struct gw_candidate candidates[GW_CANDIDATE_KINDS],
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
        double noise = noise_of(&out[GW_CANDIDATE_POINTS], points, count);
        *chosen = choose(out, noise, room);
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

/* ---- from measurements --------------------------------------------------------------------- */

void gw_write_measurement(struct gw_json_writer *writer, const struct gw_measurement *measurement,
                          const char *size_key) {
    const struct gw_summary *summary = &measurement->summary;
    gw_writer_number(writer, size_key, measurement->size);
    gw_writer_number(writer, "median_s", summary->median);
    gw_writer_number(writer, "median_low_s", summary->median_low);
    gw_writer_number(writer, "median_high_s", summary->median_high);
    gw_writer_number(writer, "p5_s", summary->p5);
    gw_writer_number(writer, "p95_s", summary->p95);
    gw_writer_number(writer, "repeats", (double)summary->count);
    gw_writer_number(writer, "outliers", (double)measurement->outliers);
    gw_writer_number(writer, "late", (double)measurement->late);
    if (measurement->stopped_by != NULL) {
        gw_writer_text(writer, "stopped_by", measurement->stopped_by);
    }
    gw_writer_flag(writer, "precise", measurement->precise);
}

/* What was measured, as fits want it. */
struct medians {
    const char *size_key;
    size_t count;
    struct gw_curve_point *points;
    double *errors; /* relative standard errors of the medians; NULL unless all are known */
};

/* The line through `count` medians from `first` on, with 95% intervals. */
static enum gw_status write_line(struct gw_json_writer *writer, const struct gw_fit *fit,
                                 const struct medians *medians, size_t first, size_t count,
                                 struct gw_error *error) {
    bool straight = fit->shape == GW_STRAIGHT;
    struct gw_fit_interval interval;
    GW_TRY(gw_fit_intervals(fit, medians->points + first,
                            medians->errors == NULL ? NULL : medians->errors + first, count,
                            &interval, error));
    gw_writer_number(writer, "startup_s", fit->curve.fixed_s);
    gw_writer_number(writer, straight ? "per_unit_s" : "per_nlog2n_s",
                     straight ? fit->curve.per_unit_s : fit->curve.per_nlog2n_s);
    if (interval.known) {
        gw_writer_number(writer, "startup_low_s", interval.startup_low);
        gw_writer_number(writer, straight ? "per_unit_low_s" : "per_nlog2n_low_s",
                         interval.slope_low);
        gw_writer_number(writer, "startup_high_s", interval.startup_high);
        gw_writer_number(writer, straight ? "per_unit_high_s" : "per_nlog2n_high_s",
                         interval.slope_high);
    }
    gw_writer_number(writer, "median_relative_error", fit->median_error);
    gw_writer_number(writer, "max_relative_error", fit->max_error);
    return GW_OK;
}

static enum gw_status write_segments(struct gw_json_writer *writer,
                                     const struct gw_candidate *candidate,
                                     const struct medians *medians, struct gw_error *error) {
    char key[32];
    size_t first = candidate->first_count;
    (void)snprintf(key, sizeof key, "break_%s", medians->size_key);
    gw_writer_number(writer, key, medians->points[first - 1].size);
    gw_writer_array(writer, "segments");
    for (int s = 0; s < 2; s++) {
        gw_writer_object(writer, NULL);
        GW_TRY(write_line(writer, &candidate->fits[s], medians, s == 0 ? 0 : first,
                          s == 0 ? first : medians->count - first, error));
        gw_writer_end(writer);
    }
    gw_writer_end(writer);
    return GW_OK;
}

static enum gw_status write_candidate(struct gw_json_writer *writer,
                                      const struct gw_candidate *candidate,
                                      const struct medians *medians, struct gw_error *error) {
    gw_writer_object(writer, gw_candidate_names[candidate->kind]);
    if (candidate->kind == GW_CANDIDATE_TWO_SEGMENT) {
        GW_TRY(write_segments(writer, candidate, medians, error));
    } else if (candidate->kind != GW_CANDIDATE_POINTS) {
        GW_TRY(write_line(writer, &candidate->fits[0], medians, 0, medians->count, error));
    }
    if (candidate->held_out > 0) {
        gw_writer_number(writer, "held_out_mean_error", candidate->held_out_mean);
        gw_writer_number(writer, "held_out_max_error", candidate->held_out_max);
    }
    gw_writer_end(writer);
    return GW_OK;
}

static enum gw_status write_fits(struct gw_json_writer *writer,
                                 const struct gw_candidate candidates[GW_CANDIDATE_KINDS],
                                 enum gw_candidate_kind chosen, const struct medians *medians,
                                 struct gw_error *error) {
    gw_writer_object(writer, "fit");
    for (size_t k = 0; k < GW_CANDIDATE_KINDS; k++) {
        if (candidates[k].fitted) {
            GW_TRY(write_candidate(writer, &candidates[k], medians, error));
        }
    }
    if (candidates[chosen].held_out > 0) {
        gw_writer_number(writer, "held_out_error", candidates[chosen].held_out_mean);
    }
    gw_writer_text(writer, "chosen", gw_candidate_names[chosen]);
    gw_writer_end(writer);
    return GW_OK;
}

/* Appends a point beyond the last one; frees the curve where memory lacks. */
static enum gw_status add_last_point(struct gw_curve *curve, struct gw_curve_point beyond,
                                     struct gw_error *error) {
    struct gw_curve_point *points =
        realloc(curve->points, (curve->point_count + 1) * sizeof *points);
    if (points == NULL) {
        gw_curve_free(curve);
        return gw_fail_memory(error, "fitting curves");
    }
    curve->points = points;
    if (beyond.time_s > points[curve->point_count - 1].time_s) {
        points[curve->point_count++] = beyond;
    }
    return GW_OK;
}

/* A straight line as the points at its ends. */
static enum gw_status make_points(const struct medians *medians, struct gw_curve *curve,
                                  struct gw_error *error) {
    struct gw_curve_point *ends = calloc(2, sizeof *ends);
    if (ends == NULL) {
        return gw_fail_memory(error, "fitting curves");
    }
    for (size_t i = 0; i < 2; i++) {
        double size = medians->points[i == 0 ? 0 : medians->count - 1].size;
        ends[i] = (struct gw_curve_point){.size = size, .time_s = gw_curve_time(curve, size)};
    }
    *curve = (struct gw_curve){.point_count = 2, .points = ends};
    return GW_OK;
}

/*
 * A curve goes on beyond its points as between the last two of them. What is off by a tenth in one
 * is off by a third in their slope, and where there are steps, the last one may be all there is
 * between the two; a line through all sizes has small ones in its slope, which no byte of a large
 * one pays for. So a curve gets one point more, at eight times the largest size: on the line
 * through the last points, or, of one with steps, as long for each element as at the largest. A
 * line that comes there by itself, to a share that is chosen, stays as it is.
 */
static enum gw_status go_on(const struct gw_subject *subject, const struct medians *medians,
                            struct gw_curve *curve, struct gw_error *error) {
    static const double alike = 0.02;
    const struct gw_curve_point *last = &medians->points[medians->count - 1];
    struct gw_curve_point beyond = {.size = GW_LAST_REACH * last->size,
                                    .time_s = GW_LAST_REACH * last->time_s};
    if (subject->ends_straight) {
        size_t count = gw_last_points(medians->points, medians->count);
        if (count == 0) {
            return GW_OK;
        }
        struct gw_curve line = find_line(last + 1 - count, count);
        beyond.time_s = gw_curve_time(&line, beyond.size);
    }
    if (fabs(gw_curve_time(curve, beyond.size) / beyond.time_s - 1) <= alike) {
        return GW_OK;
    }
    GW_TRY(curve->point_count == 0 ? make_points(medians, curve, error) : GW_OK);
    return add_last_point(curve, beyond, error);
}

/* The curve is the chosen candidate's. */
static enum gw_status fit_measurements(struct gw_json_writer *writer,
                                       const struct gw_subject *subject,
                                       const struct medians *medians, struct gw_curve *curve,
                                       struct gw_error *error) {
    const bool wanted[GW_CANDIDATE_KINDS] = {[GW_CANDIDATE_STRAIGHT] = true,
                                             [GW_CANDIDATE_NLOG2N] = subject->sorts,
                                             [GW_CANDIDATE_TWO_SEGMENT] = true,
                                             [GW_CANDIDATE_POINTS] = true};
    struct gw_candidate candidates[GW_CANDIDATE_KINDS];
    enum gw_candidate_kind chosen;
    GW_TRY(gw_candidates_open(wanted, medians->points, medians->count, candidates, &chosen, error));
    enum gw_status status = write_fits(writer, candidates, chosen, medians, error);
    if (status == GW_OK) {
        *curve = candidates[chosen].curve;
        candidates[chosen].curve = (struct gw_curve){0};
        if (subject->ends_straight ||
            (chosen == GW_CANDIDATE_POINTS && subject->before_step != NULL)) {
            status = go_on(subject, medians, curve, error);
        }
    }
    gw_candidates_close(candidates);
    return status;
}

/* How far apart ranks are done, as a share of the time, where that was seen at every size. */
static void write_skew(struct gw_json_writer *writer, const struct gw_measurement *measurements,
                       size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!(measurements[i].skew_s > 0)) {
            return;
        }
    }
    gw_writer_array(writer, "skew");
    for (size_t i = 0; i < count; i++) {
        const struct gw_measurement *one = &measurements[i];
        double pair[2] = {one->size, fmin(one->skew_s / one->summary.median, 1)};
        gw_writer_numbers(writer, NULL, pair, 2);
    }
    gw_writer_end(writer);
}

/* The writer's errors come out with what it wrote. */
static enum gw_status describe(struct gw_json_writer *writer, const struct gw_subject *subject,
                               const struct gw_measurement *measurements, size_t count,
                               struct gw_curve *curve, struct gw_error *error) {
    struct gw_arena arena = {0};
    struct medians medians = {.size_key = subject->size_key,
                              .count = count,
                              .points = gw_arena_zeros(&arena, count, sizeof *medians.points),
                              .errors = gw_arena_zeros(&arena, count, sizeof *medians.errors)};
    if (medians.points == NULL || medians.errors == NULL) {
        gw_arena_free(&arena);
        return gw_fail_memory(error, "fitting curves");
    }
    bool known = true;
    gw_writer_array(writer, "raw");
    for (size_t i = 0; i < count; i++) {
        const struct gw_summary *summary = &measurements[i].summary;
        gw_writer_object(writer, NULL);
        gw_write_measurement(writer, &measurements[i], subject->size_key);
        gw_writer_end(writer);
        medians.points[i] =
            (struct gw_curve_point){.size = measurements[i].size, .time_s = summary->median};
        medians.errors[i] = gw_summary_standard_error(summary);
        known = known && medians.errors[i] > 0;
    }
    gw_writer_end(writer);
    if (subject->ends_straight) {
        write_skew(writer, measurements, count);
    }
    medians.errors = known ? medians.errors : NULL;
    enum gw_status status = fit_measurements(writer, subject, &medians, curve, error);
    gw_arena_free(&arena);
    return status;
}

enum gw_status gw_choose_curve(const struct gw_subject *subject,
                               const struct gw_measurement *measurements, size_t count,
                               struct gw_curve *curve, cJSON **details, struct gw_error *error) {
    struct gw_json_writer writer;
    *curve = (struct gw_curve){0};
    *details = NULL;
    gw_writer_begin(&writer);
    enum gw_status fitted = describe(&writer, subject, measurements, count, curve, error);
    enum gw_status written = gw_writer_finish(&writer, details, fitted == GW_OK ? error : NULL);
    if (fitted != GW_OK) {
        cJSON_Delete(*details);
        *details = NULL;
    }
    if (written != GW_OK) {
        gw_curve_free(curve);
    }
    return fitted != GW_OK ? fitted : written;
}
