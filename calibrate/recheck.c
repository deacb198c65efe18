/* Whether an older calibration still describes its cluster. */
#include <math.h>
#include <stdlib.h>

#include "calibrate/measure/rounds.h"
#include "calibrate/measure/survey.h"

enum { SIZES = 3 }; /* of each curve: small, middling, large */

struct recheck {
    const struct gw_cluster *cluster;
    double tolerance;
    struct gw_survey survey;
};

/* ---- what is measured again ---------------------------------------------------------------- */

/* What the file keeps of a series' curve, or NULL. */
static const cJSON *kept_of(const struct gw_cluster *cluster, const struct gw_series *series) {
    const struct gw_subject *subject = &series->subject;
    if (subject->separate) {
        const struct gw_compressor_cost *cost = gw_cluster_find_compressor(cluster, subject->name);
        return cost == NULL ? NULL : cost->kept;
    }
    const struct gw_collective_cost *cost =
        gw_cluster_find_collective(cluster, subject->name, (size_t)series->workers);
    return cost == NULL ? NULL : cost->kept;
}

static double number_in(const cJSON *object, const char *key) {
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(number) && number->valuedouble > 0 ? number->valuedouble : 0;
}

static bool is_usable(const cJSON *raw, const struct gw_subject *subject) {
    double size = number_in(raw, subject->size_key);
    return size >= 1 && size <= (double)subject->largest && size == floor(size) &&
           fmod(size, sizeof(float)) == 0 && number_in(raw, "median_s") > 0 &&
           number_in(raw, "p5_s") > 0 && number_in(raw, "p95_s") > 0;
}

/* The raw measurements of a curve at 15, 50 and 85% of the sizes that take less than limit_s. */
static size_t choose_raw(const cJSON *kept, const struct gw_subject *subject, double limit_s,
                         const cJSON *out[SIZES]) {
    static const double places[SIZES] = {0.15, 0.5, 0.85};
    const cJSON *raws = cJSON_GetObjectItemCaseSensitive(kept, "raw");
    const cJSON *raw = NULL;
    size_t usable = 0;
    size_t chosen = 0;
    cJSON_ArrayForEach(raw, raws) {
        usable += is_usable(raw, subject) && number_in(raw, "median_s") < limit_s;
    }
    size_t i = 0;
    cJSON_ArrayForEach(raw, raws) {
        if (!is_usable(raw, subject) || !(number_in(raw, "median_s") < limit_s)) {
            continue;
        }
        bool wanted = false;
        for (size_t p = 0; p < SIZES; p++) {
            wanted = wanted || (double)i == rint(places[p] * (double)(usable - 1));
        }
        i++;
        if (wanted && chosen < SIZES) {
            out[chosen++] = raw;
        }
    }
    return chosen;
}

static enum gw_status choose_points(struct recheck *recheck, double time_s,
                                    struct gw_error *error) {
    recheck->survey.points = (struct gw_points){.series = recheck->survey.list.items,
                                                .series_count = recheck->survey.list.count};
    double limit_s = gw_largest_share_s(recheck->survey.list.count, time_s);
    for (size_t s = 0; s < recheck->survey.list.count; s++) {
        const cJSON *raw[SIZES];
        const struct gw_series *series = &recheck->survey.list.items[s];
        size_t count =
            choose_raw(kept_of(recheck->cluster, series), &series->subject, limit_s, raw);
        for (size_t i = 0; i < count; i++) {
            size_t size = (size_t)number_in(raw[i], series->subject.size_key);
            GW_TRY(gw_points_add(&recheck->survey.points, s, size, error));
        }
    }
    return recheck->survey.points.count > 0
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "%s: expected curves with raw measurements, as calibrate writes them, "
                         "got none that can be measured again",
                         recheck->cluster->path);
}

/* ---- then and now -------------------------------------------------------------------------- */

static const cJSON *raw_at(const cJSON *kept, const struct gw_subject *subject, size_t size) {
    const cJSON *raw = NULL;
    cJSON_ArrayForEach(raw, cJSON_GetObjectItemCaseSensitive(kept, "raw")) {
        if (number_in(raw, subject->size_key) == (double)size) {
            break;
        }
    }
    return raw;
}

/* Beyond the tolerance, and where no usual repeat of then was. */
static bool seems_moved(const struct gw_check_row *row, double tolerance) {
    return fabs(row->change) > tolerance &&
           (row->now_s.median_low > row->file_p95_s || row->now_s.median_high < row->file_p5_s);
}

static enum gw_status fill_row(const struct recheck *recheck, const struct gw_point *point,
                               struct gw_check_row *row, struct gw_error *error) {
    const struct gw_series *series = &recheck->survey.list.items[point->series];
    const cJSON *raw = raw_at(kept_of(recheck->cluster, series), &series->subject, point->size);
    struct gw_measurement measurement;
    GW_TRY(gw_point_measurement(point, &recheck->survey.rule, &measurement, error));
    *row = (struct gw_check_row){.name = series->subject.name,
                                 .is_compressor = series->subject.separate,
                                 .workers = (size_t)series->workers,
                                 .size = (double)point->size,
                                 .file_s = number_in(raw, "median_s"),
                                 .file_p5_s = number_in(raw, "p5_s"),
                                 .file_p95_s = number_in(raw, "p95_s"),
                                 .now_s = measurement.summary};
    row->change = row->now_s.median / row->file_s - 1;
    row->moved = seems_moved(row, recheck->tolerance);
    return GW_OK;
}

/* ---- measuring ----------------------------------------------------------------------------- */

static void log_point(void *context, double share, const char *what) {
    (void)context;
    (void)share;
    gw_log(GW_LOG_VERBOSE, "measuring %s", what);
}

/* Forgets what was measured; leaves out what did not move. */
static void begin_again(struct gw_points *points, const struct gw_check *check) {
    for (size_t i = 0; i < points->count; i++) {
        struct gw_point *point = &points->items[i];
        point->state = check->rows[i].moved ? GW_POINT_OPEN : GW_POINT_LEFT_OUT;
        point->count = point->late = point->visits = 0;
        point->spent_s = 0;
        point->error = INFINITY;
    }
}

/* On rank 0: rows of the points that were measured. */
static enum gw_status compare(const struct recheck *recheck, struct gw_check *check,
                              struct gw_error *error) {
    const struct gw_points *points = &recheck->survey.points;
    for (size_t i = 0; i < points->count; i++) {
        struct gw_check_row row = {0};
        if (points->items[i].count == 0) {
            continue;
        }
        GW_TRY(fill_row(recheck, &points->items[i], &row, error));
        check->moved += row.moved;
        check->moved -= check->rows[i].moved;
        check->rows[i] = row;
    }
    return GW_OK;
}

static enum gw_status measure_twice(struct recheck *recheck, double time_s, struct gw_check *check,
                                    struct gw_error *error) {
    struct gw_survey *survey = &recheck->survey;
    const struct gw_report report = {.tell = log_point, .scale = 1};
    struct gw_journal journal = {.descriptor = -1};
    const double shares[] = {0.7, 0.3};
    for (int pass = 0; pass < 2; pass++) {
        double moved = 0;
        GW_TRY(gw_survey_run(survey, shares[pass] * time_s, &journal, &report, error));
        if (survey->communicator->rank == 0) {
            GW_TRY(compare(recheck, check, error));
            begin_again(&survey->points, check);
            moved = (double)check->moved;
        }
        GW_TRY(gw_agree_maximum(survey->communicator, &moved, 1, error));
        if (moved == 0) {
            break;
        }
    }
    return GW_OK;
}

/* ---- the verdict --------------------------------------------------------------------------- */

static void judge(struct gw_check *check) {
    size_t touched = 0;
    for (size_t i = 0; i < check->count;) {
        const struct gw_check_row *first = &check->rows[i];
        size_t moved = 0;
        for (; i < check->count && check->rows[i].workers == first->workers &&
               check->rows[i].name == first->name;
             i++) {
            moved += check->rows[i].moved;
        }
        check->curves++;
        check->moved_curves += moved >= 2;
        touched += moved > 0;
    }
    check->describes = check->moved_curves == 0 && 4 * touched < check->curves;
}

/* ---- the whole ----------------------------------------------------------------------------- */

/* Series that the file has no curve of are of no use. */
static void drop_unknown(struct recheck *recheck) {
    struct gw_series_list *list = &recheck->survey.list;
    size_t kept = 0;
    for (size_t s = 0; s < list->count; s++) {
        if (kept_of(recheck->cluster, &list->items[s]) != NULL) {
            list->items[kept++] = list->items[s];
        }
    }
    list->count = kept;
}

static enum gw_status run_recheck(struct recheck *recheck, const struct gw_calibration *calibration,
                                  double started_s, struct gw_check *out, struct gw_error *error) {
    drop_unknown(recheck);
    GW_TRY(choose_points(recheck, calibration->time_s, error));
    out->count = recheck->survey.points.count;
    out->rows = calloc(out->count, sizeof *out->rows);
    double left_s = calibration->time_s - (gw_clock_now_s() - started_s);
    return out->rows == NULL ? gw_fail_memory(error, "checking a calibration")
                             : measure_twice(recheck, fmax(left_s, 0), out, error);
}

enum gw_status gw_calibration_check(struct gw_communicator *communicator,
                                    const struct gw_calibration *calibration,
                                    const struct gw_cluster *cluster, double tolerance,
                                    struct gw_check *out, struct gw_error *error) {
    double started_s = gw_clock_now_s();
    struct recheck recheck = {.cluster = cluster, .tolerance = tolerance};
    *out = (struct gw_check){0};
    enum gw_status status = gw_survey_open(communicator, calibration, &recheck.survey, error);
    if (status == GW_OK) {
        status = run_recheck(&recheck, calibration, started_s, out, error);
    }
    gw_survey_close(&recheck.survey);
    if (status == GW_OK && communicator->rank == 0) {
        judge(out);
    }
    if (status != GW_OK) {
        gw_check_free(out);
    }
    return status;
}

void gw_check_free(struct gw_check *check) {
    free(check->rows);
    *check = (struct gw_check){0};
}
