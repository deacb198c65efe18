/* How well a fitted cost curve's coefficients are known, by the bootstrap. */
#ifndef GW_CORE_FIT_INTERVAL_H
#define GW_CORE_FIT_INTERVAL_H

#include <stdbool.h>

#include "core/regression.h"

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
