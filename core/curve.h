/*
 * Cost curves: the time of a collective for the bytes that one worker contributes, or of a
 * compressor for the elements of a group. A curve is straight, n log n, or measured points
 * (docs/files.md).
 */
#ifndef GW_CORE_CURVE_H
#define GW_CORE_CURVE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"

/* The range of times in all files: no time is longer, including those for each byte or element, and
 * shorter ones count as 0. Sums, products and squares of them stay far from overflow. */
#define GW_MAX_SECONDS 1e6
#define GW_MIN_SECONDS 1e-30

struct gw_curve_point {
    double size;   /* bytes or elements, > 0 */
    double time_s; /* >= 0 */
};

/* Without points the curve is fixed_s + per_unit_s * n + per_nlog2n_s * n * log2(n); for a
 * collective, fixed_s is alpha and per_unit_s beta. With points the coefficients are ignored. */
struct gw_curve {
    double fixed_s;
    double per_unit_s;
    double per_nlog2n_s;
    size_t point_count;            /* 0 or >= 2 */
    struct gw_curve_point *points; /* owned; sizes strictly ascending */
};

/* The time in seconds at size n >= 0; 0 at n = 0. Beyond its points a curve has the slope of the
 * segment at that end, but never falls, and is never below zero. */
double gw_curve_time(const struct gw_curve *curve, double n);

/* Sizes from `from` to less than `to`, on one line of a curve; all 0 before the first look-up. */
struct gw_curve_segment {
    double from, to;
    double size, time_s,
        slope; /* the time at n is time_s + slope * (n - size), but never negative */
};

/* The same as gw_curve_time; finds the segment of n, where a line has the curve's times. */
double gw_curve_find(const struct gw_curve *curve, double n, struct gw_curve_segment *segment);

/* The same for many sizes in turn, of which most are in the segment of the one before. */
static inline double gw_curve_time_near(const struct gw_curve *curve, double n,
                                        struct gw_curve_segment *segment) {
    if (!(n >= segment->from && n < segment->to)) {
        return gw_curve_find(curve, n, segment);
    }
    double time_s = segment->time_s + segment->slope * (n - segment->size);
    return time_s > 0 ? time_s : 0;
}

/* True if the curve is not zero, as every measured one. */
bool gw_curve_costs(const struct gw_curve *curve);

/* The startup: the curve's value extrapolated to size zero, in seconds, never below zero. */
double gw_curve_startup(const struct gw_curve *curve);

/* A copy with the startup multiplied by `startup_factor` and everything above it by `slope_factor`,
 * as a growth law in the number of workers changes a curve. */
enum gw_status gw_curve_scaled(const struct gw_curve *curve, double startup_factor,
                               double slope_factor, struct gw_curve *out, struct gw_error *error);

/*
 * The sum of two curves: exact for straight lines and for points, at all sizes at which neither,
 * continued beyond its points, falls below zero. Fails for points and n log n, whose sum is no such
 * curve.
 */
enum gw_status gw_curve_sum(const struct gw_curve *a, const struct gw_curve *b,
                            struct gw_curve *out, struct gw_error *error);

enum gw_status gw_curve_copy(const struct gw_curve *curve, struct gw_curve *out,
                             struct gw_error *error);

void gw_curve_free(struct gw_curve *curve);

#endif
