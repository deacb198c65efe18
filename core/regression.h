/* Robust fits of cost curves to measured medians, over GSL. */
#ifndef GW_CORE_REGRESSION_H
#define GW_CORE_REGRESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "core/curve.h"
#include "core/status.h"

/* ---- cost curves ----------------------------------------------------------------------------- */

/* The factor of the slope: n (a straight line) or n log2 n. */
enum gw_curve_shape { GW_STRAIGHT, GW_NLOG2N };

/* The coefficients of startup + slope * x that a line has; the other is zero. */
enum gw_line_terms { GW_LINE_BOTH, GW_LINE_STARTUP, GW_LINE_SLOPE };

struct gw_fit {
    struct gw_curve curve;
    enum gw_curve_shape shape;
    enum gw_line_terms terms;       /* its coefficients: one that would be negative is dropped */
    bool startup_free;              /* the startup may be negative */
    double median_error, max_error; /* |fit - measured| / measured over the points */
};

/*
 * Fits startup + slope * size (or size * log2 size), both >= 0, to `count` >= 2 points with times >
 * 0. Residuals are relative, so that a microsecond at 1 KiB counts as much as a millisecond at 1
 * MiB; single outliers hardly change the line.
 */
enum gw_status gw_fit_curve(enum gw_curve_shape shape, const struct gw_curve_point *points,
                            size_t count, struct gw_fit *out, struct gw_error *error);

/* Fits a straight line that holds only at its points: it may start below zero, like the steeper of
 * two lines that meet. */
enum gw_status gw_fit_segment(const struct gw_curve_point *points, size_t count, struct gw_fit *out,
                              struct gw_error *error);

/* The number of last points, of ascending sizes, by which a measured curve is extended: those from
 * an eighth of the largest size on, at most GW_MAX_LAST_POINTS; 0 if these are fewer than four. */
enum { GW_LAST_REACH = 8, GW_MAX_LAST_POINTS = 16 };
size_t gw_last_points(const struct gw_curve_point *points, size_t count);

/* ---- intervals of fits ----------------------------------------------------------------------- */

/* Confidence intervals of a fitted cost curve's coefficients, by the bootstrap. */

/* 95% confidence intervals, in seconds and seconds per unit (or per n log2 n). */
struct gw_fit_interval {
    bool known; /* false: fewer than four points */
    double startup_low, startup_high;
    double slope_low, slope_high;
};

/*
 * Finds the intervals of `fit`, which gw_fit_curve or gw_fit_segment made from the same points.
 * relative_errors: the relative standard deviation of each time by itself, or NULL if unknown. A
 * time may be further off, by a scatter from size to size that repeats at one size do not show
 * (another path through the library, a cold page): its variance is the excess of the residuals.
 *
 * The intervals are bootstrap-t (Efron and Tibshirani 1993, section 12.5): the points are drawn 999
 * times around the line, and the error of each fitted line is divided by its own standard error, so
 * that the interval accounts for the uncertainty of a variance from few points. The same points
 * give the same interval.
 *
 * The line that points are drawn around and fitted again has the terms of the fit. The interval of
 * a dropped coefficient reaches from 0 to the end of its interval in a line with both, or to 0 if
 * that is below. Intervals of coefficients that must not be negative are not.
 */
enum gw_status gw_fit_intervals(const struct gw_fit *fit, const struct gw_curve_point *points,
                                const double *relative_errors, size_t count,
                                struct gw_fit_interval *out, struct gw_error *error);

#endif
