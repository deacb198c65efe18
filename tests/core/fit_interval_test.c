/* The uncertainty of a fit's coefficients: over a thousand simulated calibrations the 95% intervals
 * must contain the truth 95% of the time. */
#include <gsl/gsl_cdf.h>

#include "core/core.h"
#include "core/random.h"
#include "core/regression.h"
#include "core/statistics.h"
#include "tests/test.h"

enum { CALIBRATIONS = 1000, MOST_SIZES = 16, MOST_REPEATS = 200 };

/* How much wider than those of so many trials the limits of fewer are. */
static double widening(int full) {
    return sqrt((double)full / gw_trials(full));
}

/* A truth, and how it is measured: sizes smallest, 2 smallest, ... */
struct scene {
    const char *name;
    enum gw_curve_shape shape;
    double startup, slope; /* below 0: a second segment's */
    double smallest;
    size_t sizes, repeats;
    double noise;       /* of a repeat: standard deviation of its logarithm */
    double small_noise; /* the same at the smallest size; falls to `noise` at the largest */
    double slow;        /* share of repeats that take two to five times as long */
    double between;     /* noise that all repeats at one size share */
    double disturbed;   /* share of sizes where all repeats take half as long again */
    bool own_known;     /* whether the fit is told how well each median is known */
};

static const struct scene scenes[] = {
    {"medians known to 1%", GW_STRAIGHT, 1e-4, 1e-9, 1024, 15, 60, 0.05, 0.05, 0.05, 0, 0, true},
    {"scatter between sizes", GW_STRAIGHT, 1e-4, 1e-9, 1024, 15, 30, 0.1, 0.1, 0.05, 0.02, 0, true},
    {"small sizes noisier", GW_STRAIGHT, 1e-4, 1e-9, 1024, 15, 20, 0.03, 0.3, 0.05, 0.01, 0, true},
    {"few sizes", GW_STRAIGHT, 1e-3, 2e-8, 1024, 10, 40, 0.05, 0.05, 0.05, 0.02, 0, true},
    {"few repeats", GW_STRAIGHT, 1e-3, 2e-8, 1024, 14, 5, 0.05, 0.05, 0.02, 0, 0, true},
    {"n log n", GW_NLOG2N, 2e-5, 2e-10, 1024, 14, 40, 0.05, 0.05, 0.05, 0.02, 0, true},
    {"a size in 20 disturbed", GW_STRAIGHT, 1e-4, 1e-9, 1024, 15, 60, 0.05, 0.05, 0.05, 0.02, 0.05,
     true},
    {"medians' errors unknown", GW_STRAIGHT, 1e-4, 1e-9, 1024, 15, 40, 0.1, 0.1, 0.05, 0, 0, false},
    {"no startup", GW_STRAIGHT, 0, 1e-9, 1024, 15, 40, 0.05, 0.05, 0.05, 0.02, 0, true},
    {"a second segment", GW_STRAIGHT, -2e-5, 1e-9, 32768, 10, 40, 0.05, 0.05, 0.05, 0.02, 0, true},
};

static double truth_at(const struct scene *scene, double size) {
    return scene->startup + scene->slope * size * (scene->shape == GW_STRAIGHT ? 1 : log2(size));
}

/* The truth of a median over repeats is the median of all of them, the slow ones too. */
static double median_of_repeats(const struct scene *scene, double noise) {
    return exp(noise * gsl_cdf_ugaussian_Pinv(0.5 / (1 - scene->slow)));
}

static void measure(const struct scene *scene, struct gw_random *random,
                    struct gw_curve_point *points, double *errors) {
    double repeats[MOST_REPEATS];
    for (size_t i = 0; i < scene->sizes; i++) {
        double share = (double)i / (double)(scene->sizes - 1);
        double noise = scene->small_noise * pow(scene->noise / scene->small_noise, share);
        double size = scene->smallest * (double)(1u << i);
        double time = truth_at(scene, size) * exp(gw_random_normal(random, scene->between));
        time *= gw_random_uniform(random) < scene->disturbed ? 1.5 : 1;
        time /= median_of_repeats(scene, noise);
        for (size_t r = 0; r < scene->repeats; r++) {
            repeats[r] = time * exp(gw_random_normal(random, noise));
            if (gw_random_uniform(random) < scene->slow) {
                repeats[r] *= 2 + 3 * gw_random_uniform(random);
            }
        }
        struct gw_summary summary;
        assert_ok(gw_summarise_bootstrap(repeats, scene->repeats, 1, random, &summary, NULL));
        points[i] = (struct gw_curve_point){.size = size, .time_s = summary.median};
        errors[i] = gw_summary_standard_error(&summary);
    }
}

/* Over the calibrations of a scene, of one coefficient. */
struct tally {
    double truth, scale;
    struct gw_running estimates;      /* less the truth, in units of `scale` */
    double half_widths[CALIBRATIONS]; /* in the same */
    size_t count;
    int held;
};

static struct tally open_tally(double truth, double scale) {
    return (struct tally){.truth = truth, .scale = truth != 0 ? fabs(truth) : scale};
}

/* A stored coefficient lies in its own interval, and both in their range. */
static void count(struct tally *tally, double estimate, double low, double high) {
    gw_running_add(&tally->estimates, (estimate - tally->truth) / tally->scale);
    tally->half_widths[tally->count++] = (high - low) / (2 * tally->scale);
    tally->held += low <= tally->truth && tally->truth <= high;
    assert_true(tally->truth < 0 || low >= 0);
    assert_true(low <= estimate && estimate <= high);
}

/*
 * Out of 1000 intervals that contain the truth in 95% of cases 929 to 971 do so (three standard
 * deviations); two points more are allowed for sizes as few as ten. A truth of 0 is missed on one
 * side only. A normal estimate's half width is 1.96 standard deviations, and 2.3 with Student's t
 * for eight degrees of freedom; the median of them, since a few very wide ones determine the mean.
 * An estimate kept at 0 or above is 0.4 standard deviations above a 0.
 */
static void check(const char *scene, const char *coefficient, struct tally *tally) {
    double deviation = gw_running_sd(&tally->estimates);
    struct gw_summary half_widths;
    gw_summarise(tally->half_widths, tally->count, &half_widths);
    double width = half_widths.median / deviation;
    print_message("| %s | %s | %.1f%% | %+.2f%% | %.2f |\n", scene, coefficient,
                  100.0 * tally->held / (double)tally->count, 100 * tally->estimates.mean, width);
    double wider = widening(CALIBRATIONS);
    double above = (double)tally->held / (double)tally->count - 0.95;
    assert_true(above > -0.04 * wider - 1e-9);
    assert_true(above < (tally->truth == 0 ? 0.045 : 0.035) * wider + 1e-9);
    assert_true(fabs(tally->estimates.mean) < (tally->truth == 0 ? 0.8 * deviation : 5e-3 * wider));
    assert_true(width < 2.6 + 0.2 * wider);
}

static enum gw_status fit(const struct scene *scene, const struct gw_curve_point *points,
                          struct gw_fit *out) {
    return scene->startup < 0 ? gw_fit_segment(points, scene->sizes, out, NULL)
                              : gw_fit_curve(scene->shape, points, scene->sizes, out, NULL);
}

static int run_scene(const struct scene *scene, struct gw_random *random) {
    struct tally startup = open_tally(scene->startup, truth_at(scene, scene->smallest));
    struct tally slope = open_tally(scene->slope, 1);
    for (int c = 0, trials = gw_trials(CALIBRATIONS); c < trials; c++) {
        struct gw_curve_point points[MOST_SIZES];
        double errors[MOST_SIZES];
        struct gw_fit fitted;
        struct gw_fit_interval interval;
        measure(scene, random, points, errors);
        assert_ok(fit(scene, points, &fitted));
        assert_ok(gw_fit_intervals(&fitted, points, scene->own_known ? errors : NULL, scene->sizes,
                                   &interval, NULL));
        assert_true(interval.known);
        count(&startup, fitted.curve.fixed_s, interval.startup_low, interval.startup_high);
        count(&slope, fitted.curve.per_unit_s + fitted.curve.per_nlog2n_s, interval.slope_low,
              interval.slope_high);
    }
    check(scene->name, "startup", &startup);
    check(scene->name, "slope", &slope);
    return startup.held + slope.held;
}

TEST(intervals_hold_the_truth_as_often_as_they_say) {
    enum { SCENES = sizeof scenes / sizeof *scenes };
    int held = 0;
    struct gw_random *random = random_stream(1);
    print_message("| truth | coefficient | inside | off in the mean | half width, sd |\n"
                  "| --- | --- | ---: | ---: | ---: |\n");
    for (size_t s = 0; s < SCENES; s++) {
        held += run_scene(&scenes[s], random);
    }
    double rate = held / (2.0 * SCENES * gw_trials(CALIBRATIONS));
    print_message("all: %.2f%%\n", 100 * rate);
    assert_true(fabs(rate - 0.95) < 0.015 * widening(CALIBRATIONS));
}

TEST(the_same_points_give_the_same_interval) {
    struct gw_curve_point points[MOST_SIZES];
    double errors[MOST_SIZES];
    struct gw_fit fitted;
    struct gw_fit_interval intervals[2];
    struct gw_random *random = random_stream(2);
    measure(&scenes[1], random, points, errors);
    assert_ok(fit(&scenes[1], points, &fitted));
    for (int i = 0; i < 2; i++) {
        assert_ok(gw_fit_intervals(&fitted, points, errors, scenes[1].sizes, &intervals[i], NULL));
    }
    assert_memory_equal(&intervals[0], &intervals[1], sizeof intervals[0]);
}

static void interval_of_line(double startup, double slope, bool segment, size_t sizes,
                             struct gw_fit *fitted, struct gw_fit_interval *out) {
    struct gw_curve_point points[8];
    for (size_t i = 0; i < sizes; i++) {
        points[i].size = 32768.0 * (double)(1u << i);
        points[i].time_s = startup + slope * points[i].size;
    }
    assert_ok(segment ? gw_fit_segment(points, sizes, fitted, NULL)
                      : gw_fit_curve(GW_STRAIGHT, points, sizes, fitted, NULL));
    assert_ok(gw_fit_intervals(fitted, points, NULL, sizes, out, NULL));
}

/* Exact points have intervals of no width, and three points do not show a scatter. */
TEST(exact_points_have_exact_intervals) {
    static const struct {
        double startup, slope;
        bool segment;
    } lines[] = {{1e-4, 1e-9, false}, {-2e-5, 1e-9, true}};
    for (size_t i = 0; i < 2; i++) {
        double startup = lines[i].startup;
        struct gw_fit fitted;
        struct gw_fit_interval interval;
        interval_of_line(startup, lines[i].slope, lines[i].segment, 8, &fitted, &interval);
        assert_true(interval.known);
        assert_true(fabs(interval.startup_low - startup) < 1e-9 * fabs(startup));
        assert_true(fabs(interval.startup_high - startup) < 1e-9 * fabs(startup));
        assert_true(near(interval.slope_low, 1e-9, 1e-6) && near(interval.slope_high, 1e-9, 1e-6));
        interval_of_line(startup, lines[i].slope, lines[i].segment, 3, &fitted, &interval);
        assert_false(interval.known);
    }
}

/* Exact lines with a coefficient that is not allowed: the other one is all that is stored. */
TEST(a_dropped_coefficient_is_zero_at_most) {
    struct gw_fit fitted;
    struct gw_fit_interval interval;
    interval_of_line(-2e-5, 1e-9, false, 8, &fitted, &interval);
    assert_true(near(interval.startup_low, 0, 0) && near(interval.startup_high, 0, 0));
    assert_true(interval.slope_low < fitted.curve.per_unit_s);
    assert_true(fitted.curve.per_unit_s < interval.slope_high);
    interval_of_line(1e-4, -1e-12, true, 8, &fitted, &interval);
    assert_true(near(interval.slope_low, 0, 0) && near(interval.slope_high, 0, 0));
    assert_true(interval.startup_low < fitted.curve.fixed_s);
    assert_true(fitted.curve.fixed_s < interval.startup_high);
}

/* The interval of a line that may start below zero is the whole line's. */
TEST(a_dropped_startup_ends_where_the_whole_line_says) {
    enum { ROUNDS = 200 };
    const struct scene scene = {.name = "no startup",
                                .slope = 1e-9,
                                .smallest = 1024,
                                .sizes = 15,
                                .repeats = 40,
                                .noise = 0.05,
                                .small_noise = 0.05,
                                .between = 0.02};
    int dropped = 0;
    double width = 0;
    double whole_width = 0;
    struct gw_random *random = random_stream(4);
    int rounds = gw_trials(ROUNDS);
    for (int round = 0; round < rounds; round++) {
        struct gw_curve_point points[MOST_SIZES];
        double errors[MOST_SIZES];
        struct gw_fit fits[2];
        struct gw_fit_interval own;
        struct gw_fit_interval whole;
        measure(&scene, random, points, errors);
        assert_ok(gw_fit_curve(GW_STRAIGHT, points, scene.sizes, &fits[0], NULL));
        assert_ok(gw_fit_segment(points, scene.sizes, &fits[1], NULL));
        assert_ok(gw_fit_intervals(&fits[0], points, errors, scene.sizes, &own, NULL));
        assert_ok(gw_fit_intervals(&fits[1], points, errors, scene.sizes, &whole, NULL));
        assert_true(near(own.startup_low, fmax(0, whole.startup_low), 0));
        assert_true(near(own.startup_high, fmax(0, whole.startup_high), 0));
        if (fits[1].curve.fixed_s < 0) {
            dropped++;
            width += own.slope_high - own.slope_low;
            whole_width += whole.slope_high - whole.slope_low;
        }
    }
    print_message("%d of %d startups dropped; their slopes' intervals are %.2f as wide\n", dropped,
                  rounds, width / whole_width);
    assert_true(fabs((double)dropped / rounds - 0.5) <= 0.2 * widening(ROUNDS) + 1e-9);
    assert_true(width < 0.97 * whole_width);
}

/* Against how much medians of as many values scatter. */
TEST(a_median_has_its_standard_error) {
    enum { MOST = 200, ROUNDS = 2000 };
    static const size_t counts[] = {8, 15, 40, MOST};
    struct gw_random *random = random_stream(3);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        struct gw_running medians = {0};
        struct gw_running errors = {0};
        for (int round = 0, rounds = gw_trials(ROUNDS); round < rounds; round++) {
            double values[MOST];
            struct gw_summary summary;
            for (size_t i = 0; i < counts[c]; i++) {
                values[i] = 10 + gw_random_normal(random, 0.5);
            }
            assert_ok(gw_summarise_bootstrap(values, counts[c], 1, random, &summary, NULL));
            gw_running_add(&medians, summary.median);
            gw_running_add(&errors, gw_summary_standard_error(&summary));
        }
        double scatter = gw_running_sd(&medians) / medians.mean;
        print_message("%zu values: standard error %.2f of the scatter\n", counts[c],
                      errors.mean / scatter);
        assert_true(near(errors.mean, scatter, 0.2));
    }
}

/* Normal quantiles of 2.5%, and of what a range of so few values leaves on either side. */
TEST(an_interval_has_its_level) {
    static const double quantiles[] = {0, 0, 0.674490, 1.150349, 1.534121, 1.862732, 1.959964};
    for (size_t n = 2; n <= 60; n++) {
        struct gw_summary summary = {
            .count = n, .median = 10, .median_low = 9.8, .median_high = 10.2};
        double quantile = quantiles[n < 6 ? n : 6];
        assert_true(near(gw_summary_standard_error(&summary), 0.02 / quantile, 1e-6));
    }
    struct gw_summary single = {.count = 1, .median = 3, .median_low = 3, .median_high = 3};
    assert_true(near(gw_summary_standard_error(&single), 0, 0));
}
