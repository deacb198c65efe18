/* Cost curves against values worked out by hand. */
#include "core/core.h"
#include "tests/test.h"

static struct gw_curve_point rising[] = {{10, 1}, {20, 3}, {40, 4}};
static struct gw_curve_point falling[] = {{10, 3}, {20, 1}};
static struct gw_curve_point offset[] = {{10, 3}, {20, 4}};

static struct gw_curve through(struct gw_curve_point *points, size_t count) {
    return (struct gw_curve){.fixed_s = 99, .point_count = count, .points = points};
}

TEST(a_straight_curve) {
    struct gw_curve curve = {.fixed_s = 2, .per_unit_s = 3};
    assert_true(near(gw_curve_time(&curve, 4), 14, 0));
    assert_true(near(gw_curve_time(&curve, 0.5), 3.5, 0));
    assert_true(near(gw_curve_time(&curve, 0x1p60), 2 + 3 * 0x1p60, 0));
    assert_true(near(gw_curve_startup(&curve), 2, 0));
}

/* At points of either, between them and beyond both ends. */
static void check_sum(const struct gw_curve *a, const struct gw_curve *b) {
    struct gw_curve sum;
    assert_ok(gw_curve_sum(a, b, &sum, NULL));
    for (double n = 1; n < 100; n += 0.5) {
        assert_true(near(gw_curve_time(&sum, n), gw_curve_time(a, n) + gw_curve_time(b, n), 1e-14));
    }
    assert_true(near(gw_curve_startup(&sum), gw_curve_startup(a) + gw_curve_startup(b), 1e-14));
    gw_curve_free(&sum);
}

TEST(curves_add_up) {
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

TEST(an_nlog2n_curve) {
    struct gw_curve curve = {.fixed_s = 1, .per_unit_s = 0.5, .per_nlog2n_s = 2};
    assert_true(near(gw_curve_time(&curve, 1), 1.5, 0));
    assert_true(near(gw_curve_time(&curve, 8), 1 + 4 + 2 * 24, 0));
    assert_true(near(gw_curve_startup(&curve), 1, 0));
}

TEST(sizes_of_zero_cost_nothing) {
    struct gw_curve straight = {.fixed_s = 2, .per_unit_s = 3, .per_nlog2n_s = 1};
    struct gw_curve points = through(offset, 2);
    const double sizes[] = {0, -1, NAN};
    for (size_t i = 0; i < 3; i++) {
        assert_true(near(gw_curve_time(&straight, sizes[i]), 0, 0));
        assert_true(near(gw_curve_time(&points, sizes[i]), 0, 0));
    }
}

TEST(points_are_joined_and_continued) {
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
    assert_true(near(gw_curve_time(&curve, 20), 1, 0));
    assert_true(near(gw_curve_time(&curve, 24), 1, 0)); /* more never takes less */
    assert_true(near(gw_curve_time(&curve, 1e9), 1, 0));
    curve = through(offset, 2);
    assert_true(near(gw_curve_startup(&curve), 2, 0));
    assert_true(near(gw_curve_time(&curve, 5), 2.5, 0));
}

/* Against a search from the first segment on, at, between and beyond the points. */
TEST(many_points_are_found) {
    enum { count = 37 };
    struct gw_random *random = random_stream_from(20240229, 1);
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
            share = share > 1 && points[i + 1].time_s < points[i].time_s ? 1 : share;
            double time = points[i].time_s + share * (points[i + 1].time_s - points[i].time_s);
            assert_true(fabs(gw_curve_time(&curve, n) - fmax(time, 0)) <=
                        1e-12 * (1 + fabs(share)));
        }
    }
}

TEST(a_scaled_copy) {
    struct gw_curve scaled;
    struct gw_curve formula = {.fixed_s = 2, .per_unit_s = 3, .per_nlog2n_s = 1};
    assert_ok(gw_curve_scaled(&formula, 5, 0.5, &scaled, NULL));
    assert_true(near(gw_curve_time(&scaled, 4), 10 + 6 + 4, 0));
    gw_curve_free(&scaled);
    struct gw_curve points = through(offset, 2);
    assert_ok(gw_curve_scaled(&points, 3, 0.5, &scaled, NULL));
    assert_true(near(gw_curve_startup(&scaled), 6, 1e-15));
    assert_true(near(gw_curve_time(&scaled, 10), 6.5, 1e-15));
    assert_true(near(gw_curve_time(&scaled, 40), 8, 1e-15));
    assert_true(near(gw_curve_time(&points, 10), 3, 0));
    gw_curve_free(&scaled);
    assert_ok(gw_curve_scaled(&points, 0, 0, &scaled, NULL));
    assert_true(near(gw_curve_time(&scaled, 1e9), 0, 0));
    gw_curve_free(&scaled);
    points = through(falling, 2);
    assert_ok(gw_curve_scaled(&points, 0, 1, &scaled, NULL));
    assert_true(near(gw_curve_time(&scaled, 10), 0, 0));
    gw_curve_free(&scaled);
    assert_null(scaled.points);
}
