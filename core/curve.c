#include "core/curve.h"

#include <stdlib.h>
#include <string.h>

#include "core/portable.h"

/* On the line through the two points around n, or through the two at the nearest end. */
static double points_time(const struct gw_curve *curve, double n) {
    const struct gw_curve_point *points = curve->points;
    size_t low = 0;
    size_t high = curve->point_count - 1;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (points[middle].size <= n) {
            low = middle;
        } else {
            high = middle;
        }
    }
    double slope =
        (points[high].time_s - points[low].time_s) / (points[high].size - points[low].size);
    double time = points[low].time_s + slope * (n - points[low].size);
    return time > 0 ? time : 0;
}

double gw_curve_time(const struct gw_curve *curve, double n) {
    if (!(n > 0)) {
        return 0;
    }
    if (curve->point_count > 0) {
        return points_time(curve, n);
    }
    double time = curve->fixed_s + curve->per_unit_s * n;
    if (curve->per_nlog2n_s > 0) {
        time += curve->per_nlog2n_s * n * gw_portable_log2(n);
    }
    return time > 0 ? time : 0;
}

double gw_curve_startup(const struct gw_curve *curve) {
    return curve->point_count > 0 ? points_time(curve, 0) : curve->fixed_s;
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

void gw_curve_free(struct gw_curve *curve) {
    free(curve->points);
    *curve = (struct gw_curve){0};
}
