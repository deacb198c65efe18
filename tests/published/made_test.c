/*
 * Clusters and models from published figures: costs by the formulas of rings and trees, and whether
 * measurements - a calibrated cluster, networks profiled on a GPU - are within their stated
 * uncertainty.
 */
#include <math.h>
#include <string.h>

#include "published/published.h"
#include "study/study.h"
#include "tests/clusters.h"
#include "tests/test.h"

static struct gw_error error;

static struct gw_cluster make_cluster(size_t nodes, size_t gpus, const char *network,
                                      const char *within) {
    const struct gw_cluster_request request = {
        .nodes = nodes, .gpus_per_node = gpus, .network = network, .within = within, .gpu = "h200"};
    struct gw_cluster cluster;
    assert_ok(gw_cluster_make(&request, &cluster, &error));
    return cluster;
}

static struct gw_link link_of(const char *name, bool within, struct gw_arena *arena) {
    struct gw_link link;
    assert_ok(gw_link_find(name, within, arena, &link, &error));
    return link;
}

static double rate_of(const struct gw_link *link) {
    return link->bytes_per_s * link->efficiency.typical;
}

static double time_of(const struct gw_cluster *cluster, const char *name, size_t workers,
                      double bytes) {
    const struct gw_collective_cost *cost = gw_cluster_find_collective(cluster, name, workers);
    assert_non_null(cost);
    return gw_curve_time(&cost->curve, bytes);
}

/* ---- costs ----------------------------------------------------------------------------------- */

TEST(one_gpu_a_node_takes_rings_and_trees_over_the_network) {
    struct gw_arena arena = {0};
    struct gw_cluster cluster = make_cluster(8, 1, "25gbit", NULL);
    struct gw_link link = link_of("25gbit", false, &arena);
    double s = link.step_s.typical;
    double B = rate_of(&link);
    assert_int_equal(cluster.workers, 8);
    assert_true(near(time_of(&cluster, "allgather", 8, 1e6), 7 * s + 7e6 / B, 1e-9));
    assert_true(near(time_of(&cluster, "allreduce", 8, 8e9), 6 * s + 2 * 7e9 / B, 1e-9));
    assert_true(near(time_of(&cluster, "allreduce", 8, 8), 6 * s + 2 * 7 / B, 1e-9));
    assert_true(near(time_of(&cluster, "gather", 8, 1e6), 3 * s + 7e6 / B, 1e-9));
    assert_true(near(time_of(&cluster, "alltoall", 8, 8e6), 7 * s + 7e6 / B, 1e-9));
    assert_true(near(time_of(&cluster, "broadcast", 8, 1e6), 3 * s + 3e6 / B, 1e-9));
    assert_true(near(time_of(&cluster, "sendrecv", 2, 1e6), s + 1e6 / B, 1e-9));
    assert_true(near(time_of(&cluster, "allgather", 64, 1e6), 63 * (s + 1e6 / B), 1e-9));
    gw_cluster_free(&cluster);
    gw_arena_free(&arena);
}

TEST(gpus_of_a_node_share_its_link) {
    struct gw_arena arena = {0};
    struct gw_cluster cluster = make_cluster(4, 8, "100gbit", "nvlink3");
    struct gw_link network = link_of("100gbit", false, &arena);
    struct gw_link within = link_of("nvlink3", true, &arena);
    double startup_s = (4 * network.step_s.typical + 28 * within.step_s.typical) * 31 / 32;
    assert_int_equal(cluster.workers, 32);
    assert_true(rate_of(&within) > rate_of(&network));
    assert_true(
        near(time_of(&cluster, "allgather", 32, 1e6), startup_s + 31e6 / rate_of(&network), 1e-9));
    assert_true(near(time_of(&cluster, "allgather", 8, 1e6),
                     7 * within.step_s.typical + 7e6 / rate_of(&within), 1e-9));
    assert_true(near(time_of(&cluster, "sendrecv", 2, 1e6),
                     network.step_s.typical + 1e6 / rate_of(&network), 1e-9));
    gw_cluster_free(&cluster);
    gw_arena_free(&arena);
}

/* Cards carry rings side by side; a message between two workers, too, as far as is known. */
TEST(a_node_with_cards_is_so_much_faster) {
    const struct gw_cluster_request one = {
        .nodes = 4, .gpus_per_node = 8, .network = "hdr", .within = "nvlink3"};
    struct gw_cluster_request four = one;
    struct gw_cluster slow;
    struct gw_cluster fast;
    four.cards = 4;
    assert_ok(gw_cluster_make(&one, &slow, &error));
    assert_ok(gw_cluster_make(&four, &fast, &error));
    assert_string_equal(slow.name, "4x8-hdr-nvlink3");
    assert_string_equal(fast.name, "4x8-4*hdr-nvlink3");
    double startup_s = time_of(&slow, "allreduce", 32, 1e-9);
    assert_true(near(4 * (time_of(&fast, "allreduce", 32, 1e9) - startup_s),
                     time_of(&slow, "allreduce", 32, 1e9) - startup_s, 1e-9));
    gw_cluster_free(&slow);
    gw_cluster_free(&fast);
}

TEST(a_single_node_needs_no_network) {
    struct gw_arena arena = {0};
    struct gw_cluster cluster = make_cluster(1, 8, NULL, "nvlink4");
    struct gw_link within = link_of("nvlink4", true, &arena);
    struct gw_cluster_request request = {.nodes = 2, .gpus_per_node = 8, .within = "nvlink4"};
    assert_string_equal(cluster.name, "1x8-nvlink4");
    assert_true(near(time_of(&cluster, "allreduce", 8, 8e9),
                     6 * within.step_s.typical + 2 * 7e9 / rate_of(&within), 1e-9));
    assert_null(gw_cluster_find_collective(&cluster, "allreduce", 16));
    gw_cluster_free(&cluster);
    assert_int_equal(gw_cluster_make(&request, &cluster, &error), GW_BAD_INPUT);
    assert_non_null(strstr(error.message, "--network: expected the link"));
    request.nodes = request.gpus_per_node = 1;
    assert_int_equal(gw_cluster_make(&request, &cluster, &error), GW_BAD_INPUT);
    assert_non_null(strstr(error.message, "got one worker"));
    gw_arena_free(&arena);
}

/* A file of it is what was made: read again, it costs the same. */
TEST(made_clusters_are_read_back) {
    struct gw_cluster cluster = make_cluster(2, 2, "10gbit", "pcie4");
    struct gw_cluster again;
    cJSON *document = NULL;
    char *text = NULL;
    gw_key_rules.strict = true;
    assert_ok(gw_cluster_document(&cluster, &document, &error));
    assert_ok(gw_json_print(document, &text, &error));
    assert_ok(gw_cluster_parse(text, strlen(text), "made", &again, &error));
    gw_key_rules.strict = false;
    assert_true(near(time_of(&again, "allreduce", 4, 12345),
                     time_of(&cluster, "allreduce", 4, 12345), 1e-12));
    assert_int_equal(again.compressors.count, cluster.compressors.count);
    free(text);
    cJSON_Delete(document);
    gw_cluster_free(&cluster);
    gw_cluster_free(&again);
}

/* ---- against what was measured --------------------------------------------------------------- */

/* Half copies by which the H200 took so long with residual, as docs/results/kernels.md has them. */
TEST(compressors_take_what_they_took_on_an_h200) {
    static const double elements[] = {25557032, 138357544}, bytes_per_s[] = {3.87e12, 4.21e12};
    static const struct {
        const char *name;
        double passes[2];
    } table[] = {
        {"topk", {6.05, 4.01}},         {"randk", {4.75, 4.09}},
        {"dgc", {8.53, 5.54}},          {"redsync", {8.18, 6.27}},
        {"gaussiank", {8.95, 6.60}},    {"count-sketch", {23.70, 28.10}},
        {"layer-drop", {10.07, 6.34}},  {"hard-threshold", {3.71, 3.28}},
        {"sidco", {16.99, 10.00}},      {"exdyna", {3.71, 3.27}},
        {"exdyna-trend", {3.59, 3.27}}, {"exdyna-static", {3.55, 3.25}},
    };
    struct gw_cluster cluster = make_cluster(2, 1, "10gbit", NULL);
    for (size_t i = 0; gw_compressors[i] != NULL; i++) { /* each can be asked about with --gpu */
        if (gw_kernel_cost_find(&cluster.compressors, gw_compressors[i]->name) == NULL) {
            fail_msg("no line in gpu_compressors[] of published/cluster.c for %s",
                     gw_compressors[i]->name);
        }
    }
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct gw_kernel_cost *cost =
            gw_kernel_cost_find(&cluster.compressors, table[i].name);
        assert_non_null(cost);
        assert_true(gw_curve_time(&cost->curve, 1) > 10e-6); /* several launches */
        for (size_t e = 0; e < 2; e++) {
            double measured_s = table[i].passes[e] * 4 * elements[e] / bytes_per_s[e];
            assert_true(near(gw_curve_time(&cost->curve, elements[e]), measured_s, 0.1));
        }
    }
    gw_cluster_free(&cluster);
}

struct tally {
    size_t inside, all;
};

static void count_inside(const char *what, double measured, double made, double margin,
                         struct tally *tally) {
    bool inside = measured <= made * (1 + margin) && measured >= made / (1 + margin);
    tally->all++;
    tally->inside += inside;
    if (!inside) {
        print_message("%s: measured %g s, made %g s, margin %.2f\n", what, measured, made, margin);
    }
}

/* The box carries smaller messages faster than its rate: some 64 KiB pass at once after a pause. */
static const double least_bytes = 1 << 18;

static void count_collective(const struct gw_collective_cost *measured,
                             const struct gw_cluster *cluster, struct tally *tally) {
    const struct gw_collective_cost *made =
        gw_cluster_find_collective(cluster, measured->name, measured->workers);
    const cJSON *row = NULL;
    assert_non_null(made);
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(measured->kept, "raw")) {
        char what[64];
        double bytes = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(row, "bytes"));
        if (bytes < least_bytes) {
            continue;
        }
        (void)snprintf(what, sizeof what, "%s %zu %g", made->name, made->workers, bytes);
        count_inside(what, cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(row, "median_s")),
                     gw_curve_time(&made->curve, bytes), gw_margins_at(&made->margins, bytes),
                     tally);
    }
}

/* The box, described by its rate alone: its calibration is where intervals say, in 90% of cases. */
TEST(a_calibrated_box_is_what_its_rate_says) {
    struct gw_cluster made = make_cluster(4, 1, "1gbit", NULL);
    struct gw_cluster measured;
    struct tally tally = {0};
    assert_ok(gw_cluster_open("box-4x1gbit", &measured, &error));
    for (size_t i = 0; i < measured.collective_count; i++) {
        if (gw_cluster_find_collective(&made, measured.collectives[i].name,
                                       measured.collectives[i].workers) != NULL) {
            count_collective(&measured.collectives[i], &made, &tally);
        }
    }
    print_message("%zu of %zu measured medians are inside\n", tally.inside, tally.all);
    assert_true(tally.all > 100);
    assert_true((double)tally.inside >= 0.9 * (double)tally.all);
    gw_cluster_free(&made);
    gw_cluster_free(&measured);
}

static struct gw_model make_model(const struct gw_model_request *request) {
    struct gw_model model;
    cJSON *document = NULL;
    assert_ok(gw_model_make(request, &document, &error));
    gw_key_rules.strict = true;
    assert_ok(gw_model_take(document, request->architecture, &model, &error));
    gw_key_rules.strict = false;
    return model;
}

TEST(networks_that_were_profiled_take_what_is_made) {
    static const char *const pairs[][2] = {
        {"resnet50", "resnet50-h200"}, {"vgg16", "vgg16-h200"}, {"bert-large", "bert-large-h200"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct gw_model measured;
        assert_ok(gw_model_open(pairs[i][1], &measured, &error));
        const struct gw_model_request request = {.architecture = pairs[i][0],
                                                 .gpu = "h200",
                                                 .precision = GW_TF32,
                                                 .batch_size = measured.batch_size};
        struct gw_model made = make_model(&request);
        struct tally tally = {0};
        count_inside("forward", measured.forward_s, made.forward_s, made.uncertainty, &tally);
        count_inside("backward", gw_model_backward_s(&measured), gw_model_backward_s(&made),
                     made.uncertainty, &tally);
        count_inside("update", measured.update_s, made.update_s, 1, &tally);
        print_message("%s: forward %.2f of measured, backward %.2f, update %.2f, margin %.2f\n",
                      pairs[i][1], made.forward_s / measured.forward_s,
                      gw_model_backward_s(&made) / gw_model_backward_s(&measured),
                      made.update_s / measured.update_s, made.uncertainty);
        assert_int_equal(tally.inside, 3);
        gw_model_free(&measured);
        gw_model_free(&made);
    }
}

/* ---- what a user gives ----------------------------------------------------------------------- */

TEST(a_backward_pass_that_is_given_is_shared_out) {
    const struct gw_model_request request = {
        .architecture = "gpt2", .precision = GW_PRECISIONS, .backward_s = 0.045};
    struct gw_model model = make_model(&request);
    assert_true(near(gw_model_backward_s(&model), 0.045, 1e-9));
    assert_true(near(model.forward_s, 0.0225, 1e-12));
    assert_true(model.uncertainty == 0);
    assert_int_equal(gw_model_elements(&model), 124439808);
    gw_model_free(&model);
    const struct gw_model_request both = {.architecture = "gpt2",
                                          .gpu = "a100",
                                          .precision = GW_FP16,
                                          .backward_s = 0.045,
                                          .forward_s = 0.02};
    model = make_model(&both);
    assert_true(near(model.forward_s, 0.02, 1e-12));
    gw_model_free(&model);
}

TEST(missing_features_of_a_gpu_are_refused) {
    const struct gw_model_request request = {
        .architecture = "resnet50", .gpu = "v100", .precision = GW_TF32};
    cJSON *document = NULL;
    assert_int_equal(gw_model_make(&request, &document, &error), GW_BAD_INPUT);
    assert_non_null(strstr(error.message, "tf32"));
    const struct gw_cluster_request alone = {.nodes = 2, .gpus_per_node = 4, .network = "hdr"};
    struct gw_cluster cluster;
    assert_int_equal(gw_cluster_make(&alone, &cluster, &error), GW_BAD_INPUT);
    assert_non_null(strstr(error.message, "--intra"));
}

/* An interval of twenty times either way says nothing: such curves are made where one asks alone.
 */
TEST(curves_that_say_nothing_are_not_made) {
    static const double bytes[] = {64, 1024, 65536, 1 << 20, 1 << 24, 1 << 28};
    struct gw_cluster cluster = make_cluster(4, 8, "100gbit", "nvlink3");
    struct gw_cluster large = make_cluster(4096, 1, "10gbit", NULL);
    for (size_t i = 0; i < cluster.collective_count; i++) {
        const struct gw_collective_cost *cost = &cluster.collectives[i];
        assert_true(cost->workers <= 256);
        for (size_t k = 0; k < sizeof bytes / sizeof *bytes; k++) {
            assert_true(gw_margins_at(&cost->margins, bytes[k]) < 9.001);
        }
    }
    assert_non_null(gw_cluster_find_collective(&large, "allreduce", 4096));
    assert_non_null(gw_cluster_find_collective(&large, "allreduce", 64));
    gw_cluster_free(&cluster);
    gw_cluster_free(&large);
}

TEST(gpus_of_a_node_have_their_usual_link) {
    const struct gw_cluster_request request = {
        .nodes = 2, .gpus_per_node = 8, .network = "hdr", .gpu = "v100"};
    const struct gw_cluster_request unusual = {
        .nodes = 2, .gpus_per_node = 8, .network = "hdr", .gpu = "p102-100"};
    struct gw_cluster cluster;
    assert_ok(gw_cluster_make(&request, &cluster, &error));
    assert_string_equal(cluster.name, "2x8-hdr-nvlink2");
    gw_cluster_free(&cluster);
    assert_int_equal(gw_cluster_make(&unusual, &cluster, &error), GW_BAD_INPUT);
    assert_non_null(strstr(error.message, "as none is usual for this GPU: NVIDIA P102-100"));
}

/* ---- how far off predictions are ------------------------------------------------------------- */

/* An iteration of compute alone, with a model that is off by u, is off by u and by the unexplained
 * rest. */
TEST(an_iteration_is_as_uncertain_as_its_model) {
    struct gw_scenario_inputs inputs;
    const struct gw_algorithm *dense = NULL;
    struct gw_result result;
    parse_model(&inputs.model, "'forward_s': 1, 'uncertainty': 0.5,'tensors': [{'name': 't', "
                               "'elements': 1, 'backward_s': 1}]");
    parse_cluster(&inputs.cluster,
                  "'workers': 2, 'compressors': {},'collectives': {'allreduce': [{'workers': 2, "
                  "'alpha_s': 1e-9,'beta_s_per_byte': 0, 'uncertainty': [[1, 3]]}]}");
    struct gw_scenario scenario = gw_scenario_of(&inputs.model, &inputs.cluster);
    assert_ok(gw_algorithm_find("dense", &dense, &error));
    assert_ok(gw_predict(&scenario, dense, &(struct gw_prediction_options){.interval = true},
                         &result, &error));
    assert_true(near(result.iteration_s, 2, 1e-6));
    assert_true(near(result.iteration_high_s, 2 + hypot(1, GW_UNEXPLAINED * 2), 1e-6));
    assert_true(near(result.iteration_low_s, 2 - hypot(2 - 2 / 1.5, GW_UNEXPLAINED * 2), 1e-6));
    gw_model_free(&inputs.model);
    gw_cluster_free(&inputs.cluster);
}
