/* Costs for numbers of workers that were not measured, from truths that grow by known laws. */
#include "tests/test.h"
#include "traces/growth.h"

static void find_growth(const struct gw_cluster *cluster, const char *collective,
                        struct gw_growth *out) {
    const struct gw_growth *found = gw_cluster_growth(cluster, collective);
    assert_non_null(found);
    *out = *found;
}

enum { SIZES = 13 };

/* A collective's true time: startup(P) + slope(P) n, times a shape that all P share. */
struct truth {
    const char *collective;
    double (*startup)(double workers);
    double (*slope)(double workers);
    double jump; /* factor on sizes above 16 KiB; 1: straight */
};

static double log_startup(double workers) {
    return 2e-5 * log2(workers);
}

static double called_startup(double workers) {
    return 4e-5 + 1e-5 * log2(workers);
}

static double step_startup(double workers) {
    return 3e-5 * (workers - 1);
}

static double step_slope(double workers) {
    return 8e-9 * (workers - 1);
}

static double share_slope(double workers) {
    return 1.6e-8 * (workers - 1) / workers;
}

static double log_slope(double workers) {
    return 8e-9 * log2(workers);
}

static const struct truth truths[] = {
    {"allgather", step_startup, step_slope, 1},  {"allgather", log_startup, step_slope, 1},
    {"allgather", log_startup, step_slope, 1.5}, {"allreduce", log_startup, share_slope, 1},
    {"allreduce", step_startup, share_slope, 2}, {"broadcast", log_startup, log_slope, 1},
    {"gather", log_startup, step_slope, 1},      {"reduce", log_startup, share_slope, 1.3},
};

enum { TRUTHS = sizeof truths / sizeof *truths };

static double time_of(const struct truth *truth, size_t workers, double size) {
    double p = (double)workers;
    double time = truth->startup(p) + truth->slope(p) * size;
    return size > 16384 ? truth->jump * time : time;
}

/* Straight truths as lines, others as points at 1 KiB, 2 KiB, ...; each with noise of its own. */
static void add(struct gw_cluster *cluster, const struct truth *truth, size_t workers, double noise,
                struct gw_random *random) {
    struct gw_curve curve = {0};
    double p = (double)workers;
    if (truth->jump > 1) {
        curve.point_count = SIZES;
        curve.points = calloc(SIZES, sizeof *curve.points);
        assert_non_null(curve.points);
        for (size_t i = 0; i < SIZES; i++) {
            double size = 1024.0 * (double)(1u << i);
            curve.points[i] = (struct gw_curve_point){.size = size,
                                                      .time_s = time_of(truth, workers, size) *
                                                                gw_random_noise(random, noise)};
        }
    } else {
        curve.fixed_s = truth->startup(p) * gw_random_noise(random, noise);
        curve.per_unit_s = truth->slope(p) * gw_random_noise(random, noise);
    }
    assert_ok(gw_cluster_add_collective(cluster, truth->collective, workers, curve, NULL, NULL));
}

/* Measured in any order. */
static void measure(struct gw_cluster *cluster, const struct truth *truth, const size_t *workers,
                    size_t count, double noise, struct gw_random *random) {
    assert_ok(gw_cluster_create(cluster, "c", workers[count - 1], 1, NULL));
    for (size_t i = count; i-- > 0;) {
        add(cluster, truth, workers[i], noise, random);
    }
    assert_ok(gw_cluster_find_growth(cluster, NULL));
}

/* The mean relative error over the sizes. */
static double error_of(const struct gw_cluster *cluster, const struct truth *truth,
                       size_t workers) {
    struct gw_curve curve;
    char derivation[GW_DERIVATION_SIZE];
    double sum = 0;
    assert_ok(gw_cluster_collective(cluster, truth->collective, workers, &curve, derivation, NULL));
    for (size_t i = 0; i < SIZES; i++) {
        double size = 1024.0 * (double)(1u << i);
        double expected = time_of(truth, workers, size);
        sum += fabs(gw_curve_time(&curve, size) - expected) / expected / SIZES;
    }
    gw_curve_free(&curve);
    return sum;
}

/*
 * Lines exactly. A jump leaves it open what is startup and what is slope: up to twice the largest
 * measured number of workers that does not tell much.
 */
TEST(exact_measurements_are_extrapolated) {
    static const size_t measured[] = {2, 3, 4, 8, 16};
    struct gw_random *random = random_stream(1);
    for (size_t t = 0; t < TRUTHS; t++) {
        for (size_t count = 2; count <= 5; count++) {
            struct gw_cluster cluster;
            measure(&cluster, &truths[t], measured, count, 0, random);
            const size_t asked[] = {2, 3, 5, 6, 16, 64, 1024};
            for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
                double error = error_of(&cluster, &truths[t], asked[i]);
                bool far = asked[i] > 2 * measured[count - 1];
                assert_true(truths[t].jump > 1 ? far || error < 0.12 : error < 1e-6);
            }
            gw_cluster_free(&cluster);
        }
    }
}

TEST(sums_of_two_terms_are_found) {
    static const size_t measured[] = {2, 3, 4, 6, 8};
    const struct truth truth = {"allgather", called_startup, step_slope, 1};
    struct gw_random *random = random_stream(2);
    struct gw_cluster cluster;
    struct gw_growth growth;
    char name[GW_GROWTH_NAME_SIZE];
    measure(&cluster, &truth, measured, 5, 0, random);
    find_growth(&cluster, "allgather", &growth);
    assert_int_equal(growth.count, 5);
    assert_string_equal(gw_growth_law_name(&growth.startup, name), "constant + log2 P");
    assert_true(near(growth.startup.coefficients[0], 4e-5, 1e-6));
    assert_true(near(growth.startup.coefficients[1], 1e-5, 1e-6));
    assert_string_equal(gw_growth_law_name(&growth.slope, name), "P-1");
    assert_true(near(growth.slope.coefficients[0], 8e-9, 1e-6));
    assert_true(growth.left_out_error < 1e-6);
    assert_true(error_of(&cluster, &truth, 100) < 1e-6);
    gw_cluster_free(&cluster);
}

/*
 * The target: 8 workers from 2 and 4 within 10%, at the 3% to which measurements repeat. Fewer
 * rounds are given two deviations of their count.
 */
TEST(noisy_measurements_are_extrapolated_within_a_tenth) {
    int rounds = gw_trials(200);
    static const size_t measured[] = {2, 4};
    struct gw_random *random = random_stream(3);
    print_message("| law | 8 workers within 10%% | off in the mean |\n| --- | ---: | ---: |\n");
    for (size_t t = 0; t < TRUTHS; t++) {
        int good = 0;
        double sum = 0;
        for (int round = 0; round < rounds; round++) {
            struct gw_cluster cluster;
            measure(&cluster, &truths[t], measured, 2, 0.03, random);
            double error = error_of(&cluster, &truths[t], 8);
            good += error < 0.1;
            sum += error / rounds;
            gw_cluster_free(&cluster);
        }
        print_message("| %s %zu | %d of %d | %.1f%% |\n", truths[t].collective, t, good, rounds,
                      100 * sum);
        double spared = rounds < 200 ? 2 * sqrt(0.85 * 0.15 * rounds) : 0;
        assert_true(good >= 0.85 * rounds - spared);
    }
}

/*
 * From 2, 3, 4, 8 workers to 16 and 64: what is said to be uncertain is about as far off as it is.
 */
TEST(uncertainty_is_of_the_errors_size) {
    int rounds = gw_trials(100) < 20 ? 20 : gw_trials(100);
    static const size_t measured[] = {2, 3, 4, 8};
    static const size_t asked[] = {6, 16, 64};
    struct gw_random *random = random_stream(4);
    print_message("| workers | off in the mean | said |\n| ---: | ---: | ---: |\n");
    for (size_t a = 0; a < 3; a++) {
        double said = 0;
        double errors = 0;
        for (int round = 0; round < rounds; round++) {
            const struct truth *truth = &truths[round % TRUTHS];
            struct gw_cluster cluster;
            double uncertainty = 0;
            measure(&cluster, truth, measured, 4, 0.03, random);
            uncertainty = gw_cluster_uncertainty(&cluster, truth->collective, asked[a]);
            errors += error_of(&cluster, truth, asked[a]) / rounds;
            said += uncertainty / rounds;
            gw_cluster_free(&cluster);
        }
        print_message("| %zu | %.1f%% | %.1f%% |\n", asked[a], 100 * errors, 100 * said);
        assert_true(said > 0.5 * errors && said < 6 * errors);
    }
}

/* Whatever is measured: no time is negative, and between measured ones that grow it stays between.
 */
TEST(predictions_stay_sane) {
    int rounds = gw_trials(300);
    struct gw_random *random = random_stream(5);
    for (int round = 0; round < rounds; round++) {
        struct gw_cluster cluster;
        assert_ok(gw_cluster_create(&cluster, "c", 16, 1, NULL));
        double low = 0;
        for (size_t workers = 2; workers <= 16; workers *= 2) {
            struct gw_curve curve = {.point_count = 3, .points = calloc(3, sizeof *curve.points)};
            assert_non_null(curve.points);
            low += gw_random_uniform(random);
            for (int i = 0; i < 3; i++) {
                double above = gw_random_uniform(random) < 0.1 ? 0 : gw_random_uniform(random);
                curve.points[i] = (struct gw_curve_point){.size = 100.0 * (1 + i),
                                                          .time_s = low * (1 + i) + 0.1 * above};
            }
            assert_ok(gw_cluster_add_collective(&cluster, "allgather", workers, curve, NULL, NULL));
        }
        assert_ok(gw_cluster_find_growth(&cluster, NULL));
        for (size_t workers = 2; workers <= 40; workers++) {
            struct gw_curve curve;
            char derivation[GW_DERIVATION_SIZE];
            assert_ok(
                gw_cluster_collective(&cluster, "allgather", workers, &curve, derivation, NULL));
            for (size_t i = 0; i < curve.point_count; i++) {
                double time = curve.points[i].time_s;
                assert_true(isfinite(time) && time >= 0);
                size_t below = (size_t)floor(log2((double)workers)) - 1;
                if (workers < 16) {
                    double size = curve.points[i].size;
                    double floor_s = gw_curve_time(&cluster.collectives[below].curve, size);
                    double roof_s = gw_curve_time(&cluster.collectives[below + 1].curve, size);
                    assert_true(floor_s > roof_s ||
                                (time >= floor_s * (1 - 1e-12) && time <= roof_s * (1 + 1e-12)));
                }
            }
            gw_curve_free(&curve);
        }
        gw_cluster_free(&cluster);
    }
}

/*
 * From 2 to 4 workers log2 P doubles and P - 1 triples: a factor just above the root of 6 is
 * predicted a little better by P - 1, but by less than one could tell.
 */
TEST(near_ties_go_to_the_usual_law) {
    static const struct {
        const char *collective, *law;
    } table[] = {{"broadcast", "log2 P"}, {"gather", "P-1"}};
    for (size_t i = 0; i < 2; i++) {
        struct gw_cluster cluster;
        struct gw_growth growth;
        char name[GW_GROWTH_NAME_SIZE];
        double factor = sqrt(6) * (i == 0 ? 1.001 : 0.999);
        struct gw_curve two = {.fixed_s = 1e-3, .per_unit_s = 1e-15};
        struct gw_curve four = {.fixed_s = factor * 1e-3, .per_unit_s = factor * 1e-15};
        assert_ok(gw_cluster_create(&cluster, "c", 4, 1, NULL));
        assert_ok(gw_cluster_add_collective(&cluster, table[i].collective, 2, two, NULL, NULL));
        assert_ok(gw_cluster_add_collective(&cluster, table[i].collective, 4, four, NULL, NULL));
        assert_ok(gw_cluster_find_growth(&cluster, NULL));
        find_growth(&cluster, table[i].collective, &growth);
        assert_string_equal(gw_growth_law_name(&growth.startup, name), table[i].law);
        gw_cluster_free(&cluster);
    }
}

TEST(derivations_say_how_uncertain_they_are) {
    static const size_t measured[] = {2, 3, 4, 8};
    struct gw_random *random = random_stream(7);
    struct gw_cluster cluster;
    struct gw_curve curve;
    char derivation[GW_DERIVATION_SIZE];
    double uncertainty = 1;
    measure(&cluster, &truths[0], measured, 4, 0.02, random);
    assert_ok(gw_cluster_collective(&cluster, "allgather", 64, &curve, derivation, NULL));
    gw_curve_free(&curve);
    print_message("%s\n", derivation);
    assert_non_null(strstr(derivation, "allgather: 64 workers not measured; from 2, 3, 4, 8 by"));
    assert_non_null(
        strstr(derivation, "when each measured one is left out; 8x beyond the largest"));
    assert_ok(gw_cluster_collective(&cluster, "allgather", 8, &curve, derivation, NULL));
    gw_curve_free(&curve);
    assert_string_equal(derivation, "");
    uncertainty = gw_cluster_uncertainty(&cluster, "allgather", 8);
    assert_true(near(uncertainty, 0, 0));
    gw_cluster_free(&cluster);
    measure(&cluster, &truths[0], measured, 1, 0, random);
    uncertainty = gw_cluster_uncertainty(&cluster, "allgather", 8);
    assert_true(isnan(uncertainty));
    gw_cluster_free(&cluster);
}

/* Messages need no law; where there is nothing about them, they can't be recommended. */
TEST(far_extrapolation_recommends_messages) {
    static const size_t measured[] = {2, 4, 8};
    static const size_t asked[] = {3, 16, 17, 1024};
    for (int with_network = 0; with_network < 2; with_network++) {
        struct gw_random *random = random_stream(9);
        struct gw_cluster cluster;
        measure(&cluster, &truths[0], measured, 3, 0.02, random);
        if (with_network) {
            struct gw_network network = {.between.gap_s_per_byte = 1e-9, .oversubscription = 1};
            assert_ok(gw_cluster_set_network(&cluster, network, NULL));
        }
        for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
            struct gw_curve curve;
            char derivation[GW_DERIVATION_SIZE];
            assert_ok(
                gw_cluster_collective(&cluster, "allgather", asked[i], &curve, derivation, NULL));
            gw_curve_free(&curve);
            assert_non_null(strstr(derivation, "not measured"));
            assert_int_equal(strstr(derivation, "use --network messages") != NULL,
                             with_network && asked[i] > 2 * 8);
        }
        gw_cluster_free(&cluster);
    }
}

/* Truths that laws meet exactly: what is left is how good the curves are, and 1% at least. */
TEST(exact_laws_are_as_uncertain_as_the_curves) {
    static const char *const texts[] = {"{}",
                                        "{'fit': {'held_out_error': 0}}",
                                        "{'fit': {'held_out_error': 0.004}}",
                                        "{'fit': {'held_out_error': 0.07}}",
                                        "{'fit': {'held_out_error': 1e999}}",
                                        "{'fit': {'held_out_error': -3}}",
                                        "{'fit': {'held_out_error': 'no'}}",
                                        "{'fit': 7}"};
    static const double expected[] = {0.01, 0.01, 0.01, 0.07, 1, 0.01, 0.01, 0.01};
    static const size_t asked[] = {3, 8, 16};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        for (size_t i = 0; i < 2 * 3; i++) {
            struct gw_cluster cluster;
            double uncertainty = 0;
            assert_ok(gw_cluster_create(&cluster, "c", 4, 1, NULL));
            for (size_t workers = 2; workers <= 4; workers *= 2) {
                double p = (double)workers;
                struct gw_curve curve = {.fixed_s = step_startup(p), .per_unit_s = step_slope(p)};
                bool told = (workers == 4) == (i % 2 == 0); /* of one of the two */
                char text[64];
                (void)snprintf(text, sizeof text, "%s", told ? texts[t] : "{}");
                for (char *c = strchr(text, '\''); c != NULL; c = strchr(c, '\'')) {
                    *c = '"';
                }
                assert_ok(gw_cluster_add_collective(&cluster, "allgather", workers, curve,
                                                    cJSON_Parse(text), NULL));
            }
            assert_ok(gw_cluster_find_growth(&cluster, NULL));
            uncertainty = gw_cluster_uncertainty(&cluster, "allgather", asked[i / 2]);
            double steps = asked[i / 2] == 16 ? 2 : 1;
            assert_true(near(uncertainty, steps * expected[t], 1e-9));
            gw_cluster_free(&cluster);
        }
    }
}

TEST(laws_are_kept_for_readers) {
    static const size_t measured[] = {2, 4, 8};
    struct gw_random *random = random_stream(8);
    struct gw_cluster cluster;
    measure(&cluster, &truths[1], measured, 3, 0, random);
    add(&cluster, &truths[3], 4, 0, random);
    for (int again = 0; again < 2; again++) {
        assert_ok(gw_cluster_put_growth(&cluster, NULL));
        const cJSON *growth = cJSON_GetObjectItem(cluster.kept, "growth");
        assert_int_equal(cJSON_GetArraySize(growth), 1);
        const cJSON *allgather = cJSON_GetObjectItem(growth, "allgather");
        const cJSON *startup = cJSON_GetObjectItem(allgather, "startup");
        const cJSON *bandwidth = cJSON_GetObjectItem(allgather, "bandwidth");
        assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(allgather, "workers")), 3);
        assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(bandwidth, "law")), "P-1");
        assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(startup, "law")), "log2 P");
        assert_true(cJSON_IsNumber(cJSON_GetObjectItem(allgather, "left_out_error")));
    }
    gw_cluster_free(&cluster);
}

/* ---- times beyond measure -------------------------------------------------------------------- */

/* Readers refuse such times; who builds a cluster, or scales one, may come to them all the same. */
TEST(laws_are_chosen_of_times_that_overflow) {
    const double slopes_s[] = {1e300, 1e-320, 1e308};
    for (size_t i = 0; i < sizeof slopes_s / sizeof *slopes_s; i++) {
        struct gw_cluster cluster;
        struct gw_curve curve = {0};
        char derivation[GW_DERIVATION_SIZE];
        assert_ok(gw_cluster_create(&cluster, "vast", 4, 1, NULL));
        for (size_t workers = 2; workers <= 4; workers++) {
            const struct gw_curve cost = {.fixed_s = slopes_s[i], .per_unit_s = slopes_s[i]};
            assert_ok(gw_cluster_add_collective(&cluster, "allreduce", workers, cost, NULL, NULL));
        }
        assert_ok(gw_cluster_find_growth(&cluster, NULL));
        assert_ok(gw_cluster_collective(&cluster, "allreduce", 8, &curve, derivation, NULL));
        gw_curve_free(&curve);
        gw_cluster_free(&cluster);
    }
}
