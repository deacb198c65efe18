#include "core/regression.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

double gw_curve_basis(enum gw_curve_shape shape, double size) {
    return shape == GW_STRAIGHT ? size : size * log2(size);
}

/* errors: room for count. */
static void judge(const struct gw_curve_point *points, size_t count, double *errors,
                  struct gw_fit *fit) {
    for (size_t i = 0; i < count; i++) {
        errors[i] =
            fabs(gw_curve_time(&fit->curve, points[i].size) - points[i].time_s) / points[i].time_s;
    }
    gsl_sort(errors, 1, count);
    fit->median_error = gsl_stats_median_from_sorted_data(errors, 1, count);
    fit->max_error = errors[count - 1];
}

/* A negative coefficient has no meaning; the best fit without it has that one at zero. */
static enum gw_line_terms fit_line(const struct gw_line_points *points, bool startup_free,
                                   struct gw_fitted_line *line) {
    enum gw_line_terms terms = GW_LINE_BOTH;
    gw_robust_line(terms, points, line);
    if (line->slope < 0) {
        terms = GW_LINE_STARTUP;
    } else if (line->startup < 0 && !startup_free) {
        terms = GW_LINE_SLOPE;
    }
    if (terms != GW_LINE_BOTH) {
        gw_robust_line(terms, points, line);
    }
    return terms;
}

static enum gw_status fit(enum gw_curve_shape shape, bool startup_free,
                          const struct gw_curve_point *points, size_t count, struct gw_fit *out,
                          struct gw_error *error) {
    double *room = malloc(4 * count * sizeof *room);
    if (room == NULL) {
        return gw_fail_memory(error, "fitting a cost curve");
    }
    double *x = room;
    double *y = room + count;
    for (size_t i = 0; i < count; i++) {
        x[i] = gw_curve_basis(shape, points[i].size);
        y[i] = points[i].time_s;
    }
    struct gw_line_points as_line = {
        .count = count, .x = x, .y = y, .weights = room + 2 * count, .scratch = room + 3 * count};
    struct gw_fitted_line line;
    enum gw_line_terms terms = fit_line(&as_line, startup_free, &line);
    *out = (struct gw_fit){.curve = {.fixed_s = line.startup},
                           .shape = shape,
                           .terms = terms,
                           .startup_free = startup_free};
    *(shape == GW_STRAIGHT ? &out->curve.per_unit_s : &out->curve.per_nlog2n_s) = line.slope;
    judge(points, count, x, out);
    free(room);
    return GW_OK;
}

enum gw_status gw_fit_curve(enum gw_curve_shape shape, const struct gw_curve_point *points,
                            size_t count, struct gw_fit *out, struct gw_error *error) {
    return fit(shape, false, points, count, out, error);
}

enum gw_status gw_fit_segment(const struct gw_curve_point *points, size_t count, struct gw_fit *out,
                              struct gw_error *error) {
    return fit(GW_STRAIGHT, true, points, count, out, error);
}
