#include "calibrate/curves.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum gw_status gw_put_measurement(const struct gw_measurement *measurement, const char *size_key,
                                  cJSON *raw, cJSON **entry, struct gw_error *error) {
    const struct gw_summary *summary = &measurement->summary;
    *entry = cJSON_CreateObject();
    GW_TRY(gw_json_append(raw, *entry, error));
    GW_TRY(gw_json_put_number(*entry, size_key, measurement->size, error));
    GW_TRY(gw_json_put_number(*entry, "median_s", summary->median, error));
    GW_TRY(gw_json_put_number(*entry, "median_low_s", summary->median_low, error));
    GW_TRY(gw_json_put_number(*entry, "median_high_s", summary->median_high, error));
    GW_TRY(gw_json_put_number(*entry, "p5_s", summary->p5, error));
    GW_TRY(gw_json_put_number(*entry, "p95_s", summary->p95, error));
    GW_TRY(gw_json_put_number(*entry, "repeats", (double)summary->count, error));
    return gw_json_put(*entry, "precise", cJSON_CreateBool(measurement->precise), error);
}

static enum gw_status put_raw(const struct gw_measurement *measurements, size_t count,
                              const char *size_key, cJSON *details, struct gw_error *error) {
    cJSON *raw = cJSON_CreateArray();
    GW_TRY(gw_json_put(details, "raw", raw, error));
    for (size_t i = 0; i < count; i++) {
        cJSON *entry = NULL;
        GW_TRY(gw_put_measurement(&measurements[i], size_key, raw, &entry, error));
    }
    return GW_OK;
}

/* ---- candidates ---------------------------------------------------------------------------- */

/* What a curve may be: of a shape, or interpolated between the points. */
struct candidate {
    const char *name;
    bool is_points;
    enum gw_curve_shape shape;
    struct gw_fit fit;                  /* to all points */
    double held_out_mean, held_out_max; /* |predicted - measured| / measured */
};

static const char *name_of(enum gw_curve_shape shape) {
    return shape == GW_STRAIGHT ? "straight" : "nlog2n";
}

/* With points that live longer. */
static enum gw_status fit(const struct candidate *candidate, const struct gw_curve_point *points,
                          size_t count, struct gw_fit *out, struct gw_error *error) {
    if (!candidate->is_points) {
        return gw_fit_curve(candidate->shape, points, count, out, error);
    }
    *out = (struct gw_fit){
        .curve = {.point_count = count, .points = (struct gw_curve_point *)(uintptr_t)points}};
    return GW_OK;
}

/*
 * Each size but the smallest and the largest is predicted from the others: from the curve that they
 * would have given. `others` has room for count - 1.
 */
static enum gw_status hold_out(struct candidate *candidate, const struct gw_curve_point *points,
                               size_t count, struct gw_curve_point *others,
                               struct gw_error *error) {
    double sum = 0;
    for (size_t held = 1; held + 1 < count; held++) {
        struct gw_fit rest;
        memcpy(others, points, held * sizeof *points);
        memcpy(others + held, points + held + 1, (count - held - 1) * sizeof *points);
        GW_TRY(fit(candidate, others, count - 1, &rest, error));
        double predicted_s = gw_curve_time(&rest.curve, points[held].size);
        double off = fabs(predicted_s - points[held].time_s) / points[held].time_s;
        sum += off;
        candidate->held_out_max = fmax(candidate->held_out_max, off);
    }
    candidate->held_out_mean = count > 2 ? sum / ((double)count - 2) : 0;
    return GW_OK;
}

static enum gw_status put_candidate(const struct candidate *candidate, cJSON *fits,
                                    struct gw_error *error) {
    cJSON *entry = cJSON_CreateObject();
    const struct gw_fit *whole = &candidate->fit;
    GW_TRY(gw_json_put(fits, candidate->name, entry, error));
    if (!candidate->is_points) {
        bool straight = candidate->shape == GW_STRAIGHT;
        GW_TRY(gw_json_put_number(entry, "startup_s", whole->curve.fixed_s, error));
        GW_TRY(gw_json_put_number(entry, straight ? "per_unit_s" : "per_nlog2n_s",
                                  straight ? whole->curve.per_unit_s : whole->curve.per_nlog2n_s,
                                  error));
        GW_TRY(gw_json_put_number(entry, "median_relative_error", whole->median_error, error));
        GW_TRY(gw_json_put_number(entry, "max_relative_error", whole->max_error, error));
    }
    GW_TRY(gw_json_put_number(entry, "held_out_mean_error", candidate->held_out_mean, error));
    return gw_json_put_number(entry, "held_out_max_error", candidate->held_out_max, error);
}

/* ---- the choice ---------------------------------------------------------------------------- */

/*
 * Points follow noise too: they must be better than a shape by more than chance makes them, or a
 * straight line with noise would be points every fourth time.
 */
static const double points_advantage = 0.7;

/* The candidate that predicts held-out sizes best: of equals the first, which has fewer numbers. */
static enum gw_status find_best(const struct gw_subject *subject,
                                const struct gw_curve_point *points, size_t count,
                                struct gw_curve_point *others, cJSON *fits, struct candidate *best,
                                struct gw_error *error) {
    for (size_t i = 0; i <= subject->shape_count; i++) {
        struct candidate candidate = {.name = "points", .is_points = true};
        if (i < subject->shape_count) {
            candidate.is_points = false;
            candidate.shape = subject->shapes[i];
            candidate.name = name_of(candidate.shape);
        }
        GW_TRY(fit(&candidate, points, count, &candidate.fit, error));
        GW_TRY(hold_out(&candidate, points, count, others, error));
        GW_TRY(put_candidate(&candidate, fits, error));
        double required = candidate.is_points ? points_advantage : 1;
        if (i == 0 || candidate.held_out_mean < required * best->held_out_mean) {
            *best = candidate;
        }
    }
    return GW_OK;
}

static enum gw_status choose(const struct gw_subject *subject,
                             const struct gw_measurement *measurements, size_t count,
                             struct gw_curve *curve, cJSON *details, struct gw_error *error) {
    GW_TRY(put_raw(measurements, count, subject->size_key, details, error));
    cJSON *fits = cJSON_CreateObject();
    GW_TRY(gw_json_put(details, "fit", fits, error));
    struct gw_curve_point *points = calloc(2 * count + 1, sizeof *points);
    if (points == NULL) {
        return gw_fail_memory(error, "fitting curves");
    }
    for (size_t i = 0; i < count; i++) {
        points[i] = (struct gw_curve_point){.size = measurements[i].size,
                                            .time_s = measurements[i].summary.median};
    }
    struct candidate best = {0};
    enum gw_status status = find_best(subject, points, count, points + count, fits, &best, error);
    *curve = best.fit.curve;
    if (!best.is_points) {
        free(points);
    }
    if (status == GW_OK) {
        status = gw_json_put_number(fits, "held_out_error", best.held_out_mean, error);
    }
    if (status == GW_OK) {
        status = gw_json_put_text(fits, "chosen", best.name, error);
    }
    if (status != GW_OK && best.is_points) {
        *curve = (struct gw_curve){0};
        free(points);
    }
    return status;
}

enum gw_status gw_choose_curve(const struct gw_subject *subject,
                               const struct gw_measurement *measurements, size_t count,
                               struct gw_curve *curve, cJSON **details, struct gw_error *error) {
    *curve = (struct gw_curve){0};
    *details = cJSON_CreateObject();
    if (*details == NULL) {
        return gw_fail_memory(error, "fitting curves");
    }
    enum gw_status status = choose(subject, measurements, count, curve, *details, error);
    if (status != GW_OK) {
        cJSON_Delete(*details);
        *details = NULL;
    }
    return status;
}

enum gw_status gw_measure_curve(struct gw_communicator *communicator,
                                const struct gw_calibration *calibration,
                                const struct gw_subject *subject, const struct gw_report *report,
                                struct gw_curve *curve, cJSON **details, struct gw_error *error) {
    enum { MOST_SIZES = 48 };
    struct gw_measurement measurements[MOST_SIZES];
    double sizes = 1 + floor(log2((double)subject->largest / (double)subject->smallest));
    size_t count = 0;
    for (size_t size = subject->smallest; size <= subject->largest && count < MOST_SIZES;
         size *= 2) {
        char number[GW_UNITS_SIZE];
        char what[64];
        snprintf(what, sizeof what, "%s, %s %s", subject->name,
                 gw_format_count((double)size, number), subject->size_key);
        report->tell(report->context, report->offset + report->scale * (double)count / sizes, what);
        if (subject->prepare != NULL) {
            GW_TRY(subject->prepare(subject->context, size, error));
        }
        struct gw_measurement *measurement = &measurements[count++];
        measurement->size = (double)size;
        GW_TRY(gw_measure(communicator, calibration, subject, measurement, error));
    }
    return gw_choose_curve(subject, measurements, count, curve, details, error);
}
