/*
 * Curves, statistics, fits and units against values worked out by hand or in a second way. Seeds
 * are fixed: a statistical verdict must not depend on the day.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "core/core.h"
#include "support.h"

static struct gw_random *open_random(uint64_t stream) {
    struct gw_random *random = NULL;
    assert_int_equal(gw_random_open(&random, 20240229, stream, NULL), GW_OK);
    return random;
}

/* ---- curves -------------------------------------------------------------------------------- */

static struct gw_curve_point rising[] = {{10, 1}, {20, 3}, {40, 4}};
static struct gw_curve_point falling[] = {{10, 3}, {20, 1}};
static struct gw_curve_point offset[] = {{10, 3}, {20, 4}};

static struct gw_curve through(struct gw_curve_point *points, size_t count) {
    return (struct gw_curve){.fixed_s = 99, .point_count = count, .points = points};
}

static void a_straight_curve(void **state) {
    (void)state;
    struct gw_curve curve = {.fixed_s = 2, .per_unit_s = 3};
    assert_true(near(gw_curve_time(&curve, 4), 14, 0));
    assert_true(near(gw_curve_time(&curve, 0.5), 3.5, 0));
    assert_true(near(gw_curve_time(&curve, 0x1p60), 2 + 3 * 0x1p60, 0));
    assert_true(near(gw_curve_startup(&curve), 2, 0));
}

/* At points of either, between them and beyond both ends. */
static void check_sum(const struct gw_curve *a, const struct gw_curve *b) {
    struct gw_curve sum;
    assert_int_equal(gw_curve_sum(a, b, &sum, NULL), GW_OK);
    for (double n = 1; n < 100; n += 0.5) {
        assert_true(near(gw_curve_time(&sum, n), gw_curve_time(a, n) + gw_curve_time(b, n), 1e-14));
    }
    assert_true(near(gw_curve_startup(&sum), gw_curve_startup(a) + gw_curve_startup(b), 1e-14));
    gw_curve_free(&sum);
}

static void curves_add_up(void **state) {
    (void)state;
    static struct gw_curve_point few[] = {{20, 5}, {25, 5.5}};
    static struct gw_curve_point many[] = {{5, 2}, {10, 3}, {25, 4}, {30, 6}, {50, 7}};
    const struct gw_curve curves[] = {{.fixed_s = 2, .per_unit_s = 3},
                                      {.fixed_s = 1},
                                      through(offset, 2),
                                      through(few, 2),
                                      through(many, 5)};
    const struct gw_curve steep = {.per_nlog2n_s = 1};
    const struct gw_curve points = through(many, 5);
    struct gw_curve sum;
    struct gw_error error;
    for (size_t i = 0; i < 5; i++) {
        for (size_t j = 0; j < 5; j++) {
            check_sum(&curves[i], &curves[j]);
        }
    }
    check_sum(&steep, &curves[0]);
    assert_int_equal(gw_curve_sum(&steep, &points, &sum, &error), GW_BAD_INPUT);
    assert_int_equal(gw_curve_sum(&points, &steep, &sum, &error), GW_BAD_INPUT);
    assert_string_equal(error.message, "sum of cost curves: expected points and straight lines, "
                                       "got points and an n log n");
}

static void an_nlog2n_curve(void **state) {
    (void)state;
    struct gw_curve curve = {.fixed_s = 1, .per_unit_s = 0.5, .per_nlog2n_s = 2};
    assert_true(near(gw_curve_time(&curve, 1), 1.5, 0));
    assert_true(near(gw_curve_time(&curve, 8), 1 + 4 + 2 * 24, 0));
    assert_true(near(gw_curve_startup(&curve), 1, 0));
}

static void what_has_no_size_costs_nothing(void **state) {
    (void)state;
    struct gw_curve straight = {.fixed_s = 2, .per_unit_s = 3, .per_nlog2n_s = 1};
    struct gw_curve points = through(offset, 2);
    const double sizes[] = {0, -1, NAN};
    for (size_t i = 0; i < 3; i++) {
        assert_true(near(gw_curve_time(&straight, sizes[i]), 0, 0));
        assert_true(near(gw_curve_time(&points, sizes[i]), 0, 0));
    }
}

static void points_are_joined_and_continued(void **state) {
    (void)state;
    const double expected[][2] = {{10, 1}, {15, 2},  {20, 3}, {30, 3.5}, {40, 4},
                                  {60, 5}, {8, 0.6}, {5, 0},  {1, 0}};
    struct gw_curve curve = through(rising, 3);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_true(near(gw_curve_time(&curve, expected[i][0]), expected[i][1], 1e-15));
    }
    assert_true(near(gw_curve_startup(&curve), 0, 0));
    curve = through(falling, 2);
    assert_true(near(gw_curve_startup(&curve), 5, 0));
    assert_true(near(gw_curve_time(&curve, 5), 4, 0));
    assert_true(near(gw_curve_time(&curve, 24), 0.2, 1e-14));
    assert_true(near(gw_curve_time(&curve, 25), 0, 0));
    assert_true(near(gw_curve_time(&curve, 1e9), 0, 0));
    curve = through(offset, 2);
    assert_true(near(gw_curve_startup(&curve), 2, 0));
    assert_true(near(gw_curve_time(&curve, 5), 2.5, 0));
}

/* Against a search from the first segment on, at, between and beyond the points. */
static void many_points_are_found(void **state) {
    (void)state;
    enum { count = 37 };
    struct gw_random *random = open_random(1);
    struct gw_curve_point points[count];
    double size = 0;
    for (size_t i = 0; i < count; i++) {
        size += 1 + 100 * gw_random_uniform(random);
        points[i] = (struct gw_curve_point){size, gw_random_uniform(random)};
    }
    for (size_t used = 2; used <= count; used++) {
        struct gw_curve curve = through(points, used);
        for (int trial = 0; trial < 200; trial++) {
            double n =
                trial < (int)used ? points[trial].size : 1.2 * size * gw_random_uniform(random);
            size_t i = 0;
            while (i + 2 < used && points[i + 1].size < n) {
                i++;
            }
            double share = (n - points[i].size) / (points[i + 1].size - points[i].size);
            double time = points[i].time_s + share * (points[i + 1].time_s - points[i].time_s);
            assert_true(fabs(gw_curve_time(&curve, n) - fmax(time, 0)) <=
                        1e-12 * (1 + fabs(share)));
        }
    }
    gw_random_close(random);
}

static void a_scaled_copy(void **state) {
    (void)state;
    struct gw_curve scaled;
    struct gw_curve formula = {.fixed_s = 2, .per_unit_s = 3, .per_nlog2n_s = 1};
    assert_int_equal(gw_curve_scaled(&formula, 5, 0.5, &scaled, NULL), GW_OK);
    assert_true(near(gw_curve_time(&scaled, 4), 10 + 6 + 4, 0));
    gw_curve_free(&scaled);
    struct gw_curve points = through(offset, 2);
    assert_int_equal(gw_curve_scaled(&points, 3, 0.5, &scaled, NULL), GW_OK);
    assert_true(near(gw_curve_startup(&scaled), 6, 1e-15));
    assert_true(near(gw_curve_time(&scaled, 10), 6.5, 1e-15));
    assert_true(near(gw_curve_time(&scaled, 40), 8, 1e-15));
    assert_true(near(gw_curve_time(&points, 10), 3, 0));
    gw_curve_free(&scaled);
    assert_int_equal(gw_curve_scaled(&points, 0, 0, &scaled, NULL), GW_OK);
    assert_true(near(gw_curve_time(&scaled, 1e9), 0, 0));
    gw_curve_free(&scaled);
    points = through(falling, 2);
    assert_int_equal(gw_curve_scaled(&points, 0, 1, &scaled, NULL), GW_OK);
    assert_true(near(gw_curve_time(&scaled, 10), 0, 0));
    gw_curve_free(&scaled);
    assert_null(scaled.points);
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

/* ---- units --------------------------------------------------------------------------------- */

static void units_as_a_person_would_write_them(void **state) {
    (void)state;
    const struct {
        const char *(*format)(double, char[GW_UNITS_SIZE]);
        double value;
        const char *text;
    } table[] = {
        {gw_format_seconds, 0, "0 s"},
        {gw_format_seconds, 1.5, "1.500 s"},
        {gw_format_seconds, 9.9996, "10.00 s"},
        {gw_format_seconds, 12345, "12345 s"},
        {gw_format_seconds, 0.0123, "12.30 ms"},
        {gw_format_seconds, 0.99949, "999.5 ms"},
        {gw_format_seconds, 0.99999, "1.000 s"},
        {gw_format_seconds, 1e-6, "1.000 us"},
        {gw_format_seconds, 5e-10, "0.500 ns"},
        {gw_format_seconds, -0.002, "-2.000 ms"},
        {gw_format_bytes, 0, "0 B"},
        {gw_format_bytes, 1023, "1023 B"},
        {gw_format_bytes, 1024, "1.000 KiB"},
        {gw_format_bytes, 1048575, "1.000 MiB"},
        {gw_format_bytes, 102228128, "97.49 MiB"},
        {gw_format_bytes, 0x1.8p40, "1.500 TiB"},
        {gw_format_count, 0, "0"},
        {gw_format_count, 999, "999"},
        {gw_format_count, 1000, "1,000"},
        {gw_format_count, 25557032, "25,557,032"},
        {gw_format_count, -123456, "-123,456"},
        {gw_format_count, -1234567, "-1,234,567"},
        {gw_format_count, 1e25, "1e+25"},
        {gw_format_percent, 0.021, "+2.1%"},
        {gw_format_percent, -0.5, "-50.0%"},
        {gw_format_percent, 0, "+0.0%"},
        {gw_format_duration, 0, "0 s"},
        {gw_format_duration, 59.4, "59 s"},
        {gw_format_duration, 59.6, "1 min 0 s"},
        {gw_format_duration, 200, "3 min 20 s"},
        {gw_format_duration, 18779, "5 h 12 min"},
        {gw_format_duration, 198000, "2 d 7 h"},
        {gw_format_exactly, 0.1, "0.1"},
        {gw_format_exactly, 1.0 / 3, "0.3333333333333333"},
        {gw_format_exactly, 0.1 + 0.2, "0.30000000000000004"},
        {gw_format_exactly, 0x1p53, "9007199254740992"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char out[GW_UNITS_SIZE];
        assert_ptr_equal(table[i].format(table[i].value, out), out);
        assert_string_equal(out, table[i].text);
    }
}

static void csv_is_quoted_where_it_must_be(void **state) {
    (void)state;
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    static const char *const cells[] = {"plain", "", "a,b", "a\"b", "two\nlines", "\r", "\"\""};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        gw_csv_text(stream, cells[i]);
        (void)fputc('|', stream);
    }
    gw_csv_number(stream, 0.1 + 0.2);
    (void)fclose(stream);
    assert_string_equal(text, "plain||\"a,b\"|\"a\"\"b\"|\"two\nlines\"|\"\r\"|\"\"\"\"\"\"|"
                              "0.30000000000000004");
    free(text);
}

/* ---- arrays -------------------------------------------------------------------------------- */

static void arrays_grow(void **state) {
    (void)state;
    size_t capacity = 0;
    size_t moves = 0;
    size_t *items = NULL;
    for (size_t i = 0; i < 10000; i++) {
        size_t before = capacity;
        items = gw_grow(items, i + 1, &capacity, sizeof *items);
        assert_non_null(items);
        assert_true(capacity > i);
        moves += capacity != before;
        items[i] = i;
    }
    assert_true(moves < 15);
    size_t before = capacity;
    assert_ptr_equal(gw_grow(items, capacity, &capacity, sizeof *items), items);
    assert_null(gw_grow(items, SIZE_MAX / 4, &capacity, sizeof *items));
    assert_int_equal(capacity, before);
    for (size_t i = 0; i < 10000; i++) {
        assert_int_equal(items[i], i);
    }
    items = gw_grow(items, 5 * before, &capacity, sizeof *items);
    assert_true(capacity >= 5 * before);
    free(items);
}

static long page_faults(void) {
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_minflt;
}

static void zeros_that_are_in_memory(void **state) {
    (void)state;
    const size_t bytes = 16 << 20, page = 4096;
    unsigned char *zeros = gw_resident_zeros(bytes);
    assert_non_null(zeros);
    assert_int_equal((uintptr_t)zeros % 64, 0);
    size_t set = 0;
    long before = page_faults();
    for (size_t i = 0; i < bytes; i++) {
        set += zeros[i];
        zeros[i] = 1;
    }
    assert_true(page_faults() - before < (long)(bytes / page / 10));
    assert_int_equal(set, 0);
    free(zeros);
    free(gw_resident_zeros(0));
    assert_null(gw_resident_zeros(SIZE_MAX));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_straight_curve),
        cmocka_unit_test(an_nlog2n_curve),
        cmocka_unit_test(curves_add_up),
        cmocka_unit_test(what_has_no_size_costs_nothing),
        cmocka_unit_test(points_are_joined_and_continued),
        cmocka_unit_test(many_points_are_found),
        cmocka_unit_test(a_scaled_copy),
        cmocka_unit_test(a_summary_by_hand),
        cmocka_unit_test(the_median_interval_has_the_tabled_ranks),
        cmocka_unit_test(the_median_interval_covers_as_stated),
        cmocka_unit_test(running_means_agree_with_two_passes),
        cmocka_unit_test(fits_recover_what_made_the_points),
        cmocka_unit_test(fits_ignore_outliers),
        cmocka_unit_test(fits_have_no_negative_coefficients),
        cmocka_unit_test(units_as_a_person_would_write_them),
        cmocka_unit_test(csv_is_quoted_where_it_must_be),
        cmocka_unit_test(arrays_grow),
        cmocka_unit_test(zeros_that_are_in_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
