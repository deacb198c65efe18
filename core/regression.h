/* Robust fits of cost curves to measured medians, over GSL. */
#ifndef GW_CORE_REGRESSION_H
#define GW_CORE_REGRESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "core/curve.h"
#include "core/robust_line.h"
#include "core/status.h"

/* What the size is multiplied with above the startup: n (a straight line) or n log2 n. */
enum gw_curve_shape { GW_STRAIGHT, GW_NLOG2N };

struct gw_fit {
    struct gw_curve curve;
    enum gw_curve_shape shape;
    enum gw_line_terms terms; /* that it has: a coefficient that would be negative is dropped */
    bool startup_free;        /* the startup may be negative */
    double median_error, max_error; /* |fit - measured| / measured over the points */
};

/* What the slope is multiplied with at `size`. */
double gw_curve_basis(enum gw_curve_shape shape, double size);

/*
 * Fits startup + slope * size (or size * log2 size), both >= 0, to `count` >= 2 points whose times
 * are > 0. Residuals are relative, so that a microsecond counts at 1 KiB as a millisecond does at
 * 1 MiB; single outliers do not bend the line (gw_robust_line).
 */
enum gw_status gw_fit_curve(enum gw_curve_shape shape, const struct gw_curve_point *points,
                            size_t count, struct gw_fit *out, struct gw_error *error);

/*
 * The same for a straight line that holds only where its points are: it may start below zero, as
 * the steeper one of two that meet does.
 */
enum gw_status gw_fit_segment(const struct gw_curve_point *points, size_t count, struct gw_fit *out,
                              struct gw_error *error);

#endif
