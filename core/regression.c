#include "core/regression.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

static double basis(enum gw_curve_shape shape, double size) {
    return shape == GW_STRAIGHT ? size : size * log2(size);
}

/*
 * Both sides of every row: when all targets are equal, as they are here, GSL takes the scatter of
 * the residuals for no smaller than 1, and would never find an outlier among a few percent.
 */
static const double row_scale = 1e6;

/*
 * Least squares of 1 = startup / t + slope * basis / t over the columns in use: row i of the
 * ordinary problem divided by its measured time t.
 */
static int solve(enum gw_curve_shape shape, const struct gw_curve_point *points, size_t count,
                 const int use[2], double coefficients[2]) {
    size_t columns = (size_t)use[0] + (size_t)use[1];
    gsl_matrix *design = gsl_matrix_alloc(count, columns);
    gsl_vector *ones = gsl_vector_alloc(count);
    gsl_vector *solution = gsl_vector_alloc(columns);
    gsl_matrix *covariance = gsl_matrix_alloc(columns, columns);
    gsl_multifit_robust_workspace *robust =
        count > columns + 1
            ? gsl_multifit_robust_alloc(gsl_multifit_robust_bisquare, count, columns)
            : NULL;
    gsl_multifit_linear_workspace *linear = gsl_multifit_linear_alloc(count, columns);
    int result = GSL_ENOMEM;
    if (design != NULL && ones != NULL && solution != NULL && covariance != NULL &&
        linear != NULL) {
        for (size_t i = 0; i < count; i++) {
            double weight = row_scale / points[i].time_s;
            double row[2] = {weight, weight * basis(shape, points[i].size)};
            size_t column = 0;
            for (int c = 0; c < 2; c++) {
                if (use[c]) {
                    gsl_matrix_set(design, i, column++, row[c]);
                }
            }
            gsl_vector_set(ones, i, row_scale);
        }
        result = GSL_EMAXITER;
        if (robust != NULL) {
            gsl_multifit_robust_maxiter(1000, robust);
            result = gsl_multifit_robust(design, ones, solution, covariance, robust);
        }
        if (result != GSL_SUCCESS) { /* too few points, or no convergence: plain least squares */
            double chi_square = 0;
            result = gsl_multifit_linear(design, ones, solution, covariance, &chi_square, linear);
        }
        size_t column = 0;
        for (int c = 0; c < 2; c++) {
            coefficients[c] = use[c] ? gsl_vector_get(solution, column++) : 0;
        }
    }
    gsl_multifit_linear_free(linear);
    if (robust != NULL) { /* GSL 2.7 does not bear NULL here */
        gsl_multifit_robust_free(robust);
    }
    gsl_matrix_free(covariance);
    gsl_vector_free(solution);
    gsl_vector_free(ones);
    gsl_matrix_free(design);
    return result;
}

static enum gw_status judge(const struct gw_curve_point *points, size_t count, struct gw_fit *fit,
                            struct gw_error *error) {
    double *errors = malloc(count * sizeof *errors);
    if (errors == NULL) {
        return gw_fail_memory(error, "judging a fit");
    }
    for (size_t i = 0; i < count; i++) {
        errors[i] =
            fabs(gw_curve_time(&fit->curve, points[i].size) - points[i].time_s) / points[i].time_s;
    }
    gsl_sort(errors, 1, count);
    fit->median_error = gsl_stats_median_from_sorted_data(errors, 1, count);
    fit->max_error = errors[count - 1];
    free(errors);
    return GW_OK;
}

/*
 * GSL's error handler is the process's: ranks that are threads of one process fit one after the
 * other, or one would bring back the handler that ends the program while another still fits.
 */
static pthread_mutex_t handler_lock = PTHREAD_MUTEX_INITIALIZER;

enum gw_status gw_fit_curve(enum gw_curve_shape shape, const struct gw_curve_point *points,
                            size_t count, struct gw_fit *out, struct gw_error *error) {
    pthread_mutex_lock(&handler_lock);
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    double c[2] = {0, 0};
    int result = solve(shape, points, count, (const int[2]){1, 1}, c);
    if (result == GSL_SUCCESS && (c[0] < 0 || c[1] < 0)) {
        /* A negative coefficient has no meaning; the best fit without it has that one at zero. */
        result = solve(shape, points, count, (const int[2]){c[0] >= 0, c[1] >= 0}, c);
    }
    gsl_set_error_handler(handler);
    pthread_mutex_unlock(&handler_lock);
    if (result != GSL_SUCCESS) {
        return gw_fail(error, GW_FAILED, "fitting a cost curve to %zu points: %s", count,
                       gsl_strerror(result));
    }
    *out = (struct gw_fit){0};
    out->curve.fixed_s = c[0];
    *(shape == GW_STRAIGHT ? &out->curve.per_unit_s : &out->curve.per_nlog2n_s) = c[1];
    return judge(points, count, out, error);
}
