#include "core/median.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

/* The value below which a share `place` of the sample's distribution lies: a step function. */
static double value_at(const double *sorted, size_t count, double place) {
    size_t index = (size_t)(place * (double)count);
    return sorted[index < count ? index : count - 1];
}

/*
 * The median of one resample. Of an even number it is the mean of two neighbours in order: given
 * the lower one at u, the upper one is the least of the rest, uniform above u.
 */
static double draw_median(const double *sorted, size_t count, struct gw_random *random) {
    size_t half = (count + 1) / 2;
    double above = (double)(count - half);
    double place = gw_random_beta(random, (double)half, above + 1);
    double lower = value_at(sorted, count, place);
    if (count % 2 == 1) {
        return lower;
    }
    double share = 1 - pow(1 - gw_random_uniform(random), 1 / above);
    return (lower + value_at(sorted, count, place + (1 - place) * share)) / 2;
}

/* As gsl_stats_quantile_from_sorted_data has it, of values in any order, which it changes. */
static double quantile(double *values, size_t count, double share) {
    double place = share * (double)(count - 1);
    size_t index = (size_t)place;
    double part = place - (double)index;
    double low = gsl_stats_select(values, 1, count, index);
    return index + 1 == count
               ? low
               : (1 - part) * low + part * gsl_stats_select(values, 1, count, index + 1);
}

enum gw_status gw_median_interval(const double *sorted, size_t count, size_t resamples,
                                  struct gw_random *random, double *low, double *high,
                                  struct gw_error *error) {
    double *medians = malloc(resamples * sizeof *medians);
    if (medians == NULL) {
        return gw_fail_memory(error, "resampling measurements");
    }
    for (size_t i = 0; i < resamples; i++) {
        medians[i] = draw_median(sorted, count, random);
    }
    *low = quantile(medians, resamples, 0.025);
    *high = quantile(medians, resamples, 0.975);
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
                          : gw_median_interval(values, count, RESAMPLES, random, &out->median_low,
                                               &out->median_high, error);
}

size_t gw_count_outliers(const double *sorted, size_t count, double deviations) {
    double median = gsl_stats_median_from_sorted_data(sorted, 1, count);
    /* Distances ascend from the median to both ends: the half that is nearest lies between two
     * places that move outwards, the nearer one first. */
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
    double sd = 1.4826 * distance; /* of normal values: 1 / Phi^-1(3/4) */
    size_t outliers = 0;
    for (size_t i = 0; i < count; i++) {
        outliers += fabs(sorted[i] - median) > deviations * sd;
    }
    return outliers;
}
