#include "calibrate/fit/curves.h"

#include <math.h>
#include <stdlib.h>

#include "calibrate/fit/candidates.h"

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
    GW_TRY(gw_json_put_number(*entry, "outliers", (double)measurement->outliers, error));
    GW_TRY(gw_json_put_number(*entry, "late", (double)measurement->late, error));
    if (measurement->stopped_by != NULL) {
        GW_TRY(gw_json_put_text(*entry, "stopped_by", measurement->stopped_by, error));
    }
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

/* ---- fits ---------------------------------------------------------------------------------- */

/* What was measured, as fits want it. */
struct medians {
    const char *size_key;
    size_t count;
    struct gw_curve_point *points;
    double *errors; /* relative standard errors of the medians; NULL unless all are known */
};

static enum gw_status put_interval(const char *slope_key, const struct gw_fit *fit,
                                   const struct medians *medians, size_t first, size_t count,
                                   cJSON *entry, struct gw_error *error) {
    static const char *const ends[] = {"low", "high"};
    struct gw_fit_interval interval;
    GW_TRY(gw_fit_intervals(fit, medians->points + first,
                            medians->errors == NULL ? NULL : medians->errors + first, count,
                            &interval, error));
    const double startups[] = {interval.startup_low, interval.startup_high};
    const double slopes[] = {interval.slope_low, interval.slope_high};
    for (int end = 0; end < 2 && interval.known; end++) {
        char key[48];
        (void)snprintf(key, sizeof key, "startup_%s_s", ends[end]);
        GW_TRY(gw_json_put_number(entry, key, startups[end], error));
        (void)snprintf(key, sizeof key, "%s_%s_s", slope_key, ends[end]);
        GW_TRY(gw_json_put_number(entry, key, slopes[end], error));
    }
    return GW_OK;
}

/* The line through `count` medians from `first` on, with 95% intervals. */
static enum gw_status put_line(const struct gw_fit *fit, const struct medians *medians,
                               size_t first, size_t count, cJSON *entry, struct gw_error *error) {
    bool straight = fit->shape == GW_STRAIGHT;
    GW_TRY(gw_json_put_number(entry, "startup_s", fit->curve.fixed_s, error));
    GW_TRY(gw_json_put_number(entry, straight ? "per_unit_s" : "per_nlog2n_s",
                              straight ? fit->curve.per_unit_s : fit->curve.per_nlog2n_s, error));
    GW_TRY(put_interval(straight ? "per_unit" : "per_nlog2n", fit, medians, first, count, entry,
                        error));
    GW_TRY(gw_json_put_number(entry, "median_relative_error", fit->median_error, error));
    return gw_json_put_number(entry, "max_relative_error", fit->max_error, error);
}

static enum gw_status put_segments(const struct gw_candidate *candidate,
                                   const struct medians *medians, cJSON *entry,
                                   struct gw_error *error) {
    char key[32];
    size_t first = candidate->first_count;
    (void)snprintf(key, sizeof key, "break_%s", medians->size_key);
    GW_TRY(gw_json_put_number(entry, key, medians->points[first - 1].size, error));
    cJSON *segments = cJSON_CreateArray();
    GW_TRY(gw_json_put(entry, "segments", segments, error));
    for (int s = 0; s < 2; s++) {
        cJSON *segment = cJSON_CreateObject();
        GW_TRY(gw_json_append(segments, segment, error));
        GW_TRY(put_line(&candidate->fits[s], medians, s == 0 ? 0 : first,
                        s == 0 ? first : medians->count - first, segment, error));
    }
    return GW_OK;
}

static enum gw_status put_candidate(const struct gw_candidate *candidate,
                                    const struct medians *medians, cJSON *fits,
                                    struct gw_error *error) {
    cJSON *entry = cJSON_CreateObject();
    GW_TRY(gw_json_put(fits, gw_candidate_names[candidate->kind], entry, error));
    if (candidate->kind == GW_CANDIDATE_TWO_SEGMENT) {
        GW_TRY(put_segments(candidate, medians, entry, error));
    } else if (candidate->kind != GW_CANDIDATE_POINTS) {
        GW_TRY(put_line(&candidate->fits[0], medians, 0, medians->count, entry, error));
    }
    if (candidate->held_out == 0) {
        return GW_OK;
    }
    GW_TRY(gw_json_put_number(entry, "held_out_mean_error", candidate->held_out_mean, error));
    return gw_json_put_number(entry, "held_out_max_error", candidate->held_out_max, error);
}

/* ---- the choice ---------------------------------------------------------------------------- */

static enum gw_status put_choice(const struct gw_candidate candidates[GW_CANDIDATE_KINDS],
                                 enum gw_candidate_kind chosen, const struct medians *medians,
                                 cJSON *fits, struct gw_error *error) {
    for (size_t k = 0; k < GW_CANDIDATE_KINDS; k++) {
        if (candidates[k].fitted) {
            GW_TRY(put_candidate(&candidates[k], medians, fits, error));
        }
    }
    if (candidates[chosen].held_out > 0) {
        GW_TRY(gw_json_put_number(fits, "held_out_error", candidates[chosen].held_out_mean, error));
    }
    return gw_json_put_text(fits, "chosen", gw_candidate_names[chosen], error);
}

static enum gw_status choose(const struct gw_subject *subject, const struct medians *medians,
                             struct gw_curve *curve, cJSON *fits, struct gw_error *error) {
    bool wanted[GW_CANDIDATE_KINDS] = {
        [GW_CANDIDATE_TWO_SEGMENT] = true, [GW_CANDIDATE_POINTS] = true};
    for (size_t i = 0; i < subject->shape_count; i++) {
        wanted[subject->shapes[i] == GW_NLOG2N ? GW_CANDIDATE_NLOG2N : GW_CANDIDATE_STRAIGHT] =
            true;
    }
    struct gw_candidate candidates[GW_CANDIDATE_KINDS];
    enum gw_candidate_kind chosen;
    GW_TRY(gw_candidates_open(wanted, medians->points, medians->count, candidates, &chosen, error));
    enum gw_status status = put_choice(candidates, chosen, medians, fits, error);
    if (status == GW_OK) {
        *curve = candidates[chosen].curve;
        candidates[chosen].curve = (struct gw_curve){0};
    }
    gw_candidates_close(candidates);
    return status;
}

static enum gw_status fit_measurements(const struct gw_subject *subject,
                                       const struct gw_measurement *measurements, size_t count,
                                       struct gw_curve *curve, cJSON *details,
                                       struct gw_error *error) {
    GW_TRY(put_raw(measurements, count, subject->size_key, details, error));
    cJSON *fits = cJSON_CreateObject();
    GW_TRY(gw_json_put(details, "fit", fits, error));
    struct gw_curve_point *points = calloc(count + 1, sizeof *points);
    double *errors = calloc(count + 1, sizeof *errors);
    if (points == NULL || errors == NULL) {
        free(points);
        free(errors);
        return gw_fail_memory(error, "fitting curves");
    }
    bool known = true;
    for (size_t i = 0; i < count; i++) {
        const struct gw_summary *summary = &measurements[i].summary;
        points[i] =
            (struct gw_curve_point){.size = measurements[i].size, .time_s = summary->median};
        errors[i] = gw_summary_standard_error(summary);
        known = known && errors[i] > 0;
    }
    struct medians medians = {subject->size_key, count, points, known ? errors : NULL};
    enum gw_status status = choose(subject, &medians, curve, fits, error);
    free(points);
    free(errors);
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
    enum gw_status status = fit_measurements(subject, measurements, count, curve, *details, error);
    if (status != GW_OK) {
        cJSON_Delete(*details);
        *details = NULL;
    }
    return status;
}
