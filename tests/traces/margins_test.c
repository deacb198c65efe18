/* What is known of curves that were measured, against margins worked out by hand. */
#include <math.h>
#include <string.h>

#include "tests/support.h"
#include "tests/test.h"
#include "traces/traces.h"

static struct gw_error error;

static struct gw_margins margins_of(const char *raw, struct gw_curve curve, double elsewhere,
                                    struct gw_arena *arena) {
    struct gw_margins margins;
    cJSON *entry = cJSON_Parse(raw);
    assert_non_null(entry);
    assert_int_equal(gw_margins_open(entry, "bytes", &curve, elsewhere, arena, &margins, &error),
                     GW_OK);
    cJSON_Delete(entry);
    return margins;
}

static bool is(double value, double expected) {
    return fabs(value - expected) < 1e-12;
}

/* Intervals of 10, 2 and 0% to each side, on a straight curve. */
static const char straight[] =
    "{\"raw\": ["
    "{\"bytes\": 100, \"median_s\": 1, \"median_low_s\": 0.9, \"median_high_s\": 1.1},"
    "{\"bytes\": 200, \"median_s\": 2, \"median_low_s\": 1.98, \"median_high_s\": 2.06},"
    "{\"bytes\": 400, \"median_s\": 4, \"median_low_s\": 4, \"median_high_s\": 4}]}";

TEST(between_two_sizes_the_larger_margin_counts) {
    struct gw_arena arena = {0};
    struct gw_margins margins =
        margins_of(straight, (struct gw_curve){.per_unit_s = 0.01}, 0, &arena);
    assert_int_equal(margins.count, 3);
    static const double at[][2] = {{1, 0.1},    {100, 0.1}, {101, 0.1}, {200, 0.02},
                                   {300, 0.02}, {400, 0},   {1e9, 0}};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        assert_true(is(gw_margins_at(&margins, at[i][0]), at[i][1]));
    }
    margins = margins_of(straight, (struct gw_curve){.per_unit_s = 0.01}, 0.3, &arena);
    assert_true(is(gw_margins_at(&margins, 100), hypot(0.1, 0.3)));
    assert_true(is(gw_margins_at(&margins, 400), 0.3));
    gw_arena_free(&arena);
}

/* Twice what the curve is off from a median, or half of what that is off from its neighbours. */
TEST(what_is_off_from_medians_counts_twice) {
    struct gw_arena arena = {0};
    struct gw_margins off =
        margins_of(straight, (struct gw_curve){.per_unit_s = 0.0103}, 0, &arena);
    assert_true(is(gw_margins_at(&off, 400), 0.06));
    assert_true(is(gw_margins_at(&off, 200), hypot(0.02, 0.06)));
    struct gw_curve_point points[] = {{100, 1}, {200, 2}, {400, 6}};
    struct gw_margins bent =
        margins_of("{\"raw\": ["
                   "{\"bytes\": 100, \"median_s\": 1, \"median_low_s\": 1, \"median_high_s\": 1},"
                   "{\"bytes\": 200, \"median_s\": 2, \"median_low_s\": 2, \"median_high_s\": 2},"
                   "{\"bytes\": 400, \"median_s\": 6, \"median_low_s\": 6, \"median_high_s\": 6}]}",
                   (struct gw_curve){.point_count = 3, .points = points}, 0, &arena);
    /* The line between 1 s and 6 s is at 8/3 s: off by a third. */
    assert_true(is(gw_margins_at(&bent, 200), 2 * (1.0 / 3) / 4));
    assert_true(is(gw_margins_at(&bent, 400), 0));
    gw_arena_free(&arena);
}

TEST(what_nothing_was_kept_of_has_no_margins) {
    static const char *const entries[] = {
        "{}", "{\"raw\": []}", "{\"raw\": 5}", "{\"raw\": [5, null, {\"bytes\": 1}]}",
        "{\"raw\": [{\"bytes\": 1, \"median_s\": 0, \"median_low_s\": 0, \"median_high_s\": 0}]}"};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        struct gw_arena arena = {0};
        struct gw_margins margins = margins_of(entries[i], (struct gw_curve){0}, 0.1, &arena);
        assert_int_equal(margins.count, 0);
        assert_true(gw_margins_at(&margins, 7) == 0);
        gw_arena_free(&arena);
    }
}

/* What was not measured says itself how far off it is, unless it was measured after all. */
TEST(a_file_may_state_margins_itself) {
    struct gw_arena arena = {0};
    struct gw_curve curve = {.per_unit_s = 0.01};
    struct gw_margins margins =
        margins_of("{\"uncertainty\": [[10, 2], [1000, 0.3]]}", curve, 0.5, &arena);
    assert_int_equal(margins.count, 2);
    assert_true(is(gw_margins_at(&margins, 1), 2));
    assert_true(is(gw_margins_at(&margins, 11), 2));
    assert_true(is(gw_margins_at(&margins, 1000), 0.3));
    assert_true(is(gw_margins_at(&margins, 1e9), 0.3));
    margins = margins_of("{\"uncertainty\": [[10, 2]], \"raw\": []}", curve, 0.5, &arena);
    assert_int_equal(margins.count, 0);
    gw_arena_free(&arena);
}
