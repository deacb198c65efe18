#include "calibrate/measure/points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- sizes --------------------------------------------------------------------------------- */

/* Size number `i` of a series, 0 if it is beyond the largest. */
static size_t size_of(const struct gw_subject *subject, size_t per_factor_four, size_t i) {
    double size = (double)subject->smallest * pow(4, (double)i / (double)per_factor_four);
    size_t rounded = (size_t)(size / 8 + 0.5) * 8;
    return rounded <= subject->largest ? rounded : 0;
}

static size_t count_sizes(const struct gw_subject *subject, size_t per_factor_four) {
    size_t count = 0;
    while (size_of(subject, per_factor_four, count) > 0) {
        count++;
    }
    return count;
}

/* Few sizes make no curve: then they lie closer together. */
static size_t density_for(const struct gw_subject *subject, size_t per_factor_four) {
    size_t denser = per_factor_four;
    while (denser < 8 && count_sizes(subject, denser) < GW_FEWEST_SIZES) {
        denser *= 2;
    }
    return denser;
}

/* ---- series and points --------------------------------------------------------------------- */

enum gw_status gw_series_list_add(struct gw_series_list *list, struct gw_series series,
                                  struct gw_error *error) {
    struct gw_series *larger =
        gw_grow(list->items, list->count + 1, &list->capacity, sizeof *larger);
    if (larger == NULL) {
        return gw_fail_memory(error, "choosing what to measure");
    }
    list->items = larger;
    list->items[list->count++] = series;
    return GW_OK;
}

enum gw_status gw_points_add(struct gw_points *points, size_t series, size_t size,
                             struct gw_error *error) {
    struct gw_point *larger =
        gw_grow(points->items, points->count + 1, &points->capacity, sizeof *larger);
    if (larger == NULL) {
        return gw_fail_memory(error, "choosing what to measure");
    }
    points->items = larger;
    points->items[points->count++] =
        (struct gw_point){.series = series, .size = size, .error = INFINITY};
    return GW_OK;
}

enum gw_status gw_points_open(struct gw_series *series, size_t series_count, size_t per_factor_four,
                              struct gw_points *out, struct gw_error *error) {
    *out = (struct gw_points){.series = series, .series_count = series_count};
    for (size_t s = 0; s < series_count; s++) {
        const struct gw_subject *subject = &series[s].subject;
        size_t density = density_for(subject, per_factor_four);
        for (size_t i = 0; size_of(subject, density, i) > 0; i++) {
            GW_TRY(gw_points_add(out, s, size_of(subject, density, i), error));
        }
    }
    return GW_OK;
}

void gw_points_free(struct gw_points *points) {
    for (size_t i = 0; i < points->count; i++) {
        free(points->items[i].seconds);
    }
    free(points->items);
    *points = (struct gw_points){0};
}

struct gw_point *gw_points_find(const struct gw_points *points, const char *name, size_t workers,
                                size_t size) {
    for (size_t i = 0; i < points->count; i++) {
        struct gw_point *point = &points->items[i];
        const struct gw_series *series = &points->series[point->series];
        if (point->size == size && (size_t)series->workers == workers &&
            strcmp(series->subject.name, name) == 0) {
            return point;
        }
    }
    return NULL;
}

/* ---- what is known ------------------------------------------------------------------------- */

size_t gw_point_fewest(const struct gw_point *point) {
    const double long_s = 5e-3;
    return point->spent_s > long_s * (double)point->count ? GW_FEWEST_LONG_REPEATS
                                                          : GW_FEWEST_REPEATS;
}

static enum gw_status summarise(const struct gw_point *point, const struct gw_stop_rule *rule,
                                struct gw_summary *summary, size_t *outliers,
                                struct gw_error *error) {
    double *sorted = malloc(point->count * sizeof *sorted);
    if (sorted == NULL) {
        return gw_fail_memory(error, "summarising repeats");
    }
    memcpy(sorted, point->seconds, point->count * sizeof *sorted);
    enum gw_status status =
        gw_summarise_repeats(sorted, point->count, rule->seed,
                             gw_random_mix(point->series) ^ point->size, summary, error);
    if (status == GW_OK) {
        *outliers = gw_count_outliers(sorted, point->count, GW_FAR_DEVIATIONS);
    }
    free(sorted);
    return status;
}

enum gw_status gw_point_add(struct gw_point *point, const double *seconds, size_t count,
                            size_t late, const struct gw_stop_rule *rule, struct gw_error *error) {
    struct gw_summary summary;
    size_t outliers = 0;
    double *larger =
        gw_grow(point->seconds, point->count + count, &point->capacity, sizeof *larger);
    if (larger == NULL) {
        return gw_fail_memory(error, "keeping repeats");
    }
    point->seconds = larger;
    memcpy(point->seconds + point->count, seconds, count * sizeof *seconds);
    for (size_t i = 0; i < count; i++) {
        point->spent_s += seconds[i];
    }
    point->count += count;
    point->late += late;
    point->visits++;
    GW_TRY(summarise(point, rule, &summary, &outliers, error));
    point->error = point->count > 1 ? gw_summary_relative_error(&summary) : INFINITY;
    bool enough = point->count >= gw_point_fewest(point) && point->visits >= GW_FEWEST_VISITS;
    if (enough && point->error <= rule->precision) {
        point->state = GW_POINT_PRECISE;
    } else if (enough && point->spent_s >= rule->max_s_per_point) {
        point->state = GW_POINT_CAPPED;
    } else if (point->count >= GW_MOST_REPEATS) {
        point->state = GW_POINT_OUT_OF_REPEATS;
    }
    return GW_OK;
}

static const char *stopped_by(enum gw_point_state state) {
    return state == GW_POINT_PRECISE          ? NULL
           : state == GW_POINT_CAPPED         ? "max-time"
           : state == GW_POINT_OUT_OF_REPEATS ? "repeats"
                                              : "time";
}

enum gw_status gw_point_measurement(const struct gw_point *point, const struct gw_stop_rule *rule,
                                    struct gw_measurement *out, struct gw_error *error) {
    *out = (struct gw_measurement){.size = (double)point->size,
                                   .precise = point->state == GW_POINT_PRECISE,
                                   .stopped_by = stopped_by(point->state),
                                   .late = point->late};
    return summarise(point, rule, &out->summary, &out->outliers, error);
}
