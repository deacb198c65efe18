/* From measurements to a cost curve, with the data that readers need to judge it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrate/fit/fit.h"
#include "calibrate/measure/points.h"
#include "calibrate/measure/timing.h"

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

/* Measurements in the form that fits need. */
struct medians {
    const char *size_key;
    size_t count;
    struct gw_curve_point *points;
    double *errors; /* relative standard errors of the medians; NULL unless all are known */
};

/* Writes the line through `count` medians from `first` on, with 95% intervals. */
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

/*
 * Extends the curve by one point, at eight times the largest size. Without it a curve would
 * continue like the line through its last two points. An error of a tenth in one of them is an
 * error of a third in their slope; with steps, the last one may be between the two; and a line
 * through all sizes has small ones in its slope, which do not affect a byte of a large one. The
 * added point is on the line through the last points or, for a curve with steps, in proportion to
 * the largest size. A straight line that comes near that point already is not changed.
 */
static enum gw_status extend_curve(const struct gw_subject *subject, const struct medians *medians,
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
        struct gw_curve line = gw_median_line(last + 1 - count, count);
        beyond.time_s = gw_curve_time(&line, beyond.size);
    }
    if (fabs(gw_curve_time(curve, beyond.size) / beyond.time_s - 1) <= alike) {
        return GW_OK;
    }
    struct gw_curve_point *points =
        realloc(curve->points, (gw_greater(curve->point_count, 2) + 1) * sizeof *points);
    if (points == NULL) {
        gw_curve_free(curve);
        return gw_fail_memory(error, "fitting curves");
    }
    if (curve->point_count == 0) { /* a straight line, as the points at its ends */
        points[0] = (struct gw_curve_point){.size = medians->points[0].size};
        points[1] = (struct gw_curve_point){.size = last->size};
        points[0].time_s = gw_curve_time(curve, points[0].size);
        points[1].time_s = gw_curve_time(curve, points[1].size);
        *curve = (struct gw_curve){.point_count = 2};
    }
    curve->points = points;
    if (beyond.time_s > points[curve->point_count - 1].time_s) {
        points[curve->point_count++] = beyond;
    }
    return GW_OK;
}

/* Fits the candidates; the curve is the chosen one's. */
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
            status = extend_curve(subject, medians, curve, error);
        }
    }
    gw_candidates_close(candidates);
    return status;
}

/* Writes the skew of ranks, as a share of the time, if every size has it. */
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

/* Returns the writer's errors with its document. */
static enum gw_status write_details(struct gw_json_writer *writer, const struct gw_subject *subject,
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
    enum gw_status fitted = write_details(&writer, subject, measurements, count, curve, error);
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
