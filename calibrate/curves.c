#include "calibrate/curves.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double acceptable_error = 0.05;

static enum gw_status put_raw(const struct gw_measurement *measurements, size_t count,
                              const char *size_key, cJSON *details, struct gw_error *error) {
    cJSON *raw = cJSON_CreateArray();
    GW_TRY(gw_json_put(details, "raw", raw, error));
    for (size_t i = 0; i < count; i++) {
        const struct gw_summary *summary = &measurements[i].summary;
        cJSON *entry = cJSON_CreateObject();
        GW_TRY(gw_json_append(raw, entry, error));
        GW_TRY(gw_json_put_number(entry, size_key, measurements[i].size, error));
        GW_TRY(gw_json_put_number(entry, "median_s", summary->median, error));
        GW_TRY(gw_json_put_number(entry, "median_low_s", summary->median_low, error));
        GW_TRY(gw_json_put_number(entry, "median_high_s", summary->median_high, error));
        GW_TRY(gw_json_put_number(entry, "p5_s", summary->p5, error));
        GW_TRY(gw_json_put_number(entry, "p95_s", summary->p95, error));
        GW_TRY(gw_json_put_number(entry, "repeats", (double)summary->count, error));
        GW_TRY(gw_json_put(entry, "precise", cJSON_CreateBool(measurements[i].precise), error));
    }
    return GW_OK;
}

static enum gw_status put_fit(const struct gw_fit *fit, enum gw_curve_shape shape, cJSON *fits,
                              struct gw_error *error) {
    cJSON *entry = cJSON_CreateObject();
    bool straight = shape == GW_STRAIGHT;
    GW_TRY(gw_json_put(fits, straight ? "straight" : "nlog2n", entry, error));
    GW_TRY(gw_json_put_number(entry, "startup_s", fit->curve.fixed_s, error));
    GW_TRY(gw_json_put_number(entry, straight ? "per_unit_s" : "per_nlog2n_s",
                              straight ? fit->curve.per_unit_s : fit->curve.per_nlog2n_s, error));
    GW_TRY(gw_json_put_number(entry, "median_relative_error", fit->median_error, error));
    return gw_json_put_number(entry, "max_relative_error", fit->max_error, error);
}

/* *best is the index of the shape whose worst point is best met. */
static enum gw_status fit_shapes(const struct gw_curve_point *points, size_t count,
                                 const enum gw_curve_shape *shapes, size_t shape_count, cJSON *fits,
                                 struct gw_fit *best, size_t *best_shape, struct gw_error *error) {
    for (size_t i = 0; i < shape_count; i++) {
        struct gw_fit fit;
        GW_TRY(gw_fit_curve(shapes[i], points, count, &fit, error));
        GW_TRY(put_fit(&fit, shapes[i], fits, error));
        if (i == 0 || fit.max_error < best->max_error) {
            *best = fit;
            *best_shape = i;
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
    struct gw_curve_point *points = calloc(count + 1, sizeof *points);
    if (points == NULL) {
        return gw_fail_memory(error, "fitting curves");
    }
    for (size_t i = 0; i < count; i++) {
        points[i] = (struct gw_curve_point){.size = measurements[i].size,
                                            .time_s = measurements[i].summary.median};
    }
    struct gw_fit best = {0};
    size_t shape = 0;
    enum gw_status status = fit_shapes(points, count, subject->shapes, subject->shape_count, fits,
                                       &best, &shape, error);
    bool fitted = status == GW_OK && best.max_error <= acceptable_error;
    *curve = fitted ? best.curve : (struct gw_curve){.point_count = count, .points = points};
    if (fitted || status != GW_OK) {
        free(points);
    }
    GW_TRY(status);
    const char *chosen = !fitted                                 ? "points"
                         : subject->shapes[shape] == GW_STRAIGHT ? "straight"
                                                                 : "nlog2n";
    return gw_json_put_text(fits, "chosen", chosen, error);
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
            subject->prepare(subject->context, size);
        }
        struct gw_measurement *measurement = &measurements[count++];
        measurement->size = (double)size;
        GW_TRY(gw_measure(communicator, calibration, subject, measurement, error));
    }
    return gw_choose_curve(subject, measurements, count, curve, details, error);
}
