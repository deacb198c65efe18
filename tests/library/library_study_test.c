/* Answers of libgradweave about models on clusters, through its public header alone. */
#include <unistd.h>

#include "tests/library/library_support.h"

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
    assert_done(gradweave_rank(&resnet, ranked, &count, NULL));
    assert_true(count > 2 && count < MOST);
    for (size_t i = 0; i < count; i++) {
        assert_done(gradweave_predict(&resnet, ranked[i].algorithm, &predicted, NULL));
        assert_true(predicted.iteration_s == ranked[i].iteration_s);
        assert_true(i == 0 || ranked[i - 1].iteration_s <= ranked[i].iteration_s);
        check_sum(&predicted);
    }
    struct gradweave_prediction fastest[3] = {[2] = {.algorithm = "untouched"}};
    assert_done(gradweave_rank(&resnet, fastest, &two, NULL));
    assert_int_equal(two, count);
    assert_string_equal(fastest[0].algorithm, ranked[0].algorithm);
    assert_string_equal(fastest[1].algorithm, ranked[1].algorithm);
    assert_string_equal(fastest[2].algorithm, "untouched");
}

/* A trainer's session takes so long besides, whatever travels: after all exchanges. */
TEST_IN_FOLDER(sessions_take_time) {
    static const char before[] =
        "{\"schema\": \"gradweave/cluster@1\", \"name\": \"c\", \"workers\": 2, "
        "\"workers_per_node\": 1, \"collectives\": {\"allgather\": [{\"workers\": 2, "
        "\"alpha_s\": 0.001, \"beta_s_per_byte\": 1e-9}], \"allreduce\": [{\"workers\": 2, "
        "\"alpha_s\": 0.002, \"beta_s_per_byte\": 1e-8}]}, \"compressors\": {\"topk\": "
        "{\"per_element_s\": 1e-9}}, \"overlap\": {\"workers\": 2, ";
    static const char behind[] = "\"factors\": {}}}";
    static const char *const says[] = {"", "\"session_s\": 0.125, "};
    static const char *const algorithms[] = {"topk", "ddp", "omgs"};
    const char *path = path_in(*state, "cluster.json");
    struct gradweave_question question = {.model = resnet.model, .cluster = path, .workers = 2};
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        struct gradweave_prediction predicted[2];
        for (size_t said = 0; said < 2; said++) {
            char text[1024];
            (void)snprintf(text, sizeof text, "%s%s%s", before, says[said], behind);
            assert_ok(gw_file_write(path, text, strlen(text), NULL));
            assert_done(gradweave_predict(&question, algorithms[i], &predicted[said], NULL));
        }
        assert_true(fabs(predicted[1].iteration_s - predicted[0].iteration_s - 0.125) < 1e-9);
        assert_true(fabs(predicted[1].other_s - predicted[0].other_s - 0.125) < 1e-9);
    }
}

/* Micro-batches but the last one add their passes, before what is compressed and exchanged. */
TEST(micro_batches_come_before_what_is_exchanged) {
    static const char *const algorithms[] = {"dense", "ddp", "topk", "omgs-optimal"};
    struct gradweave_question three = resnet;
    three.accumulate = 3;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        enum { MOST = 512 };
        static struct gradweave_group groups[2][MOST];
        struct gradweave_prediction predicted[2];
        struct gradweave_plan plans[2];
        for (size_t p = 0; p < 2; p++) {
            const struct gradweave_question *question = p == 0 ? &resnet : &three;
            size_t count = MOST;
            assert_done(gradweave_predict(question, algorithms[i], &predicted[p], NULL));
            assert_done(gradweave_plan_pipeline(question, algorithms[i], NULL, NULL, groups[p],
                                                &count, &plans[p], NULL));
        }
        double passes_s = predicted[0].forward_s + predicted[0].backward_s;
        assert_true(near(predicted[1].iteration_s, predicted[0].iteration_s + 2 * passes_s, 1e-9));
        assert_true(near(predicted[1].forward_s, 3 * predicted[0].forward_s, 1e-9));
        assert_true(near(plans[1].iteration_s, plans[0].iteration_s + 2 * passes_s, 1e-9));
        assert_int_equal(plans[0].group_count, plans[1].group_count);
        assert_memory_equal(groups[0], groups[1], plans[0].group_count * sizeof *groups[0]);
    }
}

TEST(explains_a_plan) {
    enum { MOST = 512 };
    static struct gradweave_group_times groups[MOST];
    struct gradweave_explanation why;
    size_t count = MOST;
    assert_done(gradweave_explain(&resnet, "optimal", "topk", groups, &count, &why, &error));
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
    assert_string_equal(error.message, "count: expected room for 1 group, got 0");
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
    question.workers = point->workers;
    question.density = point->density;
    question.accumulate = 2;
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
                                  .density = "0.001,0.01",
                                  .accumulate = 2};
    for (grid.threads = 0; grid.threads <= 2; grid.threads++) {
        struct taken taken = {.stop_at = UINT64_MAX};
        assert_done(gradweave_sweep(&grid, take_point, &taken, NULL));
        assert_int_equal(taken.count, 12);
        assert_int_equal(taken.infeasible, 4); /* the cluster has no curve of randk */
    }
    struct taken few = {.stop_at = 4};
    assert_done(gradweave_sweep(&grid, take_point, &few, NULL));
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
                 {{.model = "resnet50", .cluster = "p102-1gbe-16", .density = "2"}, "density"},
                 {{.model = "resnet50", .cluster = "p102-1gbe-16", .accumulate = 4097},
                  "accumulate: expected at most 4096 micro-batches, got 4097"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct taken taken = {.count = 0};
        assert_refused(gradweave_sweep(&cases[i].grid, take_point, &taken, &error),
                       cases[i].message);
        assert_int_equal(taken.count, 0);
    }
}

/* ---- validations --------------------------------------------------------------------------- */

TEST(says_how_far_off_predictions_are) {
    struct gradweave_measurement measured[] = {{.algorithm = "dense"}, {.algorithm = "omgs"}};
    struct gradweave_prediction predicted[2];
    struct gradweave_validation validation = {0};
    for (size_t i = 0; i < 2; i++) {
        assert_done(gradweave_predict(&resnet, measured[i].algorithm, &predicted[i], NULL));
        measured[i].measured.iteration_s = predicted[i].iteration_s / (i == 0 ? 1.25 : 0.9);
    }
    assert_done(gradweave_validate(&resnet, measured, 2, &validation, NULL));
    for (size_t i = 0; i < 2; i++) {
        assert_true(measured[i].prediction.iteration_s == predicted[i].iteration_s);
        assert_true(fabs(measured[i].error - (i == 0 ? 0.25 : -0.1)) < 1e-12);
        assert_true(measured[i].prediction_low_s == 0 && measured[i].prediction_high_s == 0);
    }
    assert_true(fabs(validation.mean_error - 0.175) < 1e-12);
    assert_true(fabs(validation.largest_error - 0.25) < 1e-12);
    assert_refused(gradweave_validate(&resnet, measured, 0, &validation, &error),
                   "expected a measurement of an algorithm");
    measured[1].measured.iteration_s = NAN;
    assert_refused(gradweave_validate(&resnet, measured, 2, &validation, &error),
                   "measured.iteration_s: expected a number above 0");
    measured[1].measured.iteration_s = 1;
    measured[1].algorithm = "magic";
    assert_refused(gradweave_validate(&resnet, measured, 2, &validation, &error), "magic");
}

/* One with a plan and a name of its own, one that nobody predicts, and the file of both. */
TEST(writes_what_was_measured) {
    struct gradweave_group groups[1024];
    size_t count = 1024;
    struct gradweave_plan plan;
    char path[] = "/tmp/gradweave-validation-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0 && close(file) == 0);
    assert_done(gradweave_plan_pipeline(&resnet, "p-sgd", NULL, NULL, groups, &count, &plan, NULL));
    struct gradweave_measurement measured[] = {
        {.name = "none", .measured.iteration_s = 0.1},
        {.algorithm = "ddp",
         .name = "per tensor",
         .groups = groups,
         .group_count = count,
         .measured = {.iteration_s = 2, .backward_s = 1.5, .other_s = 0.5}}};
    struct gradweave_validation validation = {.iterations = 7, .tolerance = 0.5, .path = path};
    struct gradweave_prediction by_policy;
    assert_done(gradweave_predict(&resnet, "p-sgd", &by_policy, NULL));
    assert_done(gradweave_validate(&resnet, measured, 2, &validation, &error));
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
    assert_refused(gradweave_validate(&resnet, measured, 2, &validation, &error),
                   "groups[0]: expected tensors from");
    assert_int_equal(unlink(path), 0);
}

/* ---- percentiles --------------------------------------------------------------------------- */

/* A noise file of `count` iterations of 16 ranks alike, all of factor 1 but the last `slow`, of 2.
 */
static void write_noise(const char *path, size_t count, size_t slow) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "{\"schema\": \"gradweave/noise@1\", \"factors\": [") > 0);
    for (size_t i = 0; i < count; i++) {
        assert_true(fprintf(file, "%s[", i == 0 ? "" : ", ") > 0);
        for (size_t rank = 0; rank < 16; rank++) {
            assert_true(fprintf(file, "%s%d", rank == 0 ? "" : ", ", i + slow < count ? 1 : 2) > 0);
        }
        assert_true(fprintf(file, "]") > 0);
    }
    assert_true(fprintf(file, "]}") > 0);
    assert_int_equal(fclose(file), 0);
}

/*
 * Dense exchange after all compute takes resnet50 compute + exchange; with factors of 1 and, in 3%
 * of the iterations, 2 its percentiles up to the 95th are those of 1, and the 99th that of 2. What
 * was measured are 1, 2, .. 400 s: the p-th percentile is 1 + 399 p. Of fewer iterations fewer
 * percentiles are known, on either side.
 */
TEST(percentiles_are_predicted_beside_measured_ones) {
    static const struct {
        size_t recorded, measured;
        int predicted_known, measured_known; /* of the three percentiles */
    } table[] = {{400, 400, 3, 3}, {299, 298, 3, 2}, {298, 299, 2, 3},
                 {59, 58, 2, 1},   {58, 59, 1, 2},   {4, 5, 0, 1}};
    static double iterations_s[400];
    char path[] = "/tmp/gradweave-noise-XXXXXX";
    struct gradweave_prediction quiet;
    int file = mkstemp(path);
    assert_true(file >= 0 && close(file) == 0);
    assert_done(gradweave_predict(&resnet, "dense", &quiet, NULL));
    double compute_s = quiet.forward_s + quiet.backward_s + quiet.other_s;
    for (size_t i = 0; i < 400; i++) {
        iterations_s[i] = (double)(400 - i);
    }
    for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
        write_noise(path, table[t].recorded, table[t].recorded * 3 / 100);
        struct gradweave_measurement measured[] = {{.algorithm = "dense",
                                                    .measured.iteration_s = 200,
                                                    .iterations_s = iterations_s,
                                                    .iteration_count = table[t].measured},
                                                   {.name = "none",
                                                    .measured.iteration_s = 200,
                                                    .iterations_s = iterations_s,
                                                    .iteration_count = table[t].measured}};
        struct gradweave_validation validation = {.noise = path};
        assert_done(gradweave_validate(&resnet, measured, 2, &validation, &error));
        const double lowest = 401 - (double)table[t].measured;
        const double range = (double)table[t].measured - 1;
        const double shares[] = {0.5, 0.95, 0.99};
        const double *found = measured[0].measured_percentiles_s;
        const double *of_other = measured[1].measured_percentiles_s;
        const double *predicted = measured[0].prediction_percentiles_s;
        for (int i = 0; i < 3; i++) {
            double expected = i < table[t].measured_known ? lowest + shares[i] * range : 0;
            assert_true(near(found[i], expected, 1e-12) && of_other[i] == found[i]);
            double slowest = quiet.iteration_s + (i == 2 ? compute_s : 0);
            double known = i < table[t].predicted_known ? slowest : 0;
            assert_true(near(predicted[i], known, 1e-9));
        }
        assert_true(measured[1].prediction_percentiles_s[0] == 0);
        assert_true(measured[0].prediction.iteration_s == quiet.iteration_s);
    }
    assert_int_equal(unlink(path), 0);
}

TEST(bad_noise_is_refused) {
    char path[] = "/tmp/gradweave-noise-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0 && close(file) == 0);
    static const double bad_s[] = {1, 2, -1};
    struct gradweave_measurement measured = {.algorithm = "dense", .measured.iteration_s = 1};
    struct gradweave_validation validation = {.noise = path};
    assert_ok(gw_file_write(path, "1\n2\n", 4, NULL));
    assert_refused(gradweave_validate(&resnet, &measured, 1, &validation, &error), path);
    assert_int_equal(unlink(path), 0);
    assert_refused(gradweave_validate(&resnet, &measured, 1, &validation, &error),
                   "cannot be read");
    validation.noise = NULL;
    measured.iterations_s = bad_s;
    measured.iteration_count = 3;
    assert_refused(gradweave_validate(&resnet, &measured, 1, &validation, &error),
                   "iterations_s[2]: expected a number above 0, got -1");
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
        assert_done(gradweave_predict(&asked, names[i], &as_asked, NULL));
        assert_done(gradweave_predict(depends ? &sent : &asked, names[i], &expected, NULL));
        struct gradweave_measurement measured = {
            .algorithm = names[i],
            .measured = {.iteration_s = 1, .bytes_per_worker = 3 * as_asked.bytes_per_worker}};
        assert_done(gradweave_validate(&asked, &measured, 1, &validation, NULL));
        assert_true(near(measured.prediction.iteration_s, expected.iteration_s, 1e-6));
        assert_true(depends == !near(measured.prediction.iteration_s, as_asked.iteration_s, 1e-6));
    }
}

/* ResNet-50, whose numbers are published: 161 gradients of 25,557,032 parameters. */
TEST(says_what_a_model_has) {
    static struct gradweave_tensor tensors[200];
    size_t count = sizeof tensors / sizeof *tensors;
    uint64_t sum = 0;
    assert_done(gradweave_model_tensors(resnet.model, tensors, &count, &error));
    assert_int_equal(count, 161);
    for (size_t i = 0; i < count; i++) {
        assert_true(tensors[i].name[0] != '\0');
        assert_int_equal(tensors[i].bytes, 4 * tensors[i].elements);
        sum += tensors[i].elements;
    }
    assert_int_equal(sum, 25557032);
    struct gradweave_tensor one[2] = {[1] = {.elements = 7}};
    count = 1;
    assert_done(gradweave_model_tensors(resnet.model, one, &count, &error));
    assert_true(count == 161 && one[1].elements == 7);
    assert_string_equal(one[0].name, tensors[0].name);
    assert_refused(gradweave_model_tensors("nowhere", one, &count, &error), "nowhere");
    assert_int_equal(gradweave_model_tensors(NULL, one, &count, &error), GRADWEAVE_BAD_INPUT);
}

TEST(says_which_pipelines_have_a_server_and_which_compress) {
    static const struct {
        const char *name;
        bool has_server, is_sparse;
    } known[] = {{"dense", false, false},    {"p-sgd", false, false},     {"mg-wfbp", false, false},
                 {"ddp", false, false},      {"ps", true, false},         {"topk", false, true},
                 {"layer-drop", true, true}, {"sketched-sgd", true, true}};
    size_t found = 0;
    size_t i = 0;
    for (const char *name; (name = gradweave_algorithm_name(i)) != NULL; i++) {
        for (size_t k = 0; k < 8; k++) {
            if (strcmp(name, known[k].name) == 0) {
                assert_int_equal(gradweave_algorithm_has_server(i), known[k].has_server);
                assert_int_equal(gradweave_algorithm_is_sparse(i), known[k].is_sparse);
                found++;
            }
        }
    }
    assert_int_equal(found, 8);
    assert_false(gradweave_algorithm_has_server(i) || gradweave_algorithm_is_sparse(i));
}

/* The plan of a pipeline takes as long as its prediction, and its file holds the same groups. */
TEST(plans_a_pipeline) {
    static const char *const names[] = {"omgs", "p-sgd", "topk", "omgs-optimal"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        static struct gradweave_group groups[512];
        struct gradweave_prediction predicted;
        struct gradweave_plan plan;
        size_t count = sizeof groups / sizeof *groups;
        size_t none = 0;
        assert_done(
            gradweave_plan_pipeline(&resnet, names[i], NULL, NULL, groups, &count, &plan, &error));
        assert_done(gradweave_predict(&resnet, names[i], &predicted, &error));
        assert_true(near(plan.iteration_s, predicted.iteration_s, 1e-9));
        assert_true(plan.group_count == count && predicted.group_count == count);
        assert_int_equal(groups[count - 1].last, 0);
        assert_true(plan.lower_bound_s > 0);
        assert_true(plan.lower_bound_s <= plan.iteration_s * (1 + 1e-12));
        assert_refused(
            gradweave_plan_pipeline(&resnet, names[i], NULL, NULL, groups, &none, &plan, &error),
            "expected room for");
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
        size_t count = sizeof groups / sizeof *groups;
        assert_refused(gradweave_explain(&resnet, cases[i].policy, cases[i].compressor, groups,
                                         &count, &why, &error),
                       cases[i].message);
    }
}

TEST(mixed_plans_have_a_choice_for_each_group) {
    enum { room = 161 };
    struct gradweave_group groups[room];
    size_t ways[room];
    size_t count = room;
    struct gradweave_plan plan;
    assert_done(gradweave_plan_mixed(&resnet, "topk:0.001,dense", 0, NULL, groups, ways, &count,
                                     &plan, &error));
    size_t dense = 0;
    for (size_t g = 0; g < count; g++) {
        assert_true(ways[g] < 2);
        dense += ways[g] == 1;
    }
    assert_true(dense > 0 && dense < count);
    assert_true(ways[0] == 1); /* it is exchanged while the next ones are computed */
    assert_true(plan.lower_bound_s == plan.iteration_s);
    assert_int_equal(
        gradweave_plan_mixed(&resnet, "dense", 2, NULL, groups, ways, &count, &plan, &error),
        GRADWEAVE_BAD_INPUT);
}

TEST(refuses_questions_that_make_no_sense) {
    struct {
        const char *model, *algorithm, *message;
        double density;
        size_t accumulate;
    } const cases[] = {{NULL, "omgs", "model: expected a name", 0, 0},
                       {"nowhere.json", "omgs", "nowhere.json", 0, 0},
                       {resnet.model, "magic", "got \"magic\"", 0, 0},
                       {resnet.model, NULL, "got \"\"", 0, 0},
                       {resnet.model, "omgs", "density: expected a number in (0, 1]", 2, 0},
                       {resnet.model, "omgs", "density: expected a number in (0, 1]", NAN, 0},
                       {resnet.model, "omgs", "at most 4096 micro-batches, got 4097", 0, 4097}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gradweave_question question = resnet;
        struct gradweave_prediction predicted;
        question.model = cases[i].model;
        question.density = cases[i].density;
        question.accumulate = cases[i].accumulate;
        assert_refused(gradweave_predict(&question, cases[i].algorithm, &predicted, &error),
                       cases[i].message);
    }
}
