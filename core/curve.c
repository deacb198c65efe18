#include "core/curve.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/portable.h"

/* The time on the line through the two points around n, or through the two at the nearest end. */
static inline double points_time(const struct gw_curve *curve, double n,
                                 struct gw_curve_segment *segment) {
    const struct gw_curve_point *points = curve->points;
    size_t low = 0;
    for (size_t left = curve->point_count - 1; left > 1; left -= left / 2) {
        low += points[low + left / 2].size <= n ? left / 2 : 0; /* without a branch */
    }
    size_t high = low + 1;
    double slope =
        (points[high].time_s - points[low].time_s) / (points[high].size - points[low].size);
    bool is_last = high + 1 == curve->point_count;
    *segment = (struct gw_curve_segment){.from = low == 0 ? DBL_TRUE_MIN : points[low].size,
                                         .to = is_last && slope >= 0 ? INFINITY : points[high].size,
                                         .size = points[low].size,
                                         .time_s = points[low].time_s,
                                         .slope = slope};
    if (slope < 0 && n > points[high].size) {
        return points[high].time_s;
    }
    double time = points[low].time_s + slope * (n - points[low].size);
    return time > 0 ? time : 0;
}

static inline double look_up(const struct gw_curve *curve, double n,
                             struct gw_curve_segment *segment) {
    *segment = (struct gw_curve_segment){0};
    if (!(n > 0)) {
        return 0;
    }
    if (curve->point_count > 0) {
        return points_time(curve, n, segment);
    }
    double time = curve->fixed_s + curve->per_unit_s * n;
    if (curve->per_nlog2n_s > 0) {
        time += curve->per_nlog2n_s * n * gw_portable_log2(n);
    } else {
        *segment = (struct gw_curve_segment){DBL_TRUE_MIN, INFINITY, .time_s = curve->fixed_s,
                                             .slope = curve->per_unit_s};
    }
    return time > 0 ? time : 0;
}

double gw_curve_time(const struct gw_curve *curve, double n) {
    struct gw_curve_segment segment;
    return look_up(curve, n, &segment);
}

double gw_curve_find(const struct gw_curve *curve, double n, struct gw_curve_segment *segment) {
    return look_up(curve, n, segment);
}

bool gw_curve_costs(const struct gw_curve *curve) {
    return curve->point_count > 0 || curve->fixed_s > 0 || curve->per_unit_s > 0 ||
           curve->per_nlog2n_s > 0;
}

double gw_curve_startup(const struct gw_curve *curve) {
    struct gw_curve_segment segment;
    return curve->point_count > 0 ? points_time(curve, 0, &segment) : curve->fixed_s;
}

enum gw_status gw_curve_copy(const struct gw_curve *curve, struct gw_curve *out,
                             struct gw_error *error) {
    struct gw_curve copy = *curve;
    if (curve->point_count > 0) {
        size_t bytes = curve->point_count * sizeof *curve->points;
        copy.points = malloc(bytes);
        if (copy.points == NULL) {
            return gw_fail_memory(error, "copying a cost curve");
        }
        memcpy(copy.points, curve->points, bytes);
    }
    *out = copy;
    return GW_OK;
}

enum gw_status gw_curve_scaled(const struct gw_curve *curve, double startup_factor,
                               double slope_factor, struct gw_curve *out, struct gw_error *error) {
    GW_TRY(gw_curve_copy(curve, out, error));
    out->fixed_s *= startup_factor;
    out->per_unit_s *= slope_factor;
    out->per_nlog2n_s *= slope_factor;
    double startup = gw_curve_startup(curve);
    for (size_t i = 0; i < out->point_count; i++) {
        double above = out->points[i].time_s - startup;
        double time = startup_factor * startup + slope_factor * above;
        out->points[i].time_s = time > 0 ? time : 0;
    }
    return GW_OK;
}

/* Lists the sizes of the points of both curves, each once; returns their number. */
static size_t unite_sizes(const struct gw_curve *a, const struct gw_curve *b,
                          struct gw_curve_point *out) {
    size_t i = 0;
    size_t j = 0;
    size_t count = 0;
    while (i < a->point_count || j < b->point_count) {
        bool from_b =
            i == a->point_count || (j < b->point_count && b->points[j].size < a->points[i].size);
        double size = from_b ? b->points[j].size : a->points[i].size;
        i += i < a->point_count && a->points[i].size == size;
        j += j < b->point_count && b->points[j].size == size;
        out[count++].size = size;
    }
    return count;
}

enum gw_status gw_curve_sum(const struct gw_curve *a, const struct gw_curve *b,
                            struct gw_curve *out, struct gw_error *error) {
    size_t points = a->point_count + b->point_count;
    *out = (struct gw_curve){.fixed_s = a->fixed_s + b->fixed_s,
                             .per_unit_s = a->per_unit_s + b->per_unit_s,
                             .per_nlog2n_s = a->per_nlog2n_s + b->per_nlog2n_s};
    if (points == 0) {
        return GW_OK;
    }
    if ((a->point_count == 0 && a->per_nlog2n_s != 0) ||
        (b->point_count == 0 && b->per_nlog2n_s != 0)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "sum of cost curves: expected points and straight lines, got points and an "
                       "n log n");
    }
    *out = (struct gw_curve){.points = calloc(points, sizeof *out->points)};
    if (out->points == NULL) {
        return gw_fail_memory(error, "adding cost curves");
    }
    out->point_count = unite_sizes(a, b, out->points);
    for (size_t i = 0; i < out->point_count; i++) {
        struct gw_curve_point *point = &out->points[i];
        point->time_s = gw_curve_time(a, point->size) + gw_curve_time(b, point->size);
    }
    return GW_OK;
}

void gw_curve_free(struct gw_curve *curve) {
    free(curve->points);
    *curve = (struct gw_curve){0};
}
