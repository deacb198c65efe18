/* Which depths products have for work of a given time, from times that are measured or made up. */
#include "exec/gpu_work.h"
#include "tests/support.h"

enum { COUNT = 6 };

static const double sizes[COUNT] = {16, 256, 512, 1024, 2048, 4096};

static enum gw_status set(struct gw_depths *depths, const double *times, struct gw_error *error) {
    struct gw_curve_point measured[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        measured[i] = (struct gw_curve_point){sizes[i], times[i]};
    }
    return gw_depths_set(depths, measured, COUNT, error);
}

/* ---- calibration --------------------------------------------------------------------------- */

static void times_that_grow_are_kept(void **state) {
    (void)state;
    static const double times[COUNT] = {8e-6, 15e-6, 23e-6, 38e-6, 70e-6, 130e-6};
    struct gw_depths depths;
    assert_int_equal(set(&depths, times, NULL), GW_OK);
    assert_int_equal(depths.count, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(depths.points[i].size == sizes[i] && depths.points[i].time_s == times[i]);
    }
}

/* 256 took longer than 512, and 2048 as long as 4096. */
static void what_deeper_ones_undercut_is_left_out(void **state) {
    (void)state;
    static const double times[COUNT] = {8e-6, 30e-6, 23e-6, 38e-6, 130e-6, 130e-6};
    struct gw_depths depths;
    assert_int_equal(set(&depths, times, NULL), GW_OK);
    assert_int_equal(depths.count, 4);
    assert_true(depths.points[0].size == 16 && depths.points[1].size == 512 &&
                depths.points[2].size == 1024 && depths.points[3].size == 4096);
}

enum { TIMES = 4 }; /* so many are times, though no good ones */

static void nonsense_is_refused(void **state) {
    (void)state;
    static const double nonsense[][COUNT] = {
        {8e-6, 8e-6, 8e-6, 8e-6, 8e-6, 8e-6},             /* nothing was done */
        {8e-6, 8.1e-6, 8.2e-6, 8.3e-6, 8.4e-6, 8.5e-6},   /* or nothing that depends on it */
        {9e-6, 8e-6, 7e-6, 6e-6, 5e-6, 4e-6},             /* shorter the more there is to do */
        {8e-6, 300e-6, 200e-6, 190e-6, 180e-6, 130e-6},   /* two are left */
        {0, 15e-6, 23e-6, 38e-6, 70e-6, 130e-6},          /* no time at all */
        {-1e-6, 15e-6, 23e-6, 38e-6, 70e-6, 130e-6},      /* or less */
        {8e-6, 15e-6, 23e-6, 38e-6, 70e-6, INFINITY},     /* or without end */
        {8e-6, (double)NAN, 23e-6, 38e-6, 70e-6, 130e-6}, /* or unknown */
        {8e-6, 15e-6, 23e-6, 38e-6, 70e-6, (double)NAN},
    };
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        struct gw_depths depths;
        struct gw_error error = {0};
        assert_int_equal(set(&depths, nonsense[i], &error), GW_FAILED);
        assert_non_null(strstr(error.message, i < TIMES ? "expected deeper products to take longer"
                                                        : "got times that are none"));
    }
}

/* ---- work ---------------------------------------------------------------------------------- */

/* What a product of that depth takes, by the straight lines between what was measured. */
static double time_of(const struct gw_depths *depths, size_t depth) {
    size_t i = 1;
    while (depths->points[i].size < (double)depth) {
        i++;
    }
    const struct gw_curve_point *low = &depths->points[i - 1];
    const struct gw_curve_point *high = &depths->points[i];
    double share = ((double)depth - low->size) / (high->size - low->size);
    return low->time_s + share * (high->time_s - low->time_s);
}

/* Of work of random lengths, in turns as short as a launch and as long as many products. */
static void nothing_that_is_owed_is_lost(void **state) {
    (void)state;
    static const double times[COUNT] = {8e-6, 15e-6, 19e-6, 38e-6, 70e-6, 130e-6};
    const double steepest_step_s = 19e-6 / 512 * GW_DEPTH_STEP;
    struct gw_depths depths;
    struct gw_random *random = NULL;
    double asked_s = 0;
    double owed_s = 0;
    double taken_s = 0;
    assert_int_equal(gw_random_open(&random, choose_seed(), 0, NULL), GW_OK);
    assert_int_equal(set(&depths, times, NULL), GW_OK);
    for (int i = 0; i < 10000; i++) {
        double work_s = 1e-6 * pow(1e3, gw_random_uniform(random));
        size_t depth = 0;
        asked_s += work_s;
        owed_s += work_s;
        while ((depth = gw_depths_take(&depths, &owed_s)) > 0) {
            assert_true(depth % GW_DEPTH_STEP == 0 && depth >= 16 && depth <= 4096);
            taken_s += time_of(&depths, depth);
        }
        assert_true(owed_s < times[0] && owed_s >= -0.51 * steepest_step_s);
        assert_true(fabs(asked_s - taken_s - owed_s) < 1e-9 * asked_s + 1e-12);
    }
    gw_random_close(random);
}

static void long_work_is_several_products(void **state) {
    (void)state;
    static const double times[COUNT] = {8e-6, 15e-6, 23e-6, 38e-6, 70e-6, 130e-6};
    struct gw_depths depths;
    double owed_s = 2 * 130e-6 + 54e-6 + 4e-6;
    assert_int_equal(set(&depths, times, NULL), GW_OK);
    assert_int_equal(gw_depths_take(&depths, &owed_s), 4096);
    assert_int_equal(gw_depths_take(&depths, &owed_s), 4096);
    assert_int_equal(gw_depths_take(&depths, &owed_s), 1664); /* 58 us, between 1024 and 2048 */
    assert_int_equal(gw_depths_take(&depths, &owed_s), 0);
    owed_s = 7.9e-6;
    assert_int_equal(gw_depths_take(&depths, &owed_s), 0);
    assert_true(owed_s == 7.9e-6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_that_grow_are_kept),
        cmocka_unit_test(what_deeper_ones_undercut_is_left_out),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(nothing_that_is_owed_is_lost),
        cmocka_unit_test(long_work_is_several_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
