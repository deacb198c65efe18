/* Statistics of repeated measurements and simulations, over GSL. */
#ifndef GW_CORE_STATISTICS_H
#define GW_CORE_STATISTICS_H

#include <stddef.h>

#include "core/random.h"

/* ---- means and spreads ----------------------------------------------------------------------- */

/* All in the unit of the values. */
struct gw_summary {
    size_t count;
    double mean, sd; /* sd: sample standard deviation, 0 for one value */
    double median, p5, p95;
    double median_low, median_high; /* 95% confidence interval of the median */
};

/*
 * Sorts `values` in place (count >= 1) and summarises them. The interval is the distribution-free
 * one between order statistics, from the binomial distribution of the number of values below the
 * median; with too few values for 95% it is the whole range.
 */
void gw_summarise(double *values, size_t count, struct gw_summary *out);

/* Half the width of the median's interval over the median. */
double gw_summary_relative_error(const struct gw_summary *summary);

/*
 * The median's relative standard error, from the bootstrap's interval (gw_summarise_bootstrap):
 * that of a normal distribution whose 95% interval is as wide. Five values or fewer have their
 * whole range as interval, which contains the median less often: in 1 - 2^(1 - n) of cases. 0 for
 * fewer than two.
 */
double gw_summary_standard_error(const struct gw_summary *summary);

/* Mean and standard deviation of a stream of values (Welford's recurrence). */
struct gw_running {
    size_t count;
    double mean, squares;
};
void gw_running_add(struct gw_running *running, double value);
double gw_running_sd(const struct gw_running *running);

/* The spread of the values of independent repetitions, in their unit. */
enum { GW_PERCENTILES = 6 };
extern const int gw_percentile_ranks[GW_PERCENTILES]; /* 5, 25, 50, 75, 95, 99 */
struct gw_spread {
    size_t count;
    double mean, sd, minimum, maximum;
    double percentiles[GW_PERCENTILES]; /* interpolated between order statistics */
    double mean_low, mean_high; /* 95% confidence interval of the mean, by Student's t; the mean
                                 * itself for one value */
};

/*
 * The minimum number of values for their percentile of that rank, 1 to 99, to be meaningful: the
 * largest of them (below 50: the smallest) is then beyond it in 95% of cases. 5 for the 50th, 59
 * for the 95th, 299 for the 99th.
 */
size_t gw_percentile_least(int rank);

/* A spread's percentile of a rank in gw_percentile_ranks; 0 if fewer values than that were
 * `observed`. */
double gw_spread_percentile(const struct gw_spread *spread, size_t observed, int rank);

/* Sorts `values` (count >= 1) in place. The same values in the same order give the same bits on
 * every machine. */
void gw_spread_of(double *values, size_t count, struct gw_spread *out);

/* A sum in about twice a double's precision, by error-free transformations (Knuth; Dekker). With
 * it, n times a value equals the value added n times. */
struct gw_sum {
    double high, low;
};
void gw_sum_add(struct gw_sum *sum, double value, double times);

/* ---- medians --------------------------------------------------------------------------------- */

/* Confidence intervals of the median of repeated measurements: Efron's percentile bootstrap. */

/* gw_summarise, with this interval of the median. With fewer than `fewest` values the interval is
 * their whole range, since few repeats tell little. (That of five or fewer is anyway.) */
enum gw_status gw_summarise_bootstrap(double *values, size_t count, size_t fewest,
                                      struct gw_random *random, struct gw_summary *out,
                                      struct gw_error *error);

/*
 * Counts values that are further than `deviations` from the median, in the standard deviation of
 * normal values with the same median absolute deviation. If more than half equal the median, counts
 * those that differ from it. `sorted` is ascending.
 */
size_t gw_count_outliers(const double *sorted, size_t count, double deviations);

#endif
