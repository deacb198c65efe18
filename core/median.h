/* How well the median of repeated measurements is known: Efron's percentile bootstrap. */
#ifndef GW_CORE_MEDIAN_H
#define GW_CORE_MEDIAN_H

#include <stddef.h>

#include "core/random.h"
#include "core/statistics.h"

/*
 * The 2.5th and 97.5th percentile of the medians of `resamples` >= 40 samples of `count` >= 1 that
 * are drawn with replacement from `sorted` (ascending). A sample is not drawn value by value: of n
 * uniform draws the k-th smallest is Beta(k, n - k + 1), and where it falls among the values is the
 * sample's k-th smallest, so that a resample costs a draw or two however many values there are.
 */
enum gw_status gw_median_interval(const double *sorted, size_t count, size_t resamples,
                                  struct gw_random *random, double *low, double *high,
                                  struct gw_error *error);

/*
 * gw_summarise, with this interval of the median. With fewer than `fewest` values the interval is
 * their whole range: what a few repeats have in common says little. (That of five or fewer
 * is anyway.)
 */
enum gw_status gw_summarise_bootstrap(double *values, size_t count, size_t fewest,
                                      struct gw_random *random, struct gw_summary *out,
                                      struct gw_error *error);

/*
 * How many of the values are further than `deviations` from the median, in the standard deviation
 * that normal values with their median absolute deviation would have. Those that differ from the
 * median at all, if more than half are equal to it. `sorted` is ascending.
 */
size_t gw_count_outliers(const double *sorted, size_t count, double deviations);

#endif
