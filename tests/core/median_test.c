/* Intervals of medians: the quick bootstrap against one that draws every value. */
#include "core/core.h"
#include "tests/test.h"

static int compare(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median_of(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* ---- against drawing every value ----------------------------------------------------------- */

enum { RESAMPLES = 20000, MOST = 64, REPEATS = 201 };

/* The share of resamples' medians that are at most `limit`, by the textbook. */
static double share_below(const double *values, size_t count, double limit,
                          struct gw_random *random) {
    size_t below = 0;
    size_t resamples = (size_t)gw_trials(RESAMPLES);
    for (size_t i = 0; i < resamples; i++) {
        double sample[MOST];
        for (size_t k = 0; k < count; k++) {
            sample[k] = values[gw_random_below(random, count)];
        }
        below += median_of(sample, count) <= limit;
    }
    return (double)below / (double)resamples;
}

/*
 * The percentile of a discrete distribution: at most so much lies below it, and so much up to it.
 */
TEST(the_interval_is_that_of_the_bootstrap) {
    static const size_t counts[] = {1, 2, 3, 4, 5, 8, 15, 16, 33, 64};
    struct gw_random *random = random_stream(1);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        double values[MOST];
        double lows[REPEATS];
        double highs[REPEATS];
        for (size_t i = 0; i < counts[c]; i++) {
            values[i] = gw_random_noise(random, 0.5);
        }
        for (size_t i = 0; i < REPEATS; i++) { /* each of 1,000 resamples */
            struct gw_summary summary;
            assert_ok(gw_summarise_bootstrap(values, counts[c], 1, random, &summary, NULL));
            lows[i] = summary.median_low;
            highs[i] = summary.median_high;
        }
        double low = median_of(lows, REPEATS);
        double high = median_of(highs, REPEATS);
        /* five standard deviations of such a share */
        const double error = 0.006 * sqrt((double)RESAMPLES / gw_trials(RESAMPLES));
        assert_true(share_below(values, counts[c], low * (1 + 1e-12), random) > 0.025 - error);
        assert_true(share_below(values, counts[c], low * (1 - 1e-12), random) < 0.025 + error);
        assert_true(share_below(values, counts[c], high * (1 + 1e-12), random) > 0.975 - error);
        assert_true(share_below(values, counts[c], high * (1 - 1e-12), random) < 0.975 + error);
    }
}

/* ---- against the truth --------------------------------------------------------------------- */

/* Times as they are: skewed, and one in twenty several times as long. */
static double draw_time(struct gw_random *random) {
    double time = exp(gw_random_normal(random, 0.1));
    return gw_random_uniform(random) < 0.05 ? 4 * time : time;
}

/* The median of draw_time: that of the short ones at 10/19 of them. */
static const double true_median = 1.00663; /* exp(0.1 * 0.066012), Phi(0.066012) = 10/19 */

TEST(the_interval_covers_the_median) {
    enum { SETS = 1000, COUNT = 40 };
    size_t sets = (size_t)gw_trials(SETS);
    size_t covered = 0;
    struct gw_random *random = random_stream(2);
    for (size_t i = 0; i < sets; i++) {
        double values[COUNT];
        struct gw_summary summary;
        for (size_t k = 0; k < COUNT; k++) {
            values[k] = draw_time(random);
        }
        assert_ok(gw_summarise_bootstrap(values, COUNT, 5, random, &summary, NULL));
        covered += summary.median_low <= true_median && true_median <= summary.median_high;
    }
    print_message("%zu of %zu intervals have the median in them\n", covered, sets);
    double spread = 0.0325 * sqrt((double)SETS / (double)sets);
    assert_true(fabs((double)covered / (double)sets - 0.9525) <= spread + 1e-9);
}

/* Medians of nine values that count lie between the second one and the eighth. */
TEST(few_values_are_a_range) {
    for (size_t fewest = 9; fewest <= 10; fewest++) {
        double values[] = {3, 1, 2, 9, 8, 7, 4, 5, 6};
        struct gw_summary summary;
        assert_ok(gw_summarise_bootstrap(values, 9, fewest, random_stream(3), &summary, NULL));
        assert_true(summary.median == 5 && (summary.median_low == 1) == (fewest > 9) &&
                    (summary.median_high == 9) == (fewest > 9));
    }
}

/* ---- outliers ------------------------------------------------------------------------------ */

static size_t count_far(const double *sorted, size_t count, double deviations) {
    double copy[MOST];
    double distances[MOST];
    memcpy(copy, sorted, count * sizeof *copy);
    double median = median_of(copy, count);
    for (size_t i = 0; i < count; i++) {
        distances[i] = fabs(sorted[i] - median);
    }
    qsort(distances, count, sizeof *distances, compare);
    size_t far = 0;
    for (size_t i = 0; i < count; i++) {
        far += fabs(sorted[i] - median) > deviations * 1.4826 * distances[count / 2];
    }
    return far;
}

TEST(outliers_are_counted) {
    struct gw_random *random = random_stream(4);
    for (size_t i = 0, trials = (size_t)gw_trials(2000); i < trials; i++) {
        double values[MOST];
        size_t count = 1 + (size_t)gw_random_below(random, MOST);
        for (size_t k = 0; k < count; k++) {
            values[k] = i % 2 == 0 ? draw_time(random) : (double)gw_random_below(random, 4);
        }
        qsort(values, count, sizeof *values, compare);
        assert_int_equal(gw_count_outliers(values, count, 3), count_far(values, count, 3));
    }
    const double spiked[] = {1, 1, 1, 1.01, 1.02, 9};
    assert_int_equal(gw_count_outliers(spiked, 6, 3), 1);
}
