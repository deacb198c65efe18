/* Curves of measurements: the chosen kind, its document, and its extension. */
#include <math.h>

#include "calibrate/fit/fit.h"
#include "calibrate/measure/points.h"
#include "calibrate/measure/timing.h"
#include "tests/test.h"

static const struct gw_subject subject = {.size_key = "bytes", .sorts = true};

static double number_in(const cJSON *object, const char *key) {
    const cJSON *value = cJSON_GetObjectItem(object, key);
    assert_true(cJSON_IsNumber(value));
    return value->valuedouble;
}

enum { MOST_SIZES = 15 };

struct fitted {
    struct gw_measurement measurements[MOST_SIZES];
    size_t count;
    struct gw_curve curve;
    cJSON *details;
    const cJSON *fit;
};

/* Measurements of 1e-4 s and 2e-9 s a byte, and an extra time above 64 KiB. */
static struct fitted measured(size_t count, double kink, double noise) {
    struct fitted out = {.count = count};
    struct gw_random *random = open_random(1);
    for (size_t i = 0; i < count; i++) {
        double size = 1024.0 * (double)(1u << i);
        double time = 1e-4 + 2e-9 * size + (size > 65536 ? kink : 0);
        out.measurements[i] = (struct gw_measurement){
            .size = size,
            .summary = {.count = 20, .median = time * (1 + gw_random_normal(random, noise))}};
    }
    gw_random_close(random);
    return out;
}

static void choose_curve(struct fitted *of) {
    assert_ok(
        gw_choose_curve(&subject, of->measurements, of->count, &of->curve, &of->details, NULL));
    of->fit = cJSON_GetObjectItem(of->details, "fit");
}

static void forget_curve(struct fitted *of) {
    gw_curve_free(&of->curve);
    cJSON_Delete(of->details);
}

static void assert_through_all(const struct fitted *of, double relative) {
    for (size_t i = 0; i < of->count; i++) {
        assert_true(near(gw_curve_time(&of->curve, of->measurements[i].size),
                         of->measurements[i].summary.median, relative));
    }
}

static void assert_chosen(const struct fitted *of, const char *kind, size_t points) {
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(of->fit, "chosen")), kind);
    assert_int_equal(of->curve.point_count, points);
}

/* With two sizes nothing can be held out, with three one. */
/* A share of the time, of what networks carry, if it was seen at every size. */
TEST(ranks_may_be_done_apart) {
    const struct gw_subject carried = {.size_key = "bytes", .ends_straight = true};
    for (int seen = 0; seen < 3; seen++) {
        struct fitted of = measured(7, 0, 0);
        for (size_t i = 0; i < of.count; i++) {
            of.measurements[i].skew_s = 0.3 * of.measurements[i].summary.median;
        }
        of.measurements[2].skew_s = seen == 1 ? 0 : 1.5 * of.measurements[2].summary.median;
        assert_ok(gw_choose_curve(seen == 2 ? &subject : &carried, of.measurements, of.count,
                                  &of.curve, &of.details, NULL));
        const cJSON *skew = cJSON_GetObjectItem(of.details, "skew");
        assert_int_equal(cJSON_GetArraySize(skew), seen == 0 ? 7 : 0);
        for (int i = 0; seen == 0 && i < 7; i++) {
            const cJSON *pair = cJSON_GetArrayItem(skew, i);
            assert_true(cJSON_GetArrayItem(pair, 0)->valuedouble == of.measurements[i].size);
            assert_true(near(cJSON_GetArrayItem(pair, 1)->valuedouble, i == 2 ? 1 : 0.3, 1e-12));
        }
        forget_curve(&of);
    }
}

TEST(an_error_is_of_sizes_that_were_held_out) {
    for (size_t count = 2; count <= 3; count++) {
        struct fitted few = measured(count, 0, 0.005);
        choose_curve(&few);
        const cJSON *line = cJSON_GetObjectItem(few.fit, "straight");
        assert_int_equal(cJSON_HasObjectItem(few.fit, "held_out_error"), count > 2);
        assert_int_equal(cJSON_HasObjectItem(line, "held_out_mean_error"), count > 2);
        assert_int_equal(cJSON_HasObjectItem(line, "held_out_max_error"), count > 2);
        forget_curve(&few);
    }
}

TEST(a_line_comes_with_its_intervals) {
    struct fitted noisy = measured(MOST_SIZES, 0, 0.02);
    choose_curve(&noisy);
    const cJSON *line = cJSON_GetObjectItem(noisy.fit, "straight");
    assert_true(number_in(line, "startup_low_s") < number_in(line, "startup_s"));
    assert_true(number_in(line, "startup_s") < number_in(line, "startup_high_s"));
    assert_true(number_in(line, "per_unit_low_s") < number_in(line, "per_unit_s"));
    assert_true(number_in(line, "per_unit_s") < number_in(line, "per_unit_high_s"));
    assert_true(number_in(line, "startup_high_s") < 1.1 * number_in(line, "startup_low_s"));
    line = cJSON_GetObjectItem(noisy.fit, "nlog2n");
    assert_true(number_in(line, "per_nlog2n_low_s") < number_in(line, "per_nlog2n_high_s"));
    forget_curve(&noisy);
}

static size_t allocations_left;

static void *allocate_some(size_t size) {
    if (allocations_left == 0) {
        return NULL;
    }
    allocations_left--;
    return malloc(size);
}

TEST(a_curve_that_there_is_no_memory_to_write_down_is_given_back) {
    struct fitted jump = measured(MOST_SIZES, 5e-4, 0);
    cJSON_Hooks hooks = {.malloc_fn = allocate_some, .free_fn = free};
    enum gw_status status = GW_FAILED;
    for (size_t most = 0; status != GW_OK; most = 2 * most + 1) {
        struct gw_error error;
        allocations_left = most;
        cJSON_InitHooks(&hooks);
        status = gw_choose_curve(&subject, jump.measurements, jump.count, &jump.curve,
                                 &jump.details, &error);
        cJSON_InitHooks(NULL);
        assert_true(status == GW_OK || status == GW_FAILED);
        assert_int_equal(jump.curve.points != NULL, status == GW_OK);
        assert_int_equal(jump.details != NULL, status == GW_OK);
        assert_true(status != GW_OK || most > 100);
    }
    forget_curve(&jump);
}

TEST(a_jump_becomes_two_segments) {
    struct fitted jump = measured(MOST_SIZES, 5e-4, 0);
    choose_curve(&jump);
    assert_chosen(&jump, "two-segment", 4);
    assert_through_all(&jump, 1e-9);
    const cJSON *two = cJSON_GetObjectItem(jump.fit, "two-segment");
    const cJSON *segments = cJSON_GetObjectItem(two, "segments");
    assert_true(near(number_in(two, "break_bytes"), 65536, 0));
    assert_int_equal(cJSON_GetArraySize(segments), 2);
    assert_true(near(number_in(cJSON_GetArrayItem(segments, 0), "startup_s"), 1e-4, 1e-6));
    assert_true(near(number_in(cJSON_GetArrayItem(segments, 1), "startup_s"), 6e-4, 1e-6));
    forget_curve(&jump);
}

static size_t nowhere(const void *context, size_t smaller, size_t larger) {
    (void)context;
    (void)smaller;
    (void)larger;
    return 0;
}

/* A step between the last two sizes is not taken for the slope of what comes. */
TEST(a_step_is_not_continued) {
    const struct gw_subject sketch = {.size_key = "elements", .before_step = nowhere};
    struct fitted steps = measured(MOST_SIZES, 0, 0);
    for (size_t i = 0; i < MOST_SIZES; i++) {
        double size = steps.measurements[i].size;
        double times = i == MOST_SIZES - 1 ? 2 : 1;
        steps.measurements[i].summary.median = times * 1e-10 * pow(size, 1.3);
    }
    double each_s =
        steps.measurements[MOST_SIZES - 1].summary.median / steps.measurements[MOST_SIZES - 1].size;
    double largest = steps.measurements[MOST_SIZES - 1].size;
    assert_ok(gw_choose_curve(&sketch, steps.measurements, steps.count, &steps.curve,
                              &steps.details, NULL));
    steps.fit = cJSON_GetObjectItem(steps.details, "fit");
    assert_chosen(&steps, "points", MOST_SIZES + 1);
    for (double size = largest; size < 1000 * largest; size *= 1.9) {
        assert_true(near(gw_curve_time(&steps.curve, size), each_s * size, 1e-9));
    }
    forget_curve(&steps);
}

/* Stairs, then a line whose last size took a tenth longer than it should. */
TEST(an_outlying_last_size_is_not_extrapolated) {
    const struct gw_subject network = {.size_key = "bytes", .ends_straight = true};
    const double per_byte_s = 1e-8;
    struct fitted stairs = measured(MOST_SIZES, 0, 0);
    for (size_t i = 0; i < MOST_SIZES; i++) {
        double size = 8 * round(128 * pow(2, (double)i / 2));
        double off = i == MOST_SIZES - 1 ? 1.1 : i < 8 && i / 2 % 2 == 1 ? 2 : 1;
        stairs.measurements[i].size = size;
        stairs.measurements[i].summary.median = off * per_byte_s * size;
    }
    double largest = stairs.measurements[MOST_SIZES - 1].size;
    assert_ok(gw_choose_curve(&network, stairs.measurements, stairs.count, &stairs.curve,
                              &stairs.details, NULL));
    stairs.fit = cJSON_GetObjectItem(stairs.details, "fit");
    assert_chosen(&stairs, "points", MOST_SIZES + 1);
    assert_through_all(&stairs, 1e-12);
    for (double size = 8 * largest; size < 1000 * largest; size *= 2) {
        assert_true(near(gw_curve_time(&stairs.curve, size), per_byte_s * size, 0.02));
    }
    forget_curve(&stairs);
}
