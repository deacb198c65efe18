/*
 * Surveys of subjects whose times are known, in made-up time: in which order points are measured,
 * for how long, and what drift does.
 */
#include "calibrate/measure/journal.h"
#include "calibrate/measure/points.h"
#include "calibrate/measure/survey.h"
#include "calibrate/report.h"
#include "tests/test.h"

#include "tests/ranks.h"

#include "tests/calibrate/fake_time.h"

enum { RANKS = 4, MOST_VISITS = 4096, MOST_SIZES = 32 };

/* ---- a subject ----------------------------------------------------------------------------- */

/* One rank's: takes base_s + size * per_byte_s, times 1 + drift * (seconds since the start). */
struct subject_of_rank {
    double base_s, per_byte_s, drift, noise;
    double started_s;
    size_t size;
    size_t visits[MOST_VISITS]; /* the size of each */
    size_t visit_count;
    struct gw_random *random;
};

/* One rank's survey. */
struct whole {
    struct subject_of_rank subjects[2]; /* of two ranks, and of all */
    uint64_t order_seed;
    double time_s, precision, max_s_per_point;
    size_t largest;
    double medians_s[2][MOST_SIZES]; /* on rank 0: 0 where left out */
    double sizes[2][MOST_SIZES];
    struct gw_measurement last; /* on rank 0, of all ranks' largest size */
    double took_s;
};

static enum gw_status prepare(void *context, size_t size, struct gw_error *error) {
    struct subject_of_rank *subject = context;
    (void)error;
    subject->size = size;
    assert_true(subject->visit_count < MOST_VISITS);
    subject->visits[subject->visit_count++] = size;
    return GW_OK;
}

static enum gw_status take_time(void *context, struct gw_error *error) {
    struct subject_of_rank *subject = context;
    (void)error;
    double takes_s = subject->base_s + (double)subject->size * subject->per_byte_s;
    takes_s *= 1 + subject->drift * (fake_self->now_s - subject->started_s);
    takes_s *= gw_random_noise(subject->random, subject->noise);
    fake_work(takes_s);
    return GW_OK;
}

static void check_share(void *context, double share, const char *what) {
    (void)context;
    (void)what;
    assert_true(share >= 0 && share <= 1);
}

static enum gw_status keep_medians(const struct gw_points *points, const struct gw_stop_rule *rule,
                                   struct whole *whole, struct gw_error *error) {
    size_t sizes[2] = {0};
    for (size_t i = 0; i < points->count; i++) {
        const struct gw_measured_point *point = &points->items[i];
        size_t place = sizes[point->series]++;
        whole->sizes[point->series][place] = (double)point->size;
        if (point->state != GW_POINT_LEFT_OUT) {
            GW_TRY(gw_point_measurement(point, rule, &whole->last, error));
            whole->medians_s[point->series][place] = whole->last.summary.median;
        }
    }
    return GW_OK;
}

static enum gw_status measure_all(struct gw_communicator *communicator, void *context,
                                  struct gw_error *error) {
    static const struct gw_compressor *const no_compressors[] = {NULL};
    struct whole *whole = context;
    struct gw_calibration calibration = gw_calibration_defaults();
    struct gw_point_survey survey;
    struct gw_journal journal = {.descriptor = -1};
    const struct gw_report report = {.on_progress = check_share, .scale = 1};
    calibration.precision = whole->precision;
    calibration.max_s_per_point = whole->max_s_per_point;
    calibration.seed = whole->order_seed;
    calibration.clock = &fake_self->clock;
    calibration.compressors = no_compressors;
    calibration.aggregation = false;
    GW_TRY(gw_point_survey_open(communicator, &calibration, &survey, error));
    survey.list.count = 0; /* subjects of this test in place of collectives */
    double started_s = fake_self->now_s;
    for (size_t s = 0; s < 2; s++) {
        whole->subjects[s].started_s = started_s;
        GW_TRY(gw_random_open(&whole->subjects[s].random, seed, s, error));
        const struct gw_series series = {.workers = s == 0 ? 2 : communicator->size,
                                         .subject = {.name = s == 0 ? "of two" : "of all",
                                                     .size_key = "bytes",
                                                     .smallest = 1024,
                                                     .largest = whole->largest,
                                                     .prepare = prepare,
                                                     .run = take_time,
                                                     .context = &whole->subjects[s]}};
        GW_TRY(gw_series_list_add(&survey.list, series, error));
    }
    GW_TRY(gw_points_open(survey.list.items, 2, 2, &survey.points, error));
    GW_TRY(gw_measure_points(&survey, whole->time_s, &journal, &report, error));
    whole->took_s = fake_self->now_s - started_s;
    if (communicator->rank == 0) {
        GW_TRY(keep_medians(&survey.points, &survey.rule, whole, error));
    }
    gw_random_close(whole->subjects[0].random);
    gw_random_close(whole->subjects[1].random);
    gw_point_survey_close(&survey);
    return GW_OK;
}

/* Measures like `like`, on every rank; *out gets the ranks' results, which the caller frees. */
static struct whole *measure(int ranks, const struct whole *like) {
    struct whole *wholes = calloc((size_t)ranks, sizeof *wholes);
    assert_non_null(wholes);
    for (int r = 0; r < ranks; r++) {
        wholes[r] = *like;
    }
    run_fake_ranks(ranks, measure_all, wholes, sizeof *wholes, NULL);
    return wholes;
}

static struct whole describe(double base_s, double per_byte_s) {
    struct whole whole = {.order_seed = seed,
                          .time_s = 1.5,
                          .precision = 1e-6,
                          .max_s_per_point = 100,
                          .largest = 1 << 14};
    for (size_t s = 0; s < 2; s++) {
        whole.subjects[s].base_s = base_s;
        whole.subjects[s].per_byte_s = per_byte_s;
    }
    return whole;
}

/* ---- the order ----------------------------------------------------------------------------- */

static size_t count_ascents(const struct subject_of_rank *subject, size_t first) {
    size_t ascents = 0;
    for (size_t i = first + 1; i < subject->visit_count; i++) {
        ascents += subject->visits[i] > subject->visits[i - 1];
    }
    return ascents;
}

TEST(the_order_is_random_and_the_same_on_all_ranks) {
    const struct whole like = describe(2e-4, 0);
    struct whole *wholes = measure(RANKS, &like);
    for (size_t s = 0; s < 2; s++) {
        const struct subject_of_rank *first = &wholes[0].subjects[s];
        for (size_t r = 0; r < RANKS; r++) {
            const struct subject_of_rank *subject = &wholes[r].subjects[s];
            assert_int_equal(subject->visit_count, s == 0 && r >= 2 ? 0 : first->visit_count);
            assert_memory_equal(subject->visits, first->visits,
                                subject->visit_count * sizeof(size_t));
        }
        /* Sizes ascend while they are tried out, and then as often as not. */
        size_t later = first->visit_count - 5;
        assert_true(later >= 20);
        assert_int_equal(count_ascents(first, 0) - count_ascents(first, 5) >= 4, true);
        assert_in_range(count_ascents(first, 5), later / 5, 4 * later / 5);
    }
    free(wholes);
}

/* ---- drift --------------------------------------------------------------------------------- */

/*
 * Everything becomes slower and slower, to three times as long at the end. All sizes must have
 * become so alike: a size measured after the other would be 15% slower than the one before.
 */
TEST(drift_does_not_bend_a_curve) {
    struct whole like = describe(2e-3, 5e-7);
    like.time_s = 12; /* enough moments of each size, whose median has chance in it */
    like.subjects[1].drift = 2 / like.time_s;
    struct whole *wholes = measure(2, &like);
    size_t count = 0;
    struct gw_curve_point points[MOST_SIZES];
    struct gw_fit fit;
    while (wholes[0].sizes[1][count] > 0) {
        points[count] =
            (struct gw_curve_point){wholes[0].sizes[1][count], wholes[0].medians_s[1][count]};
        count++;
    }
    assert_int_equal(count, 5);
    assert_ok(gw_fit_curve(GW_STRAIGHT, points, count, &fit, NULL));
    double slower = points[2].time_s / (2e-3 + 5e-7 * points[2].size);
    print_message("%.2f times slower; alpha %.3g, beta %.3g, residual %.1f%%\n", slower,
                  fit.curve.fixed_s, fit.curve.per_unit_s, 100 * fit.max_error);
    assert_true(slower > 1.5 && slower < 2.6);
    assert_true(near(fit.curve.fixed_s, slower * 2e-3, 0.15));
    assert_true(near(fit.curve.per_unit_s, slower * 5e-7, 0.15));
    free(wholes);
}

/* ---- time ---------------------------------------------------------------------------------- */

/* Also with sizes that would take hours, of which five stay. */
TEST(the_time_is_kept_and_large_sizes_go) {
    struct whole like = describe(1e-4, 1e-7);
    like.largest = 1 << 28;
    like.time_s = 2;
    like.subjects[0].noise = like.subjects[1].noise = 0.1;
    struct whole *wholes = measure(3, &like);
    size_t measured = 0;
    while (wholes[0].medians_s[1][measured] > 0) {
        measured++;
    }
    print_message("%zu sizes in %.2f s\n", measured, wholes[0].took_s);
    assert_in_range(measured, 6, 12);
    for (size_t i = measured; wholes[0].sizes[1][i] > 0; i++) {
        assert_true(wholes[0].medians_s[1][i] == 0);
    }
    assert_true(wholes[0].took_s < 2.1);
    assert_false(wholes[0].last.precise);
    assert_string_equal(wholes[0].last.stopped_by, "time");
    free(wholes);
}

/* A time for some of the eleven sizes goes to five that are spread over the whole range first. */
TEST(a_short_time_covers_all_sizes) {
    static const size_t spread[GW_MIN_SIZES] = {0, 3, 5, 8, 10};
    struct whole like = describe(2e-4, 2e-10);
    like.largest = 1 << 20;
    like.time_s = 0.02;
    struct whole *wholes = measure(2, &like);
    for (size_t s = 0; s < 2; s++) {
        size_t measured = 0;
        for (size_t i = 0; i < 11; i++) {
            measured += wholes[0].medians_s[s][i] > 0;
        }
        for (size_t i = 0; i < GW_MIN_SIZES; i++) {
            assert_true(wholes[0].medians_s[s][spread[i]] > 0);
        }
        assert_in_range(measured, GW_MIN_SIZES, 10);
    }
    assert_true(wholes[0].took_s < 2 * like.time_s);
    free(wholes);
}

TEST(a_time_of_zero_repeats_each_of_five_sizes_once) {
    struct whole like = describe(1e-4, 0);
    like.largest = 1 << 20;
    like.time_s = 0;
    struct whole *wholes = measure(2, &like);
    for (size_t i = 0; i < 11; i++) {
        assert_int_equal(wholes[0].medians_s[0][i] > 0, i < GW_MIN_SIZES);
    }
    free(wholes);
}

TEST(precise_points_are_not_measured_again) {
    struct whole like = describe(1e-3, 0);
    like.precision = 0.5;
    like.time_s = 100;
    struct whole *wholes = measure(2, &like);
    assert_true(wholes[0].last.precise);
    assert_true(wholes[0].took_s < 10);
    free(wholes);
}
