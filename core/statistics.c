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

double gw_summary_standard_error(const struct gw_summary *summary) {
    if (summary->count < 2) {
        return 0;
    }
    double tail = fmax(0.025, pow(0.5, (double)summary->count));
    return gw_summary_relative_error(summary) / gsl_cdf_ugaussian_Qinv(tail);
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

/* ---- repetitions --------------------------------------------------------------------------- */

const int gw_percentile_ranks[GW_PERCENTILES] = {5, 25, 50, 75, 95, 99};

/* Linear between order statistics. Of equal values it is that value. */
static double quantile(const double *sorted, size_t count, double share) {
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    double part = place - (double)below;
    return below + 1 < count ? sorted[below] + part * (sorted[below + 1] - sorted[below])
                             : sorted[count - 1];
}

/* Rounded to 9 decimals: what libm's last bit does to GSL's iteration then no longer shows. */
static double student_t(size_t freedom) {
    return rint(gsl_cdf_tdist_Pinv(0.975, (double)freedom) * 1e9) / 1e9;
}

void gw_spread_of(double *values, size_t count, struct gw_spread *out) {
    struct gw_running running = {0};
    for (size_t i = 0; i < count; i++) {
        gw_running_add(&running, values[i]);
    }
    gsl_sort(values, 1, count);
    double sd = gw_running_sd(&running);
    double reach = count > 1 ? student_t(count - 1) * sd / sqrt((double)count) : 0;
    *out = (struct gw_spread){.count = count,
                              .mean = running.mean,
                              .sd = sd,
                              .minimum = values[0],
                              .maximum = values[count - 1],
                              .mean_low = running.mean - reach,
                              .mean_high = running.mean + reach};
    for (size_t i = 0; i < GW_PERCENTILES; i++) {
        out->percentiles[i] = quantile(values, count, gw_percentile_ranks[i] / 100.0);
    }
}

/* fma is a single rounding by definition, also where it takes libm many steps. */
void gw_sum_add(struct gw_sum *sum, double value, double times) {
    double product = value * times;
    double lost = times == 1 ? 0 : fma(value, times, -product);
    double high = sum->high + product;
    double of_product = high - sum->high;
    lost += (sum->high - (high - of_product)) + (product - of_product);
    sum->high = high;
    sum->low += lost;
}
