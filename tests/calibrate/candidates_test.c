/* The choice of a kind of curve, over many simulated calibrations of a known truth. */
#include "calibrate/fit/fit.h"
#include "tests/test.h"

enum { CALIBRATIONS = 400, MOST_SIZES = 16 };

typedef double truth(double size);

static double straight(double size) {
    return 1e-4 + 1e-9 * size;
}

/* Mostly startup: a line that is nearly flat over half of the sizes. */
static double steep(double size) {
    return 2e-3 + 1e-9 * size;
}

static double nlog2n(double size) {
    return 2e-5 + 5e-10 * size * log2(size);
}

/* A jump of a half where rendezvous begins, and a better rate behind it. */
static double rendezvous(double size) {
    return size <= 65536 ? 5e-5 + 4e-9 * size : 3e-4 + 2.5e-9 * size;
}

/* Two lines that meet: twice the time a byte once a cache is full. */
static double meeting(double size) {
    return 2e-5 + 4e-10 * size + 8e-10 * fmax(0, size - 262144);
}

/* No line for long. */
static double power(double size) {
    return 1e-6 * pow(size / 1024, 0.6);
}

/* Another protocol at every sixteenfold size, each at its own distance from the rate. */
static double stepped(double size) {
    static const double factors[] = {1, 3, 1.2, 2.5};
    return (1e-4 + 2e-9 * size) * factors[(size_t)(log2(size / 1024) / 4)];
}

/* Slower and slower where memory no longer holds what is worked on: at the large sizes alone. */
static double late(double size) {
    return straight(size) * pow(fmax(1, size / (1 << 22)), 0.8);
}

struct scene {
    const char *name;
    truth *truth;
    size_t sizes;
    double noise;
    bool compressor; /* n log2 n is a candidate */
    enum gw_candidate_kind expected;
    double rate; /* of calibrations at least that choose it */
};

/* 0.95 is asked for; three standard deviations of 400 draws less must not fail by chance. */
static const struct scene scenes[] = {
    {"straight, 1%", straight, 15, 0.01, false, GW_CANDIDATE_STRAIGHT, 0.92},
    {"straight, 5%", straight, 15, 0.05, false, GW_CANDIDATE_STRAIGHT, 0.92},
    {"straight, 8 sizes", straight, 8, 0.02, false, GW_CANDIDATE_STRAIGHT, 0.92},
    {"straight, or n log n", straight, 15, 0.03, true, GW_CANDIDATE_STRAIGHT, 0.92},
    {"mostly startup", steep, 15, 0.02, false, GW_CANDIDATE_STRAIGHT, 0.92},
    {"n log n", nlog2n, 14, 0.03, true, GW_CANDIDATE_NLOG2N, 0.92},
    {"rendezvous", rendezvous, 15, 0.02, false, GW_CANDIDATE_TWO_SEGMENT, 0.92},
    {"meeting lines", meeting, 15, 0.02, false, GW_CANDIDATE_TWO_SEGMENT, 0.92},
    {"late", late, 15, 0.05, false, GW_CANDIDATE_TWO_SEGMENT, 0.7},
    {"power", power, 15, 0.02, false, GW_CANDIDATE_POINTS, 0.92},
    {"stepped", stepped, 15, 0.02, false, GW_CANDIDATE_POINTS, 0.92},
};

/* Sizes 1 KiB, 2 KiB, ...; one in a hundred was disturbed throughout. */
static void measure(const struct scene *scene, struct gw_random *random,
                    struct gw_curve_point *points) {
    for (size_t i = 0; i < scene->sizes; i++) {
        double size = 1024.0 * (double)(1u << i);
        double noise = exp(gw_random_normal(random, scene->noise));
        noise *= gw_random_uniform(random) < 0.01 ? 1.3 : 1;
        points[i] = (struct gw_curve_point){.size = size, .time_s = scene->truth(size) * noise};
    }
}

static void choose(const struct gw_curve_point *points, size_t count, bool compressor,
                   struct gw_candidate candidates[GW_CANDIDATE_KINDS],
                   enum gw_candidate_kind *chosen) {
    bool wanted[GW_CANDIDATE_KINDS] = {true, compressor, true, true};
    assert_ok(gw_candidates_open(wanted, points, count, candidates, chosen, NULL));
}

TEST(the_truth_is_chosen) {
    struct gw_random *random = open_random(1);
    print_message("| truth | straight | nlog2n | two-segment | points |\n"
                  "| --- | ---: | ---: | ---: | ---: |\n");
    for (size_t s = 0; s < sizeof scenes / sizeof *scenes; s++) {
        const struct scene *scene = &scenes[s];
        int chose[GW_CANDIDATE_KINDS] = {0};
        for (int c = 0; c < CALIBRATIONS; c++) {
            struct gw_curve_point points[MOST_SIZES];
            struct gw_candidate candidates[GW_CANDIDATE_KINDS];
            enum gw_candidate_kind chosen;
            measure(scene, random, points);
            choose(points, scene->sizes, scene->compressor, candidates, &chosen);
            chose[chosen]++;
            gw_candidates_close(candidates);
        }
        print_message("| %s | %d | %d | %d | %d |\n", scene->name, chose[0], chose[1], chose[2],
                      chose[3]);
        assert_true(chose[scene->expected] >= scene->rate * CALIBRATIONS);
    }
    gw_random_close(random);
}

/*
 * Exact top-k by five ranks on two processors: small sizes, in which ranks wait to be woken, miss
 * the line between their neighbours by a sixth, and the largest one a line through all by a third.
 */
TEST(noise_of_small_sizes_excuses_no_large_one) {
    struct gw_curve_point points[] = {{1 << 18, 0.68e-3}, {1 << 19, 1.23e-3}, {1 << 20, 3.33e-3},
                                      {1 << 21, 5.09e-3}, {1 << 22, 10.9e-3}, {1 << 23, 16.1e-3},
                                      {1 << 24, 28.8e-3}, {1 << 25, 53.5e-3}};
    struct gw_candidate candidates[GW_CANDIDATE_KINDS];
    enum gw_candidate_kind chosen;
    choose(points, 8, true, candidates, &chosen);
    assert_true(near(gw_curve_time(&candidates[chosen].curve, 1 << 25), 53.5e-3, 0.05));
    gw_candidates_close(candidates);
}

/*
 * A busy machine: sizes up to 64 KiB are off by half, larger ones by no more than 0.3%, and a line
 * through all of them is faster than those by a fifth.
 */
TEST(a_line_through_noise_is_not_one_of_large_sizes) {
    static const double busy[] = {2.1, 0.6, 1.7, 0.5, 1.9, 0.7, 1.6};
    struct gw_curve_point points[12];
    struct gw_candidate candidates[GW_CANDIDATE_KINDS];
    enum gw_candidate_kind chosen;
    for (size_t i = 0; i < 12; i++) {
        double size = 1024.0 * (double)(1u << i);
        double time_s = i < 7 ? busy[i] * (2e-4 + 4e-9 * size)
                              : (i % 2 == 0 ? 1.003 : 0.997) * (9e-9 * size - 3e-4);
        points[i] = (struct gw_curve_point){.size = size, .time_s = time_s};
    }
    choose(points, 12, false, candidates, &chosen);
    const struct gw_curve *straight_curve = &candidates[GW_CANDIDATE_STRAIGHT].curve;
    assert_true(gw_curve_time(straight_curve, 1 << 21) < 0.9 * points[11].time_s);
    assert_true(near(gw_curve_time(&candidates[chosen].curve, 1 << 21), points[11].time_s, 0.01));
    gw_candidates_close(candidates);
}

/* Without noise: the break is found where it is, and both lines are what they were. */
TEST(a_break_is_found) {
    for (size_t first = 3; first <= 12; first++) {
        struct gw_curve_point points[15];
        struct gw_candidate candidates[GW_CANDIDATE_KINDS];
        enum gw_candidate_kind chosen;
        for (size_t i = 0; i < 15; i++) {
            double size = 1024.0 * (double)(1u << i);
            double time = i < first ? 5e-5 + 4e-9 * size : 3e-4 + 2e-9 * size;
            points[i] = (struct gw_curve_point){.size = size, .time_s = time};
        }
        choose(points, 15, false, candidates, &chosen);
        const struct gw_candidate *two = &candidates[GW_CANDIDATE_TWO_SEGMENT];
        assert_int_equal(two->first_count, first);
        assert_true(near(two->fits[0].curve.fixed_s, 5e-5, 1e-6));
        assert_true(near(two->fits[0].curve.per_unit_s, 4e-9, 1e-6));
        assert_true(near(two->fits[1].curve.fixed_s, 3e-4, 1e-6));
        assert_true(near(two->fits[1].curve.per_unit_s, 2e-9, 1e-6));
        assert_int_equal(two->curve.point_count, 4);
        for (size_t i = 0; i < 15; i++) {
            assert_true(near(gw_curve_time(&two->curve, points[i].size), points[i].time_s, 1e-9));
        }
        gw_candidates_close(candidates);
    }
}

/* Worked out by hand: of four sizes the inner two are predicted from their neighbours. */
TEST(held_out_sizes_are_predicted_from_the_others) {
    const struct gw_curve_point points[] = {{1, 10}, {2, 14}, {4, 16}, {8, 24}};
    struct gw_candidate candidates[GW_CANDIDATE_KINDS];
    enum gw_candidate_kind chosen;
    choose(points, 4, false, candidates, &chosen);
    const struct gw_candidate *kept = &candidates[GW_CANDIDATE_POINTS];
    assert_int_equal(kept->held_out, 2);
    assert_true(near(fabs(kept->residuals[0]), 2.0 / 14, 1e-12)); /* 12 between 10 and 16 */
    assert_true(near(fabs(kept->residuals[1]), (52.0 / 3 - 16) / 16, 1e-12)); /* 14 + 10 / 3 */
    assert_true(near(kept->held_out_mean, (2.0 / 14 + (52.0 / 3 - 16) / 16) / 2, 1e-12));
    assert_true(near(kept->held_out_max, 2.0 / 14, 1e-12));
    assert_false(candidates[GW_CANDIDATE_TWO_SEGMENT].fitted);
    assert_false(candidates[GW_CANDIDATE_NLOG2N].fitted);
    assert_int_equal(chosen, GW_CANDIDATE_STRAIGHT);
    gw_candidates_close(candidates);
}
