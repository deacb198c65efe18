/* libgradweave through its public header alone, as someone who embeds it would use it. */
#include "tests/test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gradweave.h>

static const uint64_t elements[] = {9408, 64, 2048000, 1000};
static const double backward_s[] = {0.0012, 0.0001, 0.0030, 0.0001};
static const struct gradweave_network network = {.tensor_count = 4,
                                                 .elements = elements,
                                                 .backward_s = backward_s,
                                                 .forward_s = 0.002,
                                                 .bytes_per_element = 4};
static const struct gradweave_costs sparse = {.density = 0.001,
                                              .exchange = {.startup_s = 1e-3, .per_unit_s = 1e-8},
                                              .compress = {.per_unit_s = 1e-9}};

/* Groups of all four tensors that end where `lasts` says. */
static void check_groups(const struct gradweave_group *groups, const size_t *lasts, size_t count) {
    size_t first = 3;
    for (size_t g = 0; g < count; g++) {
        assert_int_equal(groups[g].first, first);
        assert_int_equal(groups[g].last, lasts[g]);
        first = lasts[g] - 1;
    }
}

TEST(plans_in_a_few_lines) {
    struct gradweave_group groups[4];
    struct gradweave_plan plan;
    struct gradweave_error error = {0};
    assert_int_equal(gradweave_plan(&network, &sparse, "single", groups, &plan, &error),
                     GRADWEAVE_OK);
    assert_int_equal(plan.group_count, 1);
    check_groups(groups, (const size_t[]){0}, 1);
    /* 2,058,472 elements, of which 2,058 are kept, 8 bytes each. */
    double expected = 0.002 + 0.0044 + 2058472e-9 + 1e-3 + 16464e-8;
    assert_true(fabs(plan.iteration_s - expected) < 1e-12);
    assert_true(plan.lower_bound_s <= plan.iteration_s);
    assert_int_equal(gradweave_plan(&network, &sparse, "threshold:5000", groups, &plan, &error),
                     GRADWEAVE_OK);
    assert_int_equal(plan.group_count, 2);
    check_groups(groups, (const size_t[]){2, 0}, 2);
    assert_int_equal(gradweave_plan(&network, &sparse, "optimal", groups, &plan, &error),
                     GRADWEAVE_OK);
    assert_true(plan.lower_bound_s == plan.iteration_s);
    assert_true(plan.iteration_s < expected);
}

/* Points on a straight line cost what the line does; without bytes_per_element it is a float's. */
TEST(plans_with_measured_points) {
    static const struct gradweave_point points[] = {{1e3, 1e-3 + 1e-5}, {1e6, 1e-3 + 1e-2}};
    struct gradweave_group groups[4];
    struct gradweave_plan straight;
    struct gradweave_plan measured;
    struct gradweave_costs dense = {.density = 1,
                                    .exchange = {.startup_s = 1e-3, .per_unit_s = 1e-8}};
    assert_int_equal(gradweave_plan(&network, &dense, "optimal", groups, &straight, NULL),
                     GRADWEAVE_OK);
    struct gradweave_network of_floats = network;
    of_floats.bytes_per_element = 0;
    dense.exchange = (struct gradweave_curve){.points = points, .point_count = 2};
    assert_int_equal(gradweave_plan(&of_floats, &dense, "optimal", groups, &measured, NULL),
                     GRADWEAVE_OK);
    assert_int_equal(measured.group_count, straight.group_count);
    assert_true(fabs(measured.iteration_s - straight.iteration_s) < 1e-12);
    struct gradweave_costs compressed = sparse;
    compressed.compress = (struct gradweave_curve){.points = points, .point_count = 2};
    assert_int_equal(gradweave_plan(&network, &compressed, "single", groups, &measured, NULL),
                     GRADWEAVE_OK);
    double compress_s = 1e-3 + 2058472e-8;
    assert_true(fabs(measured.iteration_s - (0.002 + 0.0044 + compress_s + 1e-3 + 16464e-8)) <
                1e-12);
}

static void check_refused(const struct gradweave_network *asked,
                          const struct gradweave_costs *costs, const char *policy,
                          const char *message) {
    struct gradweave_group groups[4];
    struct gradweave_plan plan;
    struct gradweave_error error;
    assert_int_equal(gradweave_plan(asked, costs, policy, groups, &plan, &error),
                     GRADWEAVE_BAD_INPUT);
    if (strstr(error.message, message) == NULL) {
        fail_msg("expected \"%s\" in: %s", message, error.message);
    }
}

static void check_refused_points(const struct gradweave_point *points, size_t count,
                                 const char *message) {
    struct gradweave_costs costs = sparse;
    costs.compress = (struct gradweave_curve){.points = points, .point_count = count};
    check_refused(&network, &costs, "single", message);
}

TEST(refuses_points_that_make_no_sense) {
    static const struct gradweave_point falling[] = {{1, 1}, {3, 1}, {2, 1}};
    static const struct gradweave_point equal[] = {{1, 1}, {1, 2}};
    static const struct gradweave_point nowhere[] = {{0, 1}, {1, 1}};
    static const struct gradweave_point endless[] = {{1, 1}, {INFINITY, 1}};
    static const struct gradweave_point early[] = {{1, 1}, {2, -1}};
    check_refused_points(falling, 1, "compress.point_count: expected none or at least 2, got 1");
    check_refused_points(
        falling, 3, "compress.points[2].size: expected a number above 3 and at most 2^53, got 2");
    check_refused_points(
        equal, 2, "compress.points[1].size: expected a number above 1 and at most 2^53, got 1");
    check_refused_points(
        nowhere, 2, "compress.points[0].size: expected a number above 0 and at most 2^53, got 0");
    check_refused_points(
        endless, 2, "compress.points[1].size: expected a number above 1 and at most 2^53, got inf");
    check_refused_points(early, 2, "compress.points[1].time_s: expected 0 to 1e6 seconds, got -1");
    static const struct gradweave_point free_of_cost[] = {{1, 0.1}, {1000, 0.002}};
    check_refused_points(free_of_cost, 2,
                         "compress.points[1].time_s: expected no less time than for the smaller "
                         "sizes, got 0.002");
}

TEST(refuses_what_makes_no_sense) {
    struct gradweave_group groups[4];
    struct gradweave_plan plan;
    struct gradweave_costs costs = sparse;
    costs.density = 0;
    check_refused(&network, &costs, "omgs", "density: expected a number in (0, 1], got 0");
    costs = sparse;
    costs.exchange.startup_s = -1;
    check_refused(&network, &costs, "omgs", "exchange: expected coefficients from 0 to 1e6");
    check_refused(&network, &sparse, "magic", "expected one of per-tensor");
    check_refused(&network, &sparse, NULL, "expected one of per-tensor");
    static const uint64_t most[] = {1, 1, 1, (UINT64_C(1) << 53) - 3};
    static const uint64_t more[] = {1, 1, 1, (UINT64_C(1) << 53) - 2};
    struct gradweave_network large = network;
    large.elements = most;
    large.bytes_per_element = 2047;
    assert_int_equal(gradweave_plan(&large, &sparse, "single", groups, &plan, NULL), GRADWEAVE_OK);
    large.bytes_per_element = 2048;
    check_refused(&large, &sparse, "single", "bytes_per_element: expected less than 2^64 bytes");
    large.elements = more;
    large.bytes_per_element = 4;
    check_refused(&large, &sparse, "single", "elements[3]: expected a positive integer");
    static const double endless_s[] = {1e308, 1e308, 0, 0};
    struct gradweave_network endless = network;
    endless.backward_s = endless_s;
    check_refused(&endless, &sparse, "single", "backward_s[0]: expected 0 to 1e6 seconds");
    endless = network;
    endless.update_s = 1e20;
    check_refused(&endless, &sparse, "optimal", "forward_s, update_s: expected 0 to 1e6 seconds");
    costs = sparse;
    costs.exchange.startup_s = 1.6e29;
    check_refused(&network, &costs, "optimal", "exchange: expected coefficients from 0 to 1e6");
    struct gradweave_network empty = network;
    empty.tensor_count = 0;
    assert_int_equal(gradweave_plan(&empty, &sparse, "omgs", groups, &plan, NULL),
                     GRADWEAVE_BAD_INPUT);
}

TEST(compresses_with_memory) {
    static const float gradient[] = {0.5f, -3, 1, 2, -2};
    float residual[5] = {0, 0, 1.5f, 0, 0};
    const struct gradweave_compression two_of_five = {
        .compressor = "topk", .elements = 5, .kept = 2};
    struct gradweave_compressor *topk = NULL;
    const struct gradweave_entry *entries;
    size_t count;
    assert_int_equal(gradweave_compressor_open(&two_of_five, &topk, NULL), GRADWEAVE_OK);
    for (int round = 0; round < 2; round++) {
        memcpy(residual, (float[]){0, 0, 1.5f, 0, 0}, sizeof residual);
        assert_int_equal(gradweave_compress(topk, gradient, residual, &entries, &count, NULL),
                         GRADWEAVE_OK);
        assert_int_equal(count, 2);
        assert_int_equal(entries[0].index, 1);
        assert_true(entries[0].value == -3);
        assert_int_equal(entries[1].index, 2);
        assert_true(entries[1].value == 2.5f);
        static const float left[] = {0.5f, 0, 0, 2, -2};
        assert_memory_equal(residual, left, sizeof left);
        gradweave_compressor_observe(topk, &count);
    }
    static const float broken[] = {0.5f, NAN, 0, 0, 0};
    struct gradweave_error error;
    assert_int_equal(gradweave_compress(topk, broken, residual, &entries, &count, &error),
                     GRADWEAVE_BAD_INPUT);
    assert_string_equal(error.message, "element 1 of 5: expected a number or an infinity, got NaN");
    gradweave_compressor_close(topk);
    gradweave_compressor_close(NULL);
}

/* Every compressor goes through the library, with all it may want, over some iterations. */
TEST(compresses_with_every_compressor) {
    enum { N = 5000, K = 50 };
    static const size_t layers[] = {1000, 1, 2999, 1000};
    static float gradient[N], residual[N], sum[N];
    for (size_t c = 0; gradweave_compressor_name(c) != NULL; c++) {
        const struct gradweave_compression compression = {.compressor =
                                                              gradweave_compressor_name(c),
                                                          .elements = N,
                                                          .kept = K,
                                                          .worker = 1,
                                                          .workers = 3,
                                                          .threshold = 0.9,
                                                          .layers = layers,
                                                          .layer_count = 4,
                                                          .threads = 2};
        struct gradweave_compressor *compressor = NULL;
        assert_int_equal(gradweave_compressor_open(&compression, &compressor, NULL), GRADWEAVE_OK);
        memset(residual, 0, sizeof residual);
        for (size_t t = 0; t < 10; t++) {
            const struct gradweave_entry *entries;
            size_t count;
            for (size_t i = 0; i < N; i++) {
                gradient[i] = (float)((i * 7919 + t * 31) % N) / N;
                sum[i] = residual[i] + gradient[i];
            }
            assert_int_equal(
                gradweave_compress(compressor, gradient, residual, &entries, &count, NULL),
                GRADWEAVE_OK);
            for (size_t i = 0; i < count; i++) {
                assert_true(residual[entries[i].index] == 0);
                residual[entries[i].index] = entries[i].value;
            }
            assert_memory_equal(residual, sum, sizeof sum);
            for (size_t i = 0; i < count; i++) {
                residual[entries[i].index] = 0;
            }
            gradweave_compressor_observe(compressor, (const size_t[]){count, count, count});
        }
        gradweave_compressor_close(compressor);
    }
}

TEST(refuses_compressions_that_make_no_sense) {
    const struct gradweave_compression good = {.compressor = "topk", .elements = 5, .kept = 2};
    enum { BAD = 9 };
    struct gradweave_compression bad[BAD];
    for (size_t i = 0; i < BAD; i++) {
        bad[i] = good;
    }
    bad[0].kept = 6;
    bad[1].elements = 0;
    bad[2].compressor = "magic";
    bad[3].threshold = NAN;
    bad[4].worker = 2;
    bad[5].layers = (const size_t[]){2, 2};
    bad[5].layer_count = 2;
    bad[6].layers = (const size_t[]){2, SIZE_MAX};
    bad[6].layer_count = 2;
    bad[7].compressor = NULL;
    bad[8] = (struct gradweave_compression){
        .compressor = "exdyna", .elements = 100, .kept = 10, .workers = (size_t)1 << 61};
    static const char *const messages[] = {"1 <= kept <= elements",
                                           "1 <= kept <= elements",
                                           "got \"magic\"",
                                           "threshold: expected",
                                           "worker: expected",
                                           "layers: expected 5 elements",
                                           "layers[1]: expected 1 to 3",
                                           "got \"\"",
                                           "workers: expected less than 2^32"};
    for (size_t i = 0; i < BAD; i++) {
        struct gradweave_error error;
        struct gradweave_compressor *none = (void *)&error;
        assert_int_equal(gradweave_compressor_open(&bad[i], &none, &error), GRADWEAVE_BAD_INPUT);
        assert_null(none);
        if (strstr(error.message, messages[i]) == NULL) {
            fail_msg("expected \"%s\" in \"%s\"", messages[i], error.message);
        }
    }
}

/* ---- predictions --------------------------------------------------------------------------- */

static const struct gradweave_question resnet = {.model = GW_TEST_DATA "/models/resnet50.json",
                                                 .cluster =
                                                     GW_TEST_DATA "/clusters/p102-1gbe-16.json"};

static void check_sum(const struct gradweave_prediction *predicted) {
    double sum_s = predicted->forward_s + predicted->backward_s + predicted->compress_s +
                   predicted->exposed_comm_s + predicted->other_s;
    assert_true(predicted->iteration_s > 0);
    assert_true(fabs(sum_s - predicted->iteration_s) < 1e-9 * predicted->iteration_s);
}

TEST(ranks_what_it_predicts) {
    enum { MOST = 64 };
    static struct gradweave_prediction ranked[MOST];
    struct gradweave_prediction predicted;
    size_t count = MOST;
    size_t two = 2;
    assert_string_equal(gradweave_algorithm_name(0), "dense");
    assert_int_equal(gradweave_rank(&resnet, ranked, &count, NULL), GRADWEAVE_OK);
    assert_true(count > 2 && count < MOST);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(gradweave_predict(&resnet, ranked[i].algorithm, &predicted, NULL),
                         GRADWEAVE_OK);
        assert_true(predicted.iteration_s == ranked[i].iteration_s);
        assert_true(i == 0 || ranked[i - 1].iteration_s <= ranked[i].iteration_s);
        check_sum(&predicted);
    }
    struct gradweave_prediction fastest[3] = {[2] = {.algorithm = "untouched"}};
    assert_int_equal(gradweave_rank(&resnet, fastest, &two, NULL), GRADWEAVE_OK);
    assert_int_equal(two, count);
    assert_string_equal(fastest[0].algorithm, ranked[0].algorithm);
    assert_string_equal(fastest[1].algorithm, ranked[1].algorithm);
    assert_string_equal(fastest[2].algorithm, "untouched");
}

TEST(explains_a_plan) {
    enum { MOST = 512 };
    static struct gradweave_group_times groups[MOST];
    struct gradweave_explanation why;
    struct gradweave_error error = {0};
    size_t count = MOST;
    assert_int_equal(gradweave_explain(&resnet, "optimal", "topk", groups, &count, &why, &error),
                     GRADWEAVE_OK);
    assert_true(why.critical_group < count);
    assert_true(fabs(why.compute_s + why.exchange_s + why.update_s - why.iteration_s) < 1e-9);
    assert_true(why.lower_bound_s <= why.iteration_s);
    assert_int_equal(groups[count - 1].tensors.last, 0);
    for (size_t g = 0; g < count; g++) {
        assert_true(groups[g].ready_s <= groups[g].compressed_s);
        assert_true(groups[g].compressed_s <= groups[g].exchange_start_s);
        assert_true(g == 0 || groups[g - 1].exchange_end_s <= groups[g].exchange_start_s);
    }
    size_t none = 0;
    assert_int_equal(gradweave_explain(&resnet, "single", "topk", groups, &none, &why, &error),
                     GRADWEAVE_BAD_INPUT);
    assert_string_equal(error.message, "count: expected room for 1 groups, got 0");
}

/* ---- sweeps -------------------------------------------------------------------------------- */

/* Points that were taken, up to `stop_at`. */
struct taken {
    uint64_t count, infeasible, stop_at;
};

/* Each is what gradweave_predict says of its question. */
static int take_point(const struct gradweave_sweep_point *point, void *context) {
    static const char *const algorithms[] = {"dense", "omgs", "randk"};
    static const double densities[] = {0.001, 0.01};
    static const size_t workers[] = {4, 16};
    struct taken *taken = context;
    size_t number = (size_t)taken->count++;
    assert_true(point->number == number && point->count == 12);
    assert_string_equal(point->model, resnet.model);
    assert_string_equal(point->cluster, resnet.cluster);
    assert_string_equal(point->algorithm, algorithms[number % 3]);
    assert_true(point->density == densities[number / 3 % 2]);
    assert_int_equal(point->workers, workers[number / 6]);
    assert_true(point->bandwidth == 1 && point->straggler == 1 && point->noise == 0);
    struct gradweave_question question = resnet;
    struct gradweave_prediction predicted;
    struct gradweave_error error;
    question.workers = point->workers;
    question.density = point->density;
    enum gradweave_status status =
        gradweave_predict(&question, point->algorithm, &predicted, &error);
    if (status == GRADWEAVE_OK) {
        assert_true(point->why == NULL && point->prediction->iteration_s == predicted.iteration_s);
        assert_string_equal(point->prediction->algorithm, point->algorithm);
        check_sum(point->prediction);
    } else {
        assert_null(point->prediction);
        assert_string_equal(point->why, error.message);
        taken->infeasible++;
    }
    return point->number == taken->stop_at;
}

TEST(sweeps_over_what_it_predicts) {
    struct gradweave_grid grid = {.model = resnet.model,
                                  .cluster = resnet.cluster,
                                  .algorithm = "dense,omgs,randk",
                                  .workers = "4:16:log2",
                                  .density = "0.001,0.01"};
    for (grid.threads = 0; grid.threads <= 2; grid.threads++) {
        struct taken taken = {.stop_at = UINT64_MAX};
        assert_int_equal(gradweave_sweep(&grid, take_point, &taken, NULL), GRADWEAVE_OK);
        assert_int_equal(taken.count, 12);
        assert_int_equal(taken.infeasible, 4); /* the cluster has no curve of randk */
    }
    struct taken few = {.stop_at = 4};
    assert_int_equal(gradweave_sweep(&grid, take_point, &few, NULL), GRADWEAVE_OK);
    assert_int_equal(few.count, 5);
}

TEST(refuses_sweeps_that_make_no_sense) {
    static const struct {
        struct gradweave_grid grid;
        const char *message;
    } cases[] = {{{.cluster = "c"}, "model: expected a name"},
                 {{.model = "m"}, "cluster: expected a name"},
                 {{.model = "m", .cluster = "nowhere.json"}, "m"},
                 {{.model = "resnet50", .cluster = "p102-1gbe-16", .algorithm = "magic"}, "magic"},
                 {{.model = "resnet50", .cluster = "p102-1gbe-16", .density = "2"}, "density"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct taken taken = {.count = 0};
        struct gradweave_error error = {""};
        assert_int_equal(gradweave_sweep(&cases[i].grid, take_point, &taken, &error),
                         GRADWEAVE_BAD_INPUT);
        assert_int_equal(taken.count, 0);
        if (strstr(error.message, cases[i].message) == NULL) {
            fail_msg("expected \"%s\" in \"%s\"", cases[i].message, error.message);
        }
    }
}

/* ---- validations --------------------------------------------------------------------------- */

TEST(says_how_far_off_predictions_are) {
    struct gradweave_measurement measured[] = {{.algorithm = "dense"}, {.algorithm = "omgs"}};
    struct gradweave_prediction predicted[2];
    struct gradweave_validation validation = {0};
    struct gradweave_error error;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(gradweave_predict(&resnet, measured[i].algorithm, &predicted[i], NULL),
                         GRADWEAVE_OK);
        measured[i].measured.iteration_s = predicted[i].iteration_s / (i == 0 ? 1.25 : 0.9);
    }
    assert_int_equal(gradweave_validate(&resnet, measured, 2, &validation, NULL), GRADWEAVE_OK);
    for (size_t i = 0; i < 2; i++) {
        assert_true(measured[i].prediction.iteration_s == predicted[i].iteration_s);
        assert_true(fabs(measured[i].error - (i == 0 ? 0.25 : -0.1)) < 1e-12);
    }
    assert_true(fabs(validation.mean_error - 0.175) < 1e-12);
    assert_true(fabs(validation.largest_error - 0.25) < 1e-12);
    assert_int_equal(gradweave_validate(&resnet, measured, 0, &validation, &error),
                     GRADWEAVE_BAD_INPUT);
    assert_non_null(strstr(error.message, "expected a measurement of an algorithm"));
    measured[1].measured.iteration_s = NAN;
    assert_int_equal(gradweave_validate(&resnet, measured, 2, &validation, &error),
                     GRADWEAVE_BAD_INPUT);
    assert_non_null(strstr(error.message, "measured.iteration_s: expected a number above 0"));
    measured[1].measured.iteration_s = 1;
    measured[1].algorithm = "magic";
    assert_int_equal(gradweave_validate(&resnet, measured, 2, &validation, &error),
                     GRADWEAVE_BAD_INPUT);
    assert_non_null(strstr(error.message, "magic"));
}

/* One with a plan and a name of its own, one that nobody predicts, and the file of both. */
TEST(writes_what_was_measured) {
    struct gradweave_group groups[1024];
    size_t count = 1024;
    struct gradweave_plan plan;
    struct gradweave_error error = {""};
    char path[] = "/tmp/gradweave-validation-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0 && close(file) == 0);
    assert_int_equal(
        gradweave_plan_pipeline(&resnet, "p-sgd", NULL, NULL, groups, &count, &plan, NULL),
        GRADWEAVE_OK);
    struct gradweave_measurement measured[] = {
        {.name = "none", .measured.iteration_s = 0.1},
        {.algorithm = "ddp",
         .name = "per tensor",
         .groups = groups,
         .group_count = count,
         .measured = {.iteration_s = 2, .backward_s = 1.5, .other_s = 0.5}}};
    struct gradweave_validation validation = {.iterations = 7, .tolerance = 0.5, .path = path};
    struct gradweave_prediction by_policy;
    assert_int_equal(gradweave_predict(&resnet, "p-sgd", &by_policy, NULL), GRADWEAVE_OK);
    assert_int_equal(gradweave_validate(&resnet, measured, 2, &validation, &error), GRADWEAVE_OK);
    assert_true(measured[1].prediction.iteration_s == by_policy.iteration_s);
    char text[4096] = "";
    FILE *written = fopen(path, "r");
    assert_non_null(written);
    assert_true(fread(text, 1, sizeof text - 1, written) > 0);
    assert_int_equal(fclose(written), 0);
    static const char *const parts[] = {
        "gradweave/validation@1", "\"per tensor\"", "\"iterations\":\t7",
        "\"unpredicted\"",        "\"none\"",       "\"backward_s\":\t1.5",
        "\"beyond_tolerance\""};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strstr(text, parts[i]) == NULL) {
            fail_msg("expected %s in %s", parts[i], text);
        }
    }
    groups[0].first--;
    assert_int_equal(gradweave_validate(&resnet, measured, 2, &validation, &error),
                     GRADWEAVE_BAD_INPUT);
    assert_non_null(strstr(error.message, "groups[0]: expected tensors from"));
    assert_int_equal(unlink(path), 0);
}

/* Gradients let it send three times as much: it is predicted for a density that much higher. */
TEST(predicts_what_was_sent) {
    struct gradweave_question asked = {.model = "resnet50", .cluster = "box-4x1gbit"};
    struct gradweave_question sent = {
        .model = "resnet50", .cluster = "box-4x1gbit", .density = 0.003};
    struct gradweave_prediction expected;
    struct gradweave_prediction as_asked;
    struct gradweave_validation validation = {0};
    static const char *const names[] = {"hard-threshold", "topk"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool depends = i == 0;
        assert_int_equal(gradweave_predict(&asked, names[i], &as_asked, NULL), GRADWEAVE_OK);
        assert_int_equal(gradweave_predict(depends ? &sent : &asked, names[i], &expected, NULL),
                         GRADWEAVE_OK);
        struct gradweave_measurement measured = {
            .algorithm = names[i],
            .measured = {.iteration_s = 1, .bytes_per_worker = 3 * as_asked.bytes_per_worker}};
        assert_int_equal(gradweave_validate(&asked, &measured, 1, &validation, NULL), GRADWEAVE_OK);
        assert_true(near(measured.prediction.iteration_s, expected.iteration_s, 1e-6));
        assert_true(depends == !near(measured.prediction.iteration_s, as_asked.iteration_s, 1e-6));
    }
}

/* The plan of a pipeline takes as long as its prediction, and its file holds the same groups. */
TEST(plans_a_pipeline) {
    static const char *const names[] = {"omgs", "p-sgd", "topk", "omgs-optimal"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        static struct gradweave_group groups[512];
        struct gradweave_prediction predicted;
        struct gradweave_plan plan;
        struct gradweave_error error = {""};
        size_t count = sizeof groups / sizeof *groups;
        size_t none = 0;
        assert_int_equal(
            gradweave_plan_pipeline(&resnet, names[i], NULL, NULL, groups, &count, &plan, &error),
            GRADWEAVE_OK);
        assert_int_equal(gradweave_predict(&resnet, names[i], &predicted, &error), GRADWEAVE_OK);
        assert_true(near(plan.iteration_s, predicted.iteration_s, 1e-9));
        assert_true(plan.group_count == count && predicted.group_count == count);
        assert_int_equal(groups[count - 1].last, 0);
        assert_true(plan.lower_bound_s > 0);
        assert_true(plan.lower_bound_s <= plan.iteration_s * (1 + 1e-12));
        assert_int_equal(
            gradweave_plan_pipeline(&resnet, names[i], NULL, NULL, groups, &none, &plan, &error),
            GRADWEAVE_BAD_INPUT);
        assert_non_null(strstr(error.message, "expected room for"));
    }
}

/* ---- what is refused ----------------------------------------------------------------------- */

TEST(refuses_plans_that_make_no_sense) {
    static struct gradweave_group_times groups[512];
    static const struct {
        const char *policy, *compressor, *message;
    } cases[] = {
        {NULL, "topk", "policy: expected one of per-tensor"},
        {"magic", "topk", "got \"magic\""},
        {"all", "topk", "got \"all\""}, /* of the command line alone */
        {"optimal", NULL, "compressor: expected a name, got NULL"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gradweave_explanation why;
        struct gradweave_error error = {""};
        size_t count = sizeof groups / sizeof *groups;
        assert_int_equal(gradweave_explain(&resnet, cases[i].policy, cases[i].compressor, groups,
                                           &count, &why, &error),
                         GRADWEAVE_BAD_INPUT);
        if (strstr(error.message, cases[i].message) == NULL) {
            fail_msg("expected \"%s\" in \"%s\"", cases[i].message, error.message);
        }
    }
}

TEST(refuses_questions_that_make_no_sense) {
    struct {
        const char *model, *algorithm, *message;
        double density;
    } const cases[] = {{NULL, "omgs", "model: expected a name", 0},
                       {"nowhere.json", "omgs", "nowhere.json", 0},
                       {resnet.model, "magic", "got \"magic\"", 0},
                       {resnet.model, NULL, "got \"\"", 0},
                       {resnet.model, "omgs", "density: expected a number in (0, 1]", 2},
                       {resnet.model, "omgs", "density: expected a number in (0, 1]", NAN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gradweave_question question = resnet;
        struct gradweave_prediction predicted;
        struct gradweave_error error = {""};
        question.model = cases[i].model;
        question.density = cases[i].density;
        assert_int_equal(gradweave_predict(&question, cases[i].algorithm, &predicted, &error),
                         GRADWEAVE_BAD_INPUT);
        if (strstr(error.message, cases[i].message) == NULL) {
            fail_msg("expected \"%s\" in \"%s\"", cases[i].message, error.message);
        }
    }
}
