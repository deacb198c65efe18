/* Margins of measured curves, compared with margins worked out by hand. */
#include <gsl/gsl_fit.h>
#include <math.h>
#include <string.h>

#include "core/regression.h"
#include "tests/support.h"
#include "tests/test.h"
#include "traces/parts.h"
#include "traces/traces.h"

static struct gw_error error;

static void read_entry(const cJSON *entry, const struct gw_curve *curve, double elsewhere,
                       struct gw_margins *out) {
    struct gw_raw raw = {0};
    assert_ok(gw_raw_read(entry, &raw, &error));
    assert_ok(gw_margins_read(entry, &raw, curve, elsewhere, out, &error));
    free(raw.sizes);
}

/* Reads margins into `out`, in place of what it had. */
static void read_margins(const char *raw, struct gw_curve curve, double elsewhere,
                         struct gw_margins *out) {
    cJSON *entry = cJSON_Parse(raw);
    assert_non_null(entry);
    gw_margins_free(out);
    read_entry(entry, &curve, elsewhere, out);
    cJSON_Delete(entry);
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
    struct gw_margins margins = {0};
    read_margins(straight, (struct gw_curve){.per_unit_s = 0.01}, 0, &margins);
    assert_int_equal(margins.count, 3);
    static const double at[][2] = {{100, 0.1}, {101, 0.1}, {200, 0.02}, {300, 0.02}, {400, 0}};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        assert_true(is(gw_margins_at(&margins, at[i][0]), at[i][1]));
    }
    read_margins(straight, (struct gw_curve){.per_unit_s = 0.01}, 0.3, &margins);
    assert_true(is(gw_margins_at(&margins, 100), hypot(0.1, 0.3)));
    assert_true(is(gw_margins_at(&margins, 400), 0.3));
    gw_margins_free(&margins);
}

/*
 * The line through 2 s, off by 2%, and 4 s, which is exact, weighs them -2 and 3 times at twice the
 * largest size; and at twice that, in proportion to which all of it grows, 2^0.02 is added.
 */
TEST(beyond_the_last_size_errors_of_the_line_add_up) {
    static const char large[] =
        "{\"raw\": [{\"bytes\": 2e6, \"median_s\": 2, \"median_low_s\": 1.98,"
        "\"median_high_s\": 2.06}, {\"bytes\": 4e6, \"median_s\": 4}]}";
    const struct gw_curve curve = {.per_unit_s = 1e-6};
    struct gw_margins margins = {0};
    read_margins(large, curve, 0, &margins);
    assert_true(is(gw_margins_at(&margins, 8e6), hypot(2 * 0.04 / 8, pow(2, 0.02) - 1)));
    assert_true(gw_margins_at(&margins, 4e6 + 1) < 1e-6);
    assert_true(is(gw_margins_distance(&margins, 4e12), pow(1e6, 0.02) - 1));
    read_margins(large, curve, 0.3, &margins);
    assert_true(is(gw_margins_at(&margins, 8e6), hypot(hypot(0.3, 0.01), pow(2, 0.02) - 1)));
    /* A line that falls is taken to be level, and one size has no line. */
    read_margins("{\"raw\": [{\"bytes\": 1, \"median_s\": 4},"
                 "{\"bytes\": 2, \"median_s\": 2}]}",
                 (struct gw_curve){.fixed_s = 2}, 0, &margins);
    assert_true(is(gw_margins_at(&margins, 4), hypot(2 * 4 / 2., sqrt(2) - 1)));
    read_margins("{\"raw\": [{\"bytes\": 1, \"median_s\": 4}]}", (struct gw_curve){.fixed_s = 5}, 0,
                 &margins);
    assert_true(is(gw_margins_at(&margins, 4), hypot(0.5, 1)));
    gw_margins_free(&margins);
}

/* At 10 the points at 1 to 4 weigh -2, -0.5, 1 and 2.5 times, where the curve goes on beyond 4. */
TEST(beyond_the_last_of_many_sizes_all_of_their_line_count) {
    static const double off_s[] = {0.1, 0.25, 0.5, 0.4};
    struct gw_curve_point points[] = {{1, 1}, {2, 2}, {3, 4}, {4, 4}, {32, 36}};
    static const char raw[] = "{\"raw\": [{\"bytes\": 1, \"median_s\": 1},"
                              "{\"bytes\": 2, \"median_s\": 2}, {\"bytes\": 3, \"median_s\": 4},"
                              "{\"bytes\": 4, \"median_s\": 4}]}";
    struct gw_curve curve = {.point_count = 5, .points = points};
    struct gw_margins margins = {0};
    read_margins(raw, curve, 0, &margins);
    /* They are 0.1, 0.2, 0.7 and 0.4 s off their line; two are an eighth off by their neighbours.
     */
    double sum_s =
        2 * off_s[0] + 0.5 * hypot(off_s[1], 0.2) + hypot(off_s[2], 0.7) + 2.5 * off_s[3];
    assert_true(is(gw_margins_at(&margins, 10), hypot(sum_s / 11, sqrt(2.5) - 1)));
    /* A curve that ends with them goes on through the last two, 4 s and 4 s. */
    curve.point_count = 4;
    read_margins(raw, curve, 0, &margins);
    assert_true(is(gw_margins_at(&margins, 10), hypot(6 * off_s[2] / 4, sqrt(2.5) - 1)));
    gw_margins_free(&margins);
}

/* Two sizes, exactly known, and how far off a curve may be elsewhere. */
TEST(margins_grow_with_the_distance_from_what_was_measured) {
    static const char two[] = "{\"raw\": [{\"bytes\": %g, \"median_s\": %g},"
                              "{\"bytes\": %g, \"median_s\": %g}]}";
    static const struct {
        double sizes[2], times[2], at, distance;
    } cases[] = {{{1e6, 4e6}, {1, 4}, 1e4, 9}, /* a time in proportion, or one that stays */
                 {{1e6, 4e6}, {1, 1.03}, 1e4, 1 / .9901 - 1}, /* no smaller message takes longer */
                 {{1e6, 4e6}, {1, 1.03}, 16e6, 1}, /* a startup tells of no bandwidth, ... */
                 {{1e6, 4e6}, {1, 3.4}, 16e6, 13.6 / 13 - 1}, /* a time mostly in proportion does */
                 {{1e6, 4e6}, {1, 4.6}, 16e6, 19 / 18.4 - 1},
                 {{1e4, 4e4}, {1, 4}, 4e6, 9}, /* short messages say little of long ones */
                 {{1e6, 4e6}, {1, 4}, 2e6, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char raw[200];
        const double *sizes = cases[i].sizes;
        const double *times = cases[i].times;
        struct gw_curve_point points[] = {{sizes[0], times[0]}, {sizes[1], times[1]}};
        (void)snprintf(raw, sizeof raw, two, sizes[0], times[0], sizes[1], times[1]);
        struct gw_curve curve = {.point_count = 2, .points = points};
        struct gw_margins margins = {0};
        read_margins(raw, curve, 0, &margins);
        double distance = gw_margins_distance(&margins, cases[i].at);
        assert_true(fabs(distance - cases[i].distance) < 1e-3 * (1 + cases[i].distance));
        assert_true(is(gw_margins_at(&margins, cases[i].at), distance));
        gw_margins_free(&margins);
    }
}

/* Twice what the curve is off from a median, or half of what that is off from its neighbours. */
TEST(distance_from_medians_counts_twice) {
    struct gw_margins off = {0};
    read_margins(straight, (struct gw_curve){.per_unit_s = 0.0103}, 0, &off);
    assert_true(is(gw_margins_at(&off, 400), 0.06));
    assert_true(is(gw_margins_at(&off, 200), hypot(0.02, 0.06)));
    struct gw_curve_point points[] = {{100, 1}, {200, 2}, {400, 6}};
    struct gw_margins bent = {0};
    read_margins("{\"raw\": ["
                 "{\"bytes\": 100, \"median_s\": 1, \"median_low_s\": 1, \"median_high_s\": 1},"
                 "{\"bytes\": 200, \"median_s\": 2, \"median_low_s\": 2, \"median_high_s\": 2},"
                 "{\"bytes\": 400, \"median_s\": 6, \"median_low_s\": 6, \"median_high_s\": 6}]}",
                 (struct gw_curve){.point_count = 3, .points = points}, 0, &bent);
    /* The line between 1 s and 6 s is at 8/3 s: off by a third. */
    assert_true(is(gw_margins_at(&bent, 200), 2 * (1.0 / 3) / 4));
    assert_true(is(gw_margins_at(&bent, 400), 0));
    gw_margins_free(&off);
    gw_margins_free(&bent);
}

TEST(entries_without_raw_rows_have_no_margins) {
    static const char *const entries[] = {
        "{}", "{\"raw\": []}", "{\"raw\": 5}", "{\"raw\": [5, null, {\"bytes\": 1}]}",
        "{\"raw\": [{\"bytes\": 1, \"median_s\": 0, \"median_low_s\": 0, \"median_high_s\": 0}]}"};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        struct gw_margins margins = {0};
        read_margins(entries[i], (struct gw_curve){0}, 0.1, &margins);
        assert_int_equal(margins.count, 0);
        assert_true(gw_margins_at(&margins, 7) == 0);
        gw_margins_free(&margins);
    }
}

/* A curve that was not measured states its own margin, unless it was measured later. */
TEST(a_file_may_state_margins_itself) {
    struct gw_curve curve = {.per_unit_s = 0.01};
    struct gw_margins margins = {0};
    read_margins("{\"uncertainty\": [[10, 2], [1000, 0.3]]}", curve, 0.5, &margins);
    assert_int_equal(margins.count, 2);
    assert_true(is(gw_margins_at(&margins, 1), 2));
    assert_true(is(gw_margins_at(&margins, 11), 2));
    assert_true(is(gw_margins_at(&margins, 1000), 0.3));
    assert_true(is(gw_margins_at(&margins, 1e9), 0.3));
    read_margins("{\"uncertainty\": [[10, 2]], \"raw\": [{\"bytes\": 20, \"median_s\": 0.2}]}",
                 curve, 0.5, &margins);
    assert_true(is(gw_margins_at(&margins, 20), 0.5));
    gw_margins_free(&margins);
}

/* ---- collectives that were measured further -------------------------------------------------- */

struct tally {
    size_t inside, wide, all;
};

static double number_at(const cJSON *array, int index, const char *key) {
    return cJSON_GetNumberValue(cJSON_GetObjectItem(cJSON_GetArrayItem(array, index), key));
}

/* On the line by least squares through the last points, 0 where that falls. */
static struct gw_curve_point go_on(const struct gw_curve_point *points, size_t count) {
    double size = GW_LAST_REACH * points[count - 1].size;
    size_t last = gw_last_points(points, count);
    const struct gw_curve_point *first = points + count - last;
    double startup_s = 0, per_byte_s = 0, unused = 0;
    if (last > 0) {
        (void)gsl_fit_linear(&first->size, 2, &first->time_s, 2, last, &startup_s, &per_byte_s,
                             &unused, &unused, &unused, &unused);
    }
    return (struct gw_curve_point){size, startup_s + per_byte_s * size};
}

/* Medians of sizes, and an entry of a file that has them alone. */
struct known {
    cJSON *entry;
    struct gw_curve_point points[65]; /* and one that continues them */
    size_t count;
};

static struct known take_sizes(const cJSON *raw, int first, int end) {
    struct known out = {.entry = cJSON_CreateObject()};
    cJSON *list = cJSON_AddArrayToObject(out.entry, "raw");
    for (int i = first; i < end; i++) {
        (void)cJSON_AddItemToArray(list, cJSON_Duplicate(cJSON_GetArrayItem(raw, i), 1));
        out.points[out.count++] =
            (struct gw_curve_point){number_at(raw, i, "bytes"), number_at(raw, i, "median_s")};
    }
    return out;
}

/* Compares the curve and its margins with sizes that are not known; `smallest`: the known one. */
static void compare_others(const cJSON *raw, int first, int end, const struct known *known,
                           const struct gw_curve *curve, double smallest, struct tally *tally) {
    struct gw_margins margins;
    read_entry(known->entry, curve, GW_COLLECTIVE_MARGIN, &margins);
    for (int i = first; i < end; i++) {
        double bytes = number_at(raw, i, "bytes");
        double ratio = gw_curve_time(curve, bytes) / number_at(raw, i, "median_s");
        double margin = gw_margins_at(&margins, bytes);
        tally->inside += fmax(ratio, 1 / ratio) <= 1 + margin;
        tally->wide += margin > (smallest > 0 ? sqrt(smallest / bytes) : 0.2);
        tally->all++;
    }
    cJSON_Delete(known->entry);
    gw_margins_free(&margins);
}

/* Predicts the other sizes from the first ones: a curve through these, which ends there or is
 * extended like calibrated ones, and its margins. */
static void predict_larger(const cJSON *raw, int kept, bool goes_on, struct tally *tally) {
    struct known known = take_sizes(raw, 0, kept);
    known.points[kept] = go_on(known.points, known.count);
    bool rises = goes_on && known.points[kept].time_s > known.points[kept - 1].time_s;
    struct gw_curve curve = {.point_count = known.count + rises, .points = known.points};
    compare_others(raw, kept, cJSON_GetArraySize(raw), &known, &curve, 0, tally);
}

/* Predicts all smaller sizes from those from `first` on. */
static void predict_smaller(const cJSON *raw, int first, struct tally *tally) {
    struct known known = take_sizes(raw, first, cJSON_GetArraySize(raw));
    struct gw_curve curve = {.point_count = known.count, .points = known.points};
    struct gw_curve begun;
    assert_ok(gw_curve_copy(&curve, &begun, &error));
    assert_ok(gw_curve_begin_above_zero(&begun, &error));
    compare_others(raw, 0, first, &known, &begun, known.points[0].size, tally);
    gw_curve_free(&begun);
}

enum direction { SMALLER, LARGER, LARGER_GOING_ON };

/* Neither too narrow nor so wide that they say nothing. */
static void predict_all(enum direction direction) {
    enum { FEWEST = 4, LEAST_BYTES = 256 << 10 };
    struct tally tally = {0};
    struct gw_cluster cluster;
    char *path = NULL;
    assert_ok(gw_data_resolve(GW_DATA_CLUSTERS, "box-4x1gbit", &path, &error));
    assert_ok(gw_cluster_read(path, &cluster, &error));
    for (size_t i = 0; i < cluster.collective_count; i++) {
        const cJSON *raw = cJSON_GetObjectItem(cluster.collectives[i].kept, "raw");
        int count = cJSON_GetArraySize(raw);
        for (int at = 1; at < count; at++) {
            bool is_small = direction == SMALLER;
            if (is_small && at + FEWEST - 1 <= count &&
                number_at(raw, at, "bytes") >= LEAST_BYTES) {
                predict_smaller(raw, at, &tally);
            } else if (!is_small && at >= FEWEST &&
                       number_at(raw, at - 1, "bytes") >= LEAST_BYTES) {
                predict_larger(raw, at, direction == LARGER_GOING_ON, &tally);
            }
        }
    }
    print_message("%zu of %zu sizes within margins; %zu of all margins are wide\n", tally.inside,
                  tally.all, tally.wide);
    assert_true(tally.all > 1000 && (double)tally.inside >= 0.9 * (double)tally.all);
    assert_true((double)tally.wide <= 0.05 * (double)tally.all);
    gw_cluster_free(&cluster);
    free(path);
}

/* Margins wider than the root of the distance from the smallest size are wide. */
TEST(smaller_sizes_than_were_measured_are_within_margins) {
    predict_all(SMALLER);
}

/* Margins wider than 20% are wide. */
TEST(larger_sizes_than_were_measured_are_within_margins) {
    predict_all(LARGER);
    predict_all(LARGER_GOING_ON);
}
