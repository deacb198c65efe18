#include "core/regression.h"

#include <gsl/gsl_fit.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"

/* ---- robust lines ---------------------------------------------------------------------------- */

/* A line through positive times with relative errors, robust against single outliers. */
struct fitted_line {
    double startup, slope; /* time = startup + slope * x */
};

/*
 * x: count abscissae; y: count times > 0, count >= 2 of them, not all at one x. Scratch memory of
 * the caller: weights, which receives the final weight of each point, from 0 (an outlier) to 1, and
 * scratch, both [count].
 */
struct line_points {
    size_t count;
    const double *x, *y;
    double *weights, *scratch;
};

enum { HUBER_STEPS = 4, MAX_STEPS = 60, MIN_TO_OUTVOTE = 5 };

/* The tuning of both weights, in standard deviations: 95% as efficient as least squares without
 * outliers. */
static const double huber_tuning = 1.345;
static const double bisquare_tuning = 4.685;
static const double mad_of_normal = 0.6745;

static const double smallest_scale = 1e-9; /* below it residuals are rounding errors */
static const double settled = 1e-6;        /* relative change of the line */

/* The line's value at point i, but at least a tenth of the measured value. */
static double line_value(const struct fitted_line *line, const struct line_points *points,
                         size_t i) {
    return fmax(line->startup + line->slope * points->x[i], 0.1 * points->y[i]);
}

/* Least squares with the weights in scratch. */
static void solve_line(enum gw_line_terms terms, const struct line_points *points,
                       struct fitted_line *out) {
    double c00 = 0;
    double c01 = 0;
    double c11 = 0;
    double chi_square = 0;
    const double *w = points->scratch;
    *out = (struct fitted_line){0};
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

static double line_residual(const struct fitted_line *line, const struct line_points *points,
                            size_t i) {
    double value = line->startup + line->slope * points->x[i];
    return (points->y[i] - value) / line_value(line, points, i);
}

/* The standard deviation of most residuals; as many as there are terms are small by the fit. */
static double residual_scale(const struct fitted_line *line, const struct line_points *points,
                             size_t terms) {
    double *sizes = points->scratch;
    for (size_t i = 0; i < points->count; i++) {
        sizes[i] = fabs(line_residual(line, points, i));
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

/* Weights points by their residuals, then fits the line with the weights. */
static void reweight_line(enum gw_line_terms terms, const struct line_points *points,
                          double (*weigh)(double u), struct fitted_line *line) {
    size_t count = points->count;
    bool robust = count >= MIN_TO_OUTVOTE;
    double scale = robust ? residual_scale(line, points, terms == GW_LINE_BOTH ? 2 : 1) : 1;
    for (size_t i = 0; i < count; i++) {
        double value = line_value(line, points, i);
        points->weights[i] = robust ? weigh(line_residual(line, points, i) / scale) : 1;
        points->scratch[i] = points->weights[i] / (value * value);
    }
    solve_line(terms, points, line);
}

/* Improves a line that is near already, until it changes by less than `relative`. */
static void robust_line_near(enum gw_line_terms terms, const struct line_points *points,
                             double relative, struct fitted_line *line) {
    bool done = false;
    for (int i = 0; i < MAX_STEPS && !done; i++) {
        struct fitted_line before = *line;
        reweight_line(terms, points, bisquare, line);
        done = fabs(before.startup - line->startup) <= relative * fabs(line->startup) &&
               fabs(before.slope - line->slope) <= relative * fabs(line->slope);
    }
}

/*
 * Fits a line with residuals relative to it. Huber's weights, whose optimum is unique, lead close
 * to that of Tukey's bisquare, which gives far outliers no weight at all. Fewer than five points
 * cannot outvote one of them: these are fitted by plain least squares. Terms may be negative.
 */
static void robust_line(enum gw_line_terms terms, const struct line_points *points,
                        struct fitted_line *out) {
    for (size_t i = 0; i < points->count; i++) {
        points->scratch[i] = 1 / (points->y[i] * points->y[i]);
    }
    solve_line(terms, points, out);
    for (int i = 0; i < HUBER_STEPS; i++) {
        reweight_line(terms, points, huber, out);
    }
    robust_line_near(terms, points, settled, out);
}

/* ---- cost curves ----------------------------------------------------------------------------- */

/* The factor of the slope at `size`. */
static double curve_basis(enum gw_curve_shape shape, double size) {
    return shape == GW_STRAIGHT ? size : size * log2(size);
}

/* Drops a negative coefficient, which has no meaning; the best fit without it has it at zero. */
static enum gw_line_terms fit_line(const struct line_points *points, bool startup_free,
                                   struct fitted_line *line) {
    enum gw_line_terms terms = GW_LINE_BOTH;
    robust_line(terms, points, line);
    if (line->slope < 0) {
        terms = GW_LINE_STARTUP;
    } else if (line->startup < 0 && !startup_free) {
        terms = GW_LINE_SLOPE;
    }
    if (terms != GW_LINE_BOTH) {
        robust_line(terms, points, line);
    }
    return terms;
}

static enum gw_status fit_shape(enum gw_curve_shape shape, bool startup_free,
                                const struct gw_curve_point *points, size_t count,
                                struct gw_fit *out, struct gw_error *error) {
    double *room = malloc(4 * count * sizeof *room);
    if (room == NULL) {
        return gw_fail_memory(error, "fitting a cost curve");
    }
    double *x = room;
    double *y = room + count;
    for (size_t i = 0; i < count; i++) {
        x[i] = curve_basis(shape, points[i].size);
        y[i] = points[i].time_s;
    }
    struct line_points as_line = {
        .count = count, .x = x, .y = y, .weights = room + 2 * count, .scratch = room + 3 * count};
    struct fitted_line line;
    enum gw_line_terms terms = fit_line(&as_line, startup_free, &line);
    *out = (struct gw_fit){.curve = {.fixed_s = line.startup},
                           .shape = shape,
                           .terms = terms,
                           .startup_free = startup_free};
    *(shape == GW_STRAIGHT ? &out->curve.per_unit_s : &out->curve.per_nlog2n_s) = line.slope;
    double *errors = x; /* which are no longer needed */
    for (size_t i = 0; i < count; i++) {
        errors[i] =
            fabs(gw_curve_time(&out->curve, points[i].size) - points[i].time_s) / points[i].time_s;
    }
    gsl_sort(errors, 1, count);
    out->median_error = gsl_stats_median_from_sorted_data(errors, 1, count);
    out->max_error = errors[count - 1];
    free(room);
    return GW_OK;
}

enum gw_status gw_fit_curve(enum gw_curve_shape shape, const struct gw_curve_point *points,
                            size_t count, struct gw_fit *out, struct gw_error *error) {
    return fit_shape(shape, false, points, count, out, error);
}

enum gw_status gw_fit_segment(const struct gw_curve_point *points, size_t count, struct gw_fit *out,
                              struct gw_error *error) {
    return fit_shape(GW_STRAIGHT, true, points, count, out, error);
}

size_t gw_last_points(const struct gw_curve_point *points, size_t count) {
    enum { MIN_POINTS = 4 };
    size_t last = 0;
    while (last < count && last < GW_MAX_LAST_POINTS &&
           GW_LAST_REACH * points[count - 1 - last].size >= points[count - 1].size) {
        last++;
    }
    return last < MIN_POINTS ? 0 : last;
}

/* ---- intervals of fits ----------------------------------------------------------------------- */

enum {
    REPLICATES = 999,
    FIRST = 24,
    LAST = REPLICATES - 1 - FIRST,
    MIN_POINTS = 4,
    NEIGHBOURS = 2,
    ARRAYS = 7
};

/* The factor of bisquare weights on a normal variance: E[w u^2] / E[w]. */
static const double bisquare_variance = 0.82807;

struct problem {
    struct line_points points;
    const struct gw_curve_point *measured;
    double *times;             /* points.y of the current fit: writable */
    double *variances;         /* of each point by itself, relative */
    double *values, *scatter;  /* of the first fit: its times, relative standard deviations */
    double *startups, *slopes; /* of the replicates: (estimate - truth) / standard error */
};

static const double replicate_settled = 1e-3; /* of a coefficient: far below its standard error */

/* A line with the standard errors of its coefficients; 0 for a missing one. */
struct line_estimate {
    enum gw_line_terms terms;
    struct fitted_line line;
    double startup_error, slope_error;
    double
        own_share;  /* of the points' own variances that the residuals leave standing, at most 1 */
    double between; /* relative variance between sizes beyond them */
};

/* The inverse of a line's weighted normal equations; zero for a missing coefficient. */
struct inverse {
    double startup, both, slope;
};

static struct inverse invert_normal(const struct line_points *points,
                                    const struct line_estimate *estimate) {
    double sum_w = 0;
    double sum_x = 0;
    double sum_xx = 0;
    for (size_t i = 0; i < points->count; i++) {
        double value = line_value(&estimate->line, points, i);
        double w = points->weights[i] / (value * value);
        sum_w += w;
        sum_x += w * points->x[i];
        sum_xx += w * points->x[i] * points->x[i];
    }
    if (estimate->terms == GW_LINE_STARTUP) {
        return (struct inverse){.startup = 1 / sum_w};
    }
    if (estimate->terms == GW_LINE_SLOPE) {
        return (struct inverse){.slope = 1 / sum_xx};
    }
    double determinant = sum_w * sum_xx - sum_x * sum_x;
    return (struct inverse){sum_xx / determinant, -sum_x / determinant, sum_w / determinant};
}

/*
 * Estimates variances from the residuals, widened by the fit's share of them: if they scatter more
 * than the points' own errors explain, the rest is between sizes; if less, those errors are too
 * wide.
 */
static void find_variances(const struct problem *problem, const struct inverse *inverse,
                           struct line_estimate *estimate) {
    const struct line_points *points = &problem->points;
    const struct fitted_line *line = &estimate->line;
    double squares = 0;
    double own = 0;
    double freedom = 0;
    for (size_t i = 0; i < points->count; i++) {
        double value = line_value(line, points, i);
        double x = points->x[i];
        double w = points->weights[i];
        double off = (points->y[i] - line->startup - line->slope * x) / value;
        double leverage = w / (value * value) *
                          (inverse->startup + 2 * x * inverse->both + x * x * inverse->slope);
        squares += w * off * off / bisquare_variance;
        own += w * (1 - leverage) * problem->variances[i];
        freedom += w * (1 - leverage);
    }
    estimate->own_share = own > 0 ? fmin(1, squares / own) : 1;
    estimate->between = freedom > 0 ? fmax(0, squares - own) / freedom : 0;
}

static double line_variance(const struct problem *problem, const struct line_estimate *estimate,
                            size_t i) {
    return estimate->own_share * problem->variances[i] + estimate->between;
}

/* The sandwich estimator: standard errors from the points' variances and the weighted normal
 * equations. */
static void find_standard_errors(const struct problem *problem, struct line_estimate *out) {
    const struct line_points *points = &problem->points;
    struct inverse inverse = invert_normal(points, out);
    find_variances(problem, &inverse, out);
    double startup = 0;
    double slope = 0;
    for (size_t i = 0; i < points->count; i++) {
        double value = line_value(&out->line, points, i);
        double x = points->x[i];
        double pull = points->weights[i] / value;
        double part = pull * pull * line_variance(problem, out, i);
        double on_startup = inverse.startup + inverse.both * x;
        double on_slope = inverse.both + inverse.slope * x;
        startup += part * on_startup * on_startup;
        slope += part * on_slope * on_slope;
    }
    out->startup_error = sqrt(startup);
    out->slope_error = sqrt(slope);
}

static double ratio(double off, double error) {
    return error > 0 ? off / error : 0;
}

static enum gw_status replicate_line(struct problem *problem, const struct line_estimate *truth,
                                     struct gw_error *error) {
    struct gw_random *random = NULL;
    GW_TRY(gw_random_open(&random, 1, problem->points.count, error));
    for (size_t r = 0; r < REPLICATES; r++) {
        for (size_t i = 0; i < problem->points.count; i++) {
            problem->times[i] =
                problem->values[i] * exp(gw_random_normal(random, problem->scatter[i]));
        }
        struct line_estimate again = {.terms = truth->terms, .line = truth->line};
        robust_line_near(truth->terms, &problem->points, replicate_settled, &again.line);
        find_standard_errors(problem, &again);
        problem->startups[r] = ratio(again.line.startup - truth->line.startup, again.startup_error);
        problem->slopes[r] = ratio(again.line.slope - truth->line.slope, again.slope_error);
    }
    gw_random_close(random);
    return GW_OK;
}

/* The interval of bootstrap-t from the replicates' ratios. */
static void invert_ratios(double *ratios, double value, double deviation, double *low,
                          double *high) {
    gsl_sort(ratios, 1, REPLICATES);
    *low = value - ratios[LAST] * deviation;
    *high = value - ratios[FIRST] * deviation;
}

static enum gw_status solve_problem(struct problem *problem, enum gw_line_terms terms,
                                    struct gw_fit_interval *out, struct gw_error *error) {
    struct line_estimate first = {.terms = terms};
    for (size_t i = 0; i < problem->points.count; i++) {
        problem->times[i] = problem->measured[i].time_s;
    }
    robust_line(terms, &problem->points, &first.line);
    find_standard_errors(problem, &first);
    for (size_t i = 0; i < problem->points.count; i++) {
        problem->values[i] = line_value(&first.line, &problem->points, i);
        problem->scatter[i] = sqrt(line_variance(problem, &first, i));
    }
    GW_TRY(replicate_line(problem, &first, error));
    out->known = true;
    invert_ratios(problem->startups, first.line.startup, first.startup_error, &out->startup_low,
                  &out->startup_high);
    invert_ratios(problem->slopes, first.line.slope, first.slope_error, &out->slope_low,
                  &out->slope_high);
    return GW_OK;
}

/* A coefficient that was dropped would have been negative: the whole line bounds it. */
static enum gw_status fit_line_intervals(const struct gw_fit *fit, struct problem *problem,
                                         struct gw_fit_interval *out, struct gw_error *error) {
    struct gw_fit_interval whole = {0};
    GW_TRY(solve_problem(problem, fit->terms, out, error));
    if (fit->terms != GW_LINE_BOTH) {
        GW_TRY(solve_problem(problem, GW_LINE_BOTH, &whole, error));
    }
    if (fit->terms == GW_LINE_SLOPE) {
        out->startup_high = whole.startup_high;
    } else if (fit->terms == GW_LINE_STARTUP) {
        out->slope_high = whole.slope_high;
    }
    if (!fit->startup_free) {
        out->startup_low = fmax(0, out->startup_low);
        out->startup_high = fmax(0, out->startup_high);
    }
    out->slope_low = fmax(0, out->slope_low);
    out->slope_high = fmax(0, out->slope_high);
    return GW_OK;
}

/* A standard error from few repeats is itself uncertain, and one slow repeat makes it many times
 * too wide; but neighbouring sizes are much alike: takes the median over up to five. */
static void smooth_variances(const double *errors, size_t count, double *variances) {
    for (size_t i = 0; i < count && errors != NULL; i++) {
        double near[2 * NEIGHBOURS + 1];
        size_t found = 0;
        for (size_t j = i >= NEIGHBOURS ? i - NEIGHBOURS : 0; j < count && j <= i + NEIGHBOURS;
             j++) {
            near[found++] = errors[j];
        }
        gsl_sort(near, 1, found);
        double error = gsl_stats_median_from_sorted_data(near, 1, found);
        variances[i] = error * error;
    }
}

enum gw_status gw_fit_intervals(const struct gw_fit *fit, const struct gw_curve_point *points,
                                const double *relative_errors, size_t count,
                                struct gw_fit_interval *out, struct gw_error *error) {
    *out = (struct gw_fit_interval){0};
    if (count < MIN_POINTS) {
        return GW_OK;
    }
    double *room = calloc(ARRAYS * count + (size_t)2 * REPLICATES, sizeof *room);
    if (room == NULL) {
        return gw_fail_memory(error, "finding a fit's intervals");
    }
    double *x = room;
    double *y = room + count;
    struct problem problem = {
        .points = {.count = count, .x = x, .y = y, .weights = y + count, .scratch = y + 2 * count},
        .measured = points,
        .times = y,
        .variances = y + 3 * count,
        .values = y + 4 * count,
        .scatter = y + 5 * count,
        .startups = y + 6 * count,
        .slopes = y + 6 * count + REPLICATES};
    for (size_t i = 0; i < count; i++) {
        x[i] = curve_basis(fit->shape, points[i].size);
    }
    smooth_variances(relative_errors, count, problem.variances);
    enum gw_status status = fit_line_intervals(fit, &problem, out, error);
    free(room);
    return status;
}
