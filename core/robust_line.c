#include "core/robust_line.h"

#include <gsl/gsl_fit.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

enum { HUBER_STEPS = 4, MOST_STEPS = 60, FEWEST_TO_OUTVOTE = 5 };

/* Of both weights, in standard deviations: 95% as efficient as least squares without outliers. */
static const double huber_tuning = 1.345;
static const double bisquare_tuning = 4.685;
static const double mad_of_normal = 0.6745;

static const double smallest_scale = 1e-9; /* below it residuals are rounding errors */
static const double settled = 1e-6;        /* relative change of the line */

double gw_line_value(const struct gw_fitted_line *line, const struct gw_line_points *points,
                     size_t i) {
    return fmax(line->startup + line->slope * points->x[i], 0.1 * points->y[i]);
}

/* Least squares with the weights in scratch. */
static void solve(enum gw_line_terms terms, const struct gw_line_points *points,
                  struct gw_fitted_line *out) {
    double c00 = 0;
    double c01 = 0;
    double c11 = 0;
    double chi_square = 0;
    const double *w = points->scratch;
    *out = (struct gw_fitted_line){0};
    if (terms == GW_LINE_BOTH) {
        gsl_fit_wlinear(points->x, 1, w, 1, points->y, 1, points->count, &out->startup, &out->slope,
                        &c00, &c01, &c11, &chi_square);
    } else if (terms == GW_LINE_SLOPE) {
        gsl_fit_wmul(points->x, 1, w, 1, points->y, 1, points->count, &out->slope, &c11,
                     &chi_square);
    } else {
        out->startup = gsl_stats_wmean(w, 1, points->y, 1, points->count);
    }
}

static double residual(const struct gw_fitted_line *line, const struct gw_line_points *points,
                       size_t i) {
    double value = line->startup + line->slope * points->x[i];
    return (points->y[i] - value) / gw_line_value(line, points, i);
}

/* The standard deviation of most residuals; as many as there are terms are small by the fit. */
static double scale_of(const struct gw_fitted_line *line, const struct gw_line_points *points,
                       size_t terms) {
    double *sizes = points->scratch;
    for (size_t i = 0; i < points->count; i++) {
        sizes[i] = fabs(residual(line, points, i));
    }
    gsl_sort(sizes, 1, points->count);
    double median = gsl_stats_median_from_sorted_data(sizes + terms, 1, points->count - terms);
    return fmax(median / mad_of_normal, smallest_scale);
}

static double huber(double u) {
    return fabs(u) <= huber_tuning ? 1 : huber_tuning / fabs(u);
}

static double bisquare(double u) {
    double share = u / bisquare_tuning;
    return fabs(share) < 1 ? (1 - share * share) * (1 - share * share) : 0;
}

static bool same(const struct gw_fitted_line *a, const struct gw_fitted_line *b, double relative) {
    return fabs(a->startup - b->startup) <= relative * fabs(b->startup) &&
           fabs(a->slope - b->slope) <= relative * fabs(b->slope);
}

/* Weights by the residuals, then the line by the weights. */
static void step(enum gw_line_terms terms, const struct gw_line_points *points,
                 double (*weigh)(double u), struct gw_fitted_line *line) {
    size_t count = points->count;
    bool robust = count >= FEWEST_TO_OUTVOTE;
    double scale = robust ? scale_of(line, points, terms == GW_LINE_BOTH ? 2 : 1) : 1;
    for (size_t i = 0; i < count; i++) {
        double value = gw_line_value(line, points, i);
        points->weights[i] = robust ? weigh(residual(line, points, i) / scale) : 1;
        points->scratch[i] = points->weights[i] / (value * value);
    }
    solve(terms, points, line);
}

void gw_robust_line_near(enum gw_line_terms terms, const struct gw_line_points *points,
                         double relative, struct gw_fitted_line *line) {
    bool done = false;
    for (int i = 0; i < MOST_STEPS && !done; i++) {
        struct gw_fitted_line before = *line;
        step(terms, points, bisquare, line);
        done = same(&before, line, relative);
    }
}

void gw_robust_line(enum gw_line_terms terms, const struct gw_line_points *points,
                    struct gw_fitted_line *out) {
    for (size_t i = 0; i < points->count; i++) {
        points->scratch[i] = 1 / (points->y[i] * points->y[i]);
    }
    solve(terms, points, out);
    for (int i = 0; i < HUBER_STEPS; i++) {
        step(terms, points, huber, out);
    }
    gw_robust_line_near(terms, points, settled, out);
}
