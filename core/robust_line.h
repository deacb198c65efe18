/* The line through positive times whose errors are relative, not bent by single outliers. */
#ifndef GW_CORE_ROBUST_LINE_H
#define GW_CORE_ROBUST_LINE_H

#include <stdbool.h>
#include <stddef.h>

struct gw_fitted_line {
    double startup, slope; /* time = startup + slope * x */
};

/* Which of the two there are; the other is zero. */
enum gw_line_terms { GW_LINE_BOTH, GW_LINE_STARTUP, GW_LINE_SLOPE };

/*
 * x: count abscissae; y: count times > 0, count >= 2 of them, not all at one x. Room, the caller's:
 * weights, which gets what each point counts for in the end, from 0 (an outlier) to 1, and scratch,
 * both of count.
 */
struct gw_line_points {
    size_t count;
    const double *x, *y;
    double *weights, *scratch;
};

/*
 * Residuals are relative to the line. Huber's weights, whose optimum is the only one, lead to the
 * neighbourhood of Tukey's bisquare, which gives far outliers no weight at all. Fewer than five
 * points cannot outvote one of them: these are fitted by plain least squares. The terms may come
 * out negative.
 */
void gw_robust_line(enum gw_line_terms terms, const struct gw_line_points *points,
                    struct gw_fitted_line *out);

/*
 * The same from a line that is near already, until it changes by less than `relative`: without the
 * steps that lead there.
 */
void gw_robust_line_near(enum gw_line_terms terms, const struct gw_line_points *points,
                         double relative, struct gw_fitted_line *line);

/* The line's value at point i, kept away from zero and below: a tenth of what was measured. */
double gw_line_value(const struct gw_fitted_line *line, const struct gw_line_points *points,
                     size_t i);

#endif
