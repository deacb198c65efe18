#include "core/statistics.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

/* ---- means and spreads ----------------------------------------------------------------------- */

void gw_summarise(double *values, size_t count, struct gw_summary *out) {
    gsl_sort(values, 1, count);
    /* The largest with P(Binomial(n, 1/2) < rank) <= 2.5%: values[rank - 1] .. values[n - rank]
     * then contains the median. */
    size_t rank = 0;
    while (rank < count / 2 && gsl_cdf_binomial_P((unsigned)rank, 0.5, (unsigned)count) <= 0.025) {
        rank++;
    }
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

size_t gw_percentile_least(int rank) {
    int inner = rank < 50 ? 100 - rank : rank;
    return (size_t)ceil(log(0.05) / log(inner / 100.0));
}

double gw_spread_percentile(const struct gw_spread *spread, size_t observed, int rank) {
    size_t i = 0;
    while (gw_percentile_ranks[i] != rank) {
        i++;
    }
    return observed < gw_percentile_least(rank) ? 0 : spread->percentiles[i];
}

/* Interpolates between order statistics; equal values give that value exactly. */
static double sorted_quantile(const double *sorted, size_t count, double share) {
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    double part = place - (double)below;
    return below + 1 < count ? sorted[below] + part * (sorted[below + 1] - sorted[below])
                             : sorted[count - 1];
}

/* Rounded to 9 decimals, which hides the effect of libm's last bit on GSL's iteration. */
static double student_t_factor(size_t freedom) {
    return rint(gsl_cdf_tdist_Pinv(0.975, (double)freedom) * 1e9) / 1e9;
}

void gw_spread_of(double *values, size_t count, struct gw_spread *out) {
    struct gw_running running = {0};
    for (size_t i = 0; i < count; i++) {
        gw_running_add(&running, values[i]);
    }
    gsl_sort(values, 1, count);
    double sd = gw_running_sd(&running);
    double reach = count > 1 ? student_t_factor(count - 1) * sd / sqrt((double)count) : 0;
    *out = (struct gw_spread){.count = count,
                              .mean = running.mean,
                              .sd = sd,
                              .minimum = values[0],
                              .maximum = values[count - 1],
                              .mean_low = running.mean - reach,
                              .mean_high = running.mean + reach};
    for (size_t i = 0; i < GW_PERCENTILES; i++) {
        out->percentiles[i] = sorted_quantile(values, count, gw_percentile_ranks[i] / 100.0);
    }
}

/* fma is a single rounding by definition, also if libm emulates it. */
void gw_sum_add(struct gw_sum *sum, double value, double times) {
    double product = value * times;
    double lost = times == 1 ? 0 : fma(value, times, -product);
    double high = sum->high + product;
    double of_product = high - sum->high;
    lost += (sum->high - (high - of_product)) + (product - of_product);
    sum->high = high;
    sum->low += lost;
}

/* ---- medians --------------------------------------------------------------------------------- */

/* The value below which a share `place` of the sample's distribution lies: a step function. */
static double sample_value(const double *sorted, size_t count, double place) {
    size_t index = (size_t)(place * (double)count);
    return sorted[index < count ? index : count - 1];
}

/* The median of one resample. For an even number it is the mean of two neighbours in order: given
 * the lower one at u, the upper one is the smallest of the rest, uniform above u. */
static double draw_median(const double *sorted, size_t count, struct gw_random *random) {
    size_t half = (count + 1) / 2;
    double above = (double)(count - half);
    double place = gw_random_beta(random, (double)half, above + 1);
    double lower = sample_value(sorted, count, place);
    if (count % 2 == 1) {
        return lower;
    }
    double share = 1 - pow(1 - gw_random_uniform(random), 1 / above);
    return (lower + sample_value(sorted, count, place + (1 - place) * share)) / 2;
}

/* The quantile of gsl_stats_quantile_from_sorted_data for values in any order, which it changes. */
static double select_quantile(double *values, size_t count, double share) {
    double place = share * (double)(count - 1);
    size_t index = (size_t)place;
    double part = place - (double)index;
    double low = gsl_stats_select(values, 1, count, index);
    return index + 1 == count
               ? low
               : (1 - part) * low + part * gsl_stats_select(values, 1, count, index + 1);
}

/*
 * The 2.5th and 97.5th percentile of the medians of `resamples` >= 40 samples of `count` >= 1 that
 * are drawn with replacement from `sorted` (ascending). Samples are not drawn value by value: of n
 * uniform draws the k-th smallest is Beta(k, n - k + 1), and the value at it is the sample's k-th
 * smallest, so that a resample costs one or two draws however many values there are.
 */
static enum gw_status find_median_interval(const double *sorted, size_t count, size_t resamples,
                                           struct gw_random *random, double *low, double *high,
                                           struct gw_error *error) {
    double *medians = malloc(resamples * sizeof *medians);
    if (medians == NULL) {
        return gw_fail_memory(error, "resampling measurements");
    }
    for (size_t i = 0; i < resamples; i++) {
        medians[i] = draw_median(sorted, count, random);
    }
    *low = select_quantile(medians, resamples, 0.025);
    *high = select_quantile(medians, resamples, 0.975);
    free(medians);
    return GW_OK;
}

enum gw_status gw_summarise_bootstrap(double *values, size_t count, size_t fewest,
                                      struct gw_random *random, struct gw_summary *out,
                                      struct gw_error *error) {
    enum { RESAMPLES = 1000 };
    gw_summarise(values, count, out);
    out->median_low = values[0];
    out->median_high = values[count - 1];
    return count < fewest ? GW_OK
                          : find_median_interval(values, count, RESAMPLES, random, &out->median_low,
                                                 &out->median_high, error);
}

size_t gw_count_outliers(const double *sorted, size_t count, double deviations) {
    double median = gsl_stats_median_from_sorted_data(sorted, 1, count);
    /* Distances ascend from the median to both ends: the nearest half lies between two places that
     * move outwards, the nearer one first. */
    size_t below = 0;
    while (below < count && sorted[below] < median) {
        below++;
    }
    size_t above = below;
    double distance = 0;
    for (size_t taken = 0; taken < count / 2 + 1; taken++) {
        double down = below > 0 ? median - sorted[below - 1] : INFINITY;
        double up = above < count ? sorted[above] - median : INFINITY;
        distance = fmin(down, up);
        below -= down <= up;
        above += down > up;
    }
    double sd = 1.4826 * distance; /* for normal values: 1 / Phi^-1(3/4) */
    size_t outliers = 0;
    for (size_t i = 0; i < count; i++) {
        outliers += fabs(sorted[i] - median) > deviations * sd;
    }
    return outliers;
}
