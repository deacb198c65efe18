/* Robust fits of cost curves to measured medians, over GSL. */
#ifndef GW_CORE_REGRESSION_H
#define GW_CORE_REGRESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "core/curve.h"
#include "core/status.h"

/* ---- cost curves ----------------------------------------------------------------------------- */

/* What the size is multiplied with above the startup: n (a straight line) or n log2 n. */
enum gw_curve_shape { GW_STRAIGHT, GW_NLOG2N };

/* Which coefficients of startup + slope * x there are; the other is zero. */
enum gw_line_terms { GW_LINE_BOTH, GW_LINE_STARTUP, GW_LINE_SLOPE };

struct gw_fit {
    struct gw_curve curve;
    enum gw_curve_shape shape;
    enum gw_line_terms terms; /* that it has: a coefficient that would be negative is dropped */
    bool startup_free;        /* the startup may be negative */
    double median_error, max_error; /* |fit - measured| / measured over the points */
};

/*
 * Fits startup + slope * size (or size * log2 size), both >= 0, to `count` >= 2 points whose times
 * are > 0. Residuals are relative, so that a microsecond counts at 1 KiB as a millisecond does at
 * 1 MiB; single outliers do not bend the line.
 */
enum gw_status gw_fit_curve(enum gw_curve_shape shape, const struct gw_curve_point *points,
                            size_t count, struct gw_fit *out, struct gw_error *error);

/*
 * The same for a straight line that holds only where its points are: it may start below zero, as
 * the steeper one of two that meet does.
 */
enum gw_status gw_fit_segment(const struct gw_curve_point *points, size_t count, struct gw_fit *out,
                              struct gw_error *error);

/*
 * How many of the last points, of ascending sizes, a measured curve goes on through beyond them:
 * those from an eighth of the largest size on, GW_MOST_LAST at most; 0 where these are fewer than
 * four.
 */
enum { GW_LAST_REACH = 8, GW_MOST_LAST = 16 };
size_t gw_last_points(const struct gw_curve_point *points, size_t count);

/* ---- intervals of fits ----------------------------------------------------------------------- */

/* How well a fitted cost curve's coefficients are known, by the bootstrap. */

/* 95% confidence intervals, in seconds and seconds per unit (or per n log2 n). */
struct gw_fit_interval {
    bool known; /* false: fewer than four points */
    double startup_low, startup_high;
    double slope_low, slope_high;
};

/*
 * Of `fit`, which gw_fit_curve or gw_fit_segment made of the same points. relative_errors: how well
 * each time is known by itself, as a standard deviation relative to it, or NULL if that is not
 * known. A time may lie further off than that, by a scatter from size to size that repeats at one
 * size do not show (another path through the library, a page that is cold): its variance is what
 * the residuals have more.
 *
 * A bootstrap-t interval (Efron and Tibshirani 1993, section 12.5): 999 times the points are drawn
 * again around the line, and what is asked is how far the line through them is off in units of its
 * own standard error. So the interval knows that a variance from few points is itself uncertain.
 * The same points give the same interval.
 *
 * The line drawn around and fitted again has the terms that the fit has. A coefficient that was
 * dropped reaches from 0 to where its interval ends in a line with both, or to 0 if that is below.
 * What must not be negative has an interval that is not.
 */
enum gw_status gw_fit_intervals(const struct gw_fit *fit, const struct gw_curve_point *points,
                                const double *relative_errors, size_t count,
                                struct gw_fit_interval *out, struct gw_error *error);

#endif
