/*
 * Random numbers: reproducible, within their bounds, well mixed. Statistics and fits against values
 * worked out by hand or in a second way. Seeds are fixed: a statistical verdict must not depend on
 * the day.
 */
#include "core/core.h"
#include "tests/test.h"

static struct gw_random *fixed_stream(uint64_t stream) {
    return random_stream_from(20240229, stream);
}

/* ---- random numbers -------------------------------------------------------------------------- */

TEST(random_numbers_follow_from_seed_and_stream) {
    const uint64_t pairs[][2] = {{7, 1}, {7, 1}, {7, 2}, {8, 1}, {1, 7}};
    double drawn[5][64];
    for (size_t i = 0; i < 5; i++) {
        struct gw_random *random = random_stream_from(pairs[i][0], pairs[i][1]);
        for (size_t d = 0; d < 64; d++) {
            drawn[i][d] = gw_random_uniform(random);
        }
    }
    assert_memory_equal(drawn[0], drawn[1], sizeof drawn[0]);
    for (size_t i = 2; i < 5; i++) {
        size_t equal = 0;
        for (size_t d = 0; d < 64; d++) {
            equal += drawn[i][d] == drawn[0][d];
        }
        assert_int_equal(equal, 0);
    }
}

TEST(random_numbers_keep_to_their_bounds) {
    enum { draws = 20000 };
    struct gw_random *random = fixed_stream(1);
    struct gw_running uniform = {0}, normal = {0}, noise = {0};
    size_t hits[7] = {0};
    for (size_t i = 0; i < draws; i++) {
        double u = gw_random_uniform(random);
        assert_true(u >= 0 && u < 1);
        gw_running_add(&uniform, u);
        gw_running_add(&normal, gw_random_normal(random, 3));
        gw_running_add(&noise, gw_random_noise(random, 0.5));
        assert_int_equal(gw_random_below(random, 1), 0);
        assert_true(gw_random_below(random, UINT64_C(1) << 53) < UINT64_C(1) << 53);
        hits[gw_random_below(random, 7)]++;
    }
    assert_true(near(gw_random_noise(random, 0), 1, 0));
    assert_true(near(uniform.mean, 0.5, 0.02) &&
                near(gw_running_sd(&uniform), sqrt(1.0 / 12), 0.02));
    assert_true(fabs(normal.mean) < 0.1 && near(gw_running_sd(&normal), 3, 0.03));
    assert_true(near(noise.mean, 1, 0.02) &&
                near(gw_running_sd(&noise), sqrt(exp(0.25) - 1), 0.06));
    for (size_t i = 0; i < 7; i++) {
        assert_true(near((double)hits[i], draws / 7.0, 0.1));
    }
}

/* Each of 24 orders of four items is equally frequent: chi squared of 23 degrees. */
TEST(orders_are_equally_likely) {
    enum { COUNT = 4, ORDERS = 24, TIMES = 24000 };
    struct gw_random *random = fixed_stream(4);
    size_t hits[1 << (2 * COUNT)] = {0};
    double chi_squared = 0;
    size_t seen = 0;
    for (size_t i = 0; i < TIMES; i++) {
        struct {
            char number;
            double beside;
        } items[COUNT] = {{0, 0}, {1, -1}, {2, -2}, {3, -3}};
        size_t order = 0;
        gw_random_shuffle(random, items, COUNT, sizeof *items);
        for (size_t k = 0; k < COUNT; k++) {
            assert_true(items[k].beside == -items[k].number);
            order = COUNT * order + (size_t)items[k].number;
        }
        hits[order]++;
    }
    for (size_t o = 0; o < sizeof hits / sizeof *hits; o++) {
        double off = (double)hits[o] - (double)TIMES / ORDERS;
        seen += hits[o] > 0;
        chi_squared += hits[o] > 0 ? off * off * ORDERS / TIMES : 0;
    }
    assert_int_equal(seen, ORDERS);
    assert_true(chi_squared < 49.7); /* less in 99.9% of cases */
}

TEST(little_is_shuffled_too) {
    struct gw_random *random = fixed_stream(3);
    int one = 7;
    gw_random_shuffle(random, NULL, 0, sizeof one);
    gw_random_shuffle(random, &one, 1, sizeof one);
    assert_int_equal(one, 7);
}

/* ---- statistics ---------------------------------------------------------------------------- */

TEST(a_summary_by_hand) {
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
TEST(the_median_interval_has_the_tabled_ranks) {
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

TEST(the_median_interval_covers_as_stated) {
    int rounds = gw_trials(4000);
    const size_t counts[] = {6, 30, 100};
    struct gw_random *random = fixed_stream(2);
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
}

TEST(running_means_agree_with_two_passes) {
    enum { count = 1000 };
    struct gw_random *random = fixed_stream(3);
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

TEST(fits_recover_what_made_the_points) {
    const double slopes[] = {1e-9, 5e-11};
    struct gw_random *random = fixed_stream(4);
    struct gw_curve_point points[fit_points];
    struct gw_fit fit;
    for (int s = 0; s < 2; s++) {
        enum gw_curve_shape shape = s == 0 ? GW_STRAIGHT : GW_NLOG2N;
        make_points(shape, 5e-5, slopes[s], 0, random, points);
        assert_ok(gw_fit_curve(shape, points, fit_points, &fit, NULL));
        assert_true(near(fit.curve.fixed_s, 5e-5, 1e-9));
        assert_true(near(slope_of(shape, &fit), slopes[s], 1e-9));
        assert_true(fit.max_error < 1e-9);
        assert_ok(gw_fit_curve(shape, points, 2, &fit, NULL));
        assert_true(near(fit.curve.fixed_s, 5e-5, 1e-6));
        assert_true(near(slope_of(shape, &fit), slopes[s], 1e-3));
        for (int round = 0; round < 50; round++) {
            make_points(shape, 5e-5, slopes[s], 0.02, random, points);
            assert_ok(gw_fit_curve(shape, points, fit_points, &fit, NULL));
            assert_true(near(fit.curve.fixed_s, 5e-5, 0.05));
            assert_true(near(slope_of(shape, &fit), slopes[s], 0.05));
            assert_true(fit.median_error < 0.04 && fit.max_error < 0.15);
        }
    }
}

/* Both slow outliers, as a disturbed measurement gives, and one that is too fast. */
TEST(fits_ignore_outliers) {
    const double factors[][2] = {{5, 5}, {50, 20}, {2, 2}, {0.4, 3}};
    struct gw_random *random = fixed_stream(5);
    struct gw_curve_point points[fit_points];
    for (int round = 0; round < 100; round++) {
        const double *factor = factors[round % 4];
        size_t first = (size_t)gw_random_below(random, fit_points);
        size_t second = (first + 1 + (size_t)gw_random_below(random, fit_points - 1)) % fit_points;
        make_points(GW_STRAIGHT, 5e-5, 1e-9, 0.01, random, points);
        points[first].time_s *= factor[0];
        points[second].time_s *= factor[1];
        struct gw_fit fit;
        assert_ok(gw_fit_curve(GW_STRAIGHT, points, fit_points, &fit, NULL));
        assert_true(near(fit.curve.fixed_s, 5e-5, 0.03));
        assert_true(near(fit.curve.per_unit_s, 1e-9, 0.03));
        assert_true(fit.median_error < 0.02 && fit.max_error > 0.4);
    }
}

TEST(fits_have_no_negative_coefficients) {
    struct gw_curve_point points[fit_points];
    struct gw_fit fit;
    for (int i = 0; i < fit_points; i++) {
        points[i].size = sizes_from * pow(1.5, i);
        points[i].time_s = 5e-5 * (1 - 0.001 * i);
    }
    for (int s = 0; s < 2; s++) {
        enum gw_curve_shape shape = s == 0 ? GW_STRAIGHT : GW_NLOG2N;
        assert_ok(gw_fit_curve(shape, points, fit_points, &fit, NULL));
        assert_true(near(slope_of(shape, &fit), 0, 0));
        assert_true(near(fit.curve.fixed_s, 4.94e-5, 0.01));
        assert_true(fit.max_error < 0.02);
    }
    for (int i = 0; i < fit_points; i++) {
        points[i].time_s = 1e-9 * (points[i].size - 0.5 * sizes_from);
    }
    assert_ok(gw_fit_curve(GW_STRAIGHT, points, fit_points, &fit, NULL));
    assert_true(near(fit.curve.fixed_s, 0, 0));
    assert_true(near(fit.curve.per_unit_s, 1e-9, 0.05));
}
