/*
 * Statistics and fits against values worked out by hand or in a second way. Seeds are fixed: a
 * statistical verdict must not depend on the day.
 */
#include "core/core.h"
#include "tests/support.h"

static struct gw_random *open_random(uint64_t stream) {
    struct gw_random *random = NULL;
    assert_int_equal(gw_random_open(&random, 20240229, stream, NULL), GW_OK);
    return random;
}

/* ---- statistics ---------------------------------------------------------------------------- */

static void a_summary_by_hand(void **state) {
    (void)state;
    double values[] = {5, 1, 4, 2, 3};
    struct gw_summary summary;
    gw_summarise(values, 5, &summary);
    assert_int_equal(summary.count, 5);
    assert_true(near(summary.mean, 3, 1e-15) && near(summary.sd, sqrt(2.5), 1e-15));
    assert_true(near(summary.median, 3, 0));
    assert_true(near(summary.p5, 1.2, 1e-15) && near(summary.p95, 4.8, 1e-15));
    assert_true(near(summary.median_low, 1, 0) && near(summary.median_high, 5, 0));
    assert_true(near(gw_summary_relative_error(&summary), 4.0 / 6, 1e-15));
    values[0] = 7;
    gw_summarise(values, 1, &summary);
    assert_true(near(summary.mean, 7, 0) && near(summary.median, 7, 0) && near(summary.sd, 0, 0));
    assert_true(near(gw_summary_relative_error(&summary), 0, 0));
    values[0] = 0;
    gw_summarise(values, 1, &summary);
    assert_true(near(gw_summary_relative_error(&summary), 0, 0));
}

/* The ranks that tables of the sign test give at 95%. */
static void the_median_interval_has_the_tabled_ranks(void **state) {
    (void)state;
    const size_t table[][3] = {{1, 1, 1},    {5, 1, 5},    {6, 1, 6},    {8, 1, 8},   {9, 2, 8},
                               {10, 2, 9},   {11, 2, 10},  {12, 3, 10},  {20, 6, 15}, {25, 8, 18},
                               {30, 10, 21}, {50, 18, 33}, {100, 40, 61}};
    double values[100];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        size_t count = table[i][0];
        for (size_t value = 0; value < count; value++) {
            values[value] = (double)(count - value);
        }
        struct gw_summary summary;
        gw_summarise(values, count, &summary);
        assert_true(near(summary.median_low, (double)table[i][1], 0));
        assert_true(near(summary.median_high, (double)table[i][2], 0));
        assert_true(near(summary.median, (double)(count + 1) / 2, 0));
    }
}

static void the_median_interval_covers_as_stated(void **state) {
    (void)state;
    enum { rounds = 4000 };
    const size_t counts[] = {6, 30, 100};
    struct gw_random *random = open_random(2);
    for (size_t c = 0; c < 3; c++) {
        int covered = 0;
        for (int round = 0; round < rounds; round++) {
            double values[100];
            for (size_t i = 0; i < counts[c]; i++) {
                values[i] = exp(gw_random_normal(random, 1));
            }
            struct gw_summary summary;
            gw_summarise(values, counts[c], &summary);
            covered += summary.median_low <= 1 && 1 <= summary.median_high;
        }
        double rate = (double)covered / rounds;
        double four_sd = 4 * sqrt(0.95 * 0.05 / rounds);
        assert_true(rate > 0.95 - four_sd && rate < 0.97 + four_sd);
    }
    gw_random_close(random);
}

static void running_means_agree_with_two_passes(void **state) {
    (void)state;
    enum { count = 1000 };
    struct gw_random *random = open_random(3);
    struct gw_running running = {0};
    assert_true(near(gw_running_sd(&running), 0, 0));
    double values[count];
    double mean = 0;
    for (size_t i = 0; i < count; i++) {
        values[i] = 1e6 + gw_random_normal(random, 1);
        mean += values[i] / count;
        gw_running_add(&running, values[i]);
        assert_true(i > 0 || (running.mean == values[0] && gw_running_sd(&running) == 0));
    }
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        squares += (values[i] - mean) * (values[i] - mean);
    }
    assert_int_equal(running.count, count);
    assert_true(near(running.mean, mean, 1e-14));
    assert_true(near(gw_running_sd(&running), sqrt(squares / (count - 1)), 1e-9));
    gw_random_close(random);
}

/* ---- fits ---------------------------------------------------------------------------------- */

enum { fit_points = 24 };

static const double sizes_from = 1024;

static double shape_of(enum gw_curve_shape shape, double size) {
    return shape == GW_STRAIGHT ? size : size * log2(size);
}

static void make_points(enum gw_curve_shape shape, double startup, double slope, double noise,
                        struct gw_random *random, struct gw_curve_point points[fit_points]) {
    for (int i = 0; i < fit_points; i++) {
        points[i].size = sizes_from * pow(1.5, i);
        points[i].time_s =
            (startup + slope * shape_of(shape, points[i].size)) * gw_random_noise(random, noise);
    }
}

static double slope_of(enum gw_curve_shape shape, const struct gw_fit *fit) {
    return shape == GW_STRAIGHT ? fit->curve.per_unit_s : fit->curve.per_nlog2n_s;
}

static void fits_recover_what_made_the_points(void **state) {
    (void)state;
    const double slopes[] = {1e-9, 5e-11};
    struct gw_random *random = open_random(4);
    struct gw_curve_point points[fit_points];
    struct gw_fit fit;
    for (int s = 0; s < 2; s++) {
        enum gw_curve_shape shape = s == 0 ? GW_STRAIGHT : GW_NLOG2N;
        make_points(shape, 5e-5, slopes[s], 0, random, points);
        assert_int_equal(gw_fit_curve(shape, points, fit_points, &fit, NULL), GW_OK);
        assert_true(near(fit.curve.fixed_s, 5e-5, 1e-9));
        assert_true(near(slope_of(shape, &fit), slopes[s], 1e-9));
        assert_true(fit.max_error < 1e-9);
        assert_int_equal(gw_fit_curve(shape, points, 2, &fit, NULL), GW_OK);
        assert_true(near(fit.curve.fixed_s, 5e-5, 1e-6));
        assert_true(near(slope_of(shape, &fit), slopes[s], 1e-3));
        for (int round = 0; round < 50; round++) {
            make_points(shape, 5e-5, slopes[s], 0.02, random, points);
            assert_int_equal(gw_fit_curve(shape, points, fit_points, &fit, NULL), GW_OK);
            assert_true(near(fit.curve.fixed_s, 5e-5, 0.05));
            assert_true(near(slope_of(shape, &fit), slopes[s], 0.05));
            assert_true(fit.median_error < 0.04 && fit.max_error < 0.15);
        }
    }
    gw_random_close(random);
}

/* Both slow outliers, as a disturbed measurement gives, and one that is too fast. */
static void fits_ignore_outliers(void **state) {
    (void)state;
    const double factors[][2] = {{5, 5}, {50, 20}, {2, 2}, {0.4, 3}};
    struct gw_random *random = open_random(5);
    struct gw_curve_point points[fit_points];
    for (int round = 0; round < 100; round++) {
        const double *factor = factors[round % 4];
        size_t first = (size_t)gw_random_below(random, fit_points);
        size_t second = (first + 1 + (size_t)gw_random_below(random, fit_points - 1)) % fit_points;
        make_points(GW_STRAIGHT, 5e-5, 1e-9, 0.01, random, points);
        points[first].time_s *= factor[0];
        points[second].time_s *= factor[1];
        struct gw_fit fit;
        assert_int_equal(gw_fit_curve(GW_STRAIGHT, points, fit_points, &fit, NULL), GW_OK);
        assert_true(near(fit.curve.fixed_s, 5e-5, 0.03));
        assert_true(near(fit.curve.per_unit_s, 1e-9, 0.03));
        assert_true(fit.median_error < 0.02 && fit.max_error > 0.4);
    }
    gw_random_close(random);
}

static void fits_have_no_negative_coefficients(void **state) {
    (void)state;
    struct gw_curve_point points[fit_points];
    struct gw_fit fit;
    for (int i = 0; i < fit_points; i++) {
        points[i].size = sizes_from * pow(1.5, i);
        points[i].time_s = 5e-5 * (1 - 0.001 * i);
    }
    for (int s = 0; s < 2; s++) {
        enum gw_curve_shape shape = s == 0 ? GW_STRAIGHT : GW_NLOG2N;
        assert_int_equal(gw_fit_curve(shape, points, fit_points, &fit, NULL), GW_OK);
        assert_true(near(slope_of(shape, &fit), 0, 0));
        assert_true(near(fit.curve.fixed_s, 4.94e-5, 0.01));
        assert_true(fit.max_error < 0.02);
    }
    for (int i = 0; i < fit_points; i++) {
        points[i].time_s = 1e-9 * (points[i].size - 0.5 * sizes_from);
    }
    assert_int_equal(gw_fit_curve(GW_STRAIGHT, points, fit_points, &fit, NULL), GW_OK);
    assert_true(near(fit.curve.fixed_s, 0, 0));
    assert_true(near(fit.curve.per_unit_s, 1e-9, 0.05));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_summary_by_hand),
        cmocka_unit_test(the_median_interval_has_the_tabled_ranks),
        cmocka_unit_test(the_median_interval_covers_as_stated),
        cmocka_unit_test(running_means_agree_with_two_passes),
        cmocka_unit_test(fits_recover_what_made_the_points),
        cmocka_unit_test(fits_ignore_outliers),
        cmocka_unit_test(fits_have_no_negative_coefficients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
