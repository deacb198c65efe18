/* Robust fits of cost curves to measured medians, over GSL. */
#ifndef GW_CORE_REGRESSION_H
#define GW_CORE_REGRESSION_H

#include <stddef.h>

#include "core/curve.h"
#include "core/status.h"

/* What the size is multiplied with above the startup: n (a straight line) or n log2 n. */
enum gw_curve_shape { GW_STRAIGHT, GW_NLOG2N };

struct gw_fit {
    struct gw_curve curve;
    double median_error, max_error; /* |fit - measured| / measured over the points */
};

/*
 * Fits startup + slope * size (or size * log2 size), both >= 0, to `count` >= 2 points whose times
 * are > 0. Residuals are relative to the measured time, so that a microsecond counts at 1 KiB as a
 * millisecond does at 1 MiB; Tukey's bisquare keeps single outliers from bending the line.
 */
enum gw_status gw_fit_curve(enum gw_curve_shape shape, const struct gw_curve_point *points,
                            size_t count, struct gw_fit *out, struct gw_error *error);

#endif
