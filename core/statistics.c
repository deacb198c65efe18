#include "core/statistics.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

/* The largest j with P(Binomial(n, 1/2) < j) <= 2.5%: x[j-1] .. x[n-j] then holds the median. */
static size_t interval_rank(size_t count) {
    size_t rank = 0;
    while (rank < count / 2 && gsl_cdf_binomial_P((unsigned)rank, 0.5, (unsigned)count) <= 0.025) {
        rank++;
    }
    return rank;
}

void gw_summarise(double *values, size_t count, struct gw_summary *out) {
    gsl_sort(values, 1, count);
    size_t rank = interval_rank(count);
    *out = (struct gw_summary){
        .count = count,
        .mean = gsl_stats_mean(values, 1, count),
        .sd = count > 1 ? gsl_stats_sd(values, 1, count) : 0,
        .median = gsl_stats_median_from_sorted_data(values, 1, count),
        .p5 = gsl_stats_quantile_from_sorted_data(values, 1, count, 0.05),
        .p95 = gsl_stats_quantile_from_sorted_data(values, 1, count, 0.95),
        .median_low = values[rank > 0 ? rank - 1 : 0],
        .median_high = values[rank > 0 ? count - rank : count - 1],
    };
}

double gw_summary_relative_error(const struct gw_summary *summary) {
    double width = summary->median_high - summary->median_low;
    return summary->median > 0 ? width / (2 * summary->median) : 0;
}

void gw_running_add(struct gw_running *running, double value) {
    running->count++;
    double delta = value - running->mean;
    running->mean += delta / (double)running->count;
    running->squares += delta * (value - running->mean);
}

double gw_running_sd(const struct gw_running *running) {
    return running->count > 1 ? sqrt(running->squares / (double)(running->count - 1)) : 0;
}
