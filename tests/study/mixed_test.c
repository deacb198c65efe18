/* Predictions of mixed plans: the arithmetic of the contract with each group's own costs. */
#include <math.h>

#include "study/predict.h"
#include "tests/clusters.h"
#include "tests/test.h"

static struct gw_error error;
static struct gw_scenario_inputs inputs;
static struct gw_scenario scenario;

static int open_all(void **state) {
    (void)state;
    parse_model(&inputs.model,
                "'forward_s': 0.5, 'update_s': 0.25, 'tensors': [{'name': 'a', 'elements': 3000, "
                "'backward_s': 0.1}, {'name': 'b', 'elements': 2000, 'backward_s': 2}, {'name': "
                "'c', 'elements': 1000, 'backward_s': 0.3}, {'name': 'd', 'elements': 10, "
                "'backward_s': 0.3}]");
    parse_cluster(&inputs.cluster,
                  "'workers': 3, 'workers_per_node': 1, 'collectives': {"
                  "'allgather': [{'workers': 3, 'alpha_s': 0.5, 'beta_s_per_byte': 1e-3}], "
                  "'allreduce': [{'workers': 3, 'alpha_s': 0.1, 'beta_s_per_byte': 3e-4}]}, "
                  "'compressors': {'topk': {'fixed_s': 0.25, 'per_element_s': 1e-4}, "
                  "'randk': {'fixed_s': 0.5, 'per_element_s': 2e-5}}");
    scenario = gw_scenario_of(&inputs.model, &inputs.cluster);
    scenario.workers = 3;
    return 0;
}

static int close_all(void **state) {
    (void)state;
    gw_model_free(&inputs.model);
    gw_cluster_free(&inputs.cluster);
    return 0;
}

FIXTURES(open_all, close_all)

static void parse_mixed(const char *ways, struct gw_plan *out) {
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "{'schema': 'gradweave/plan@1', 'model': 'tiny', 'policy': 'optimal', "
                   "'compressor': 'mixed', 'density': 0.5, 'workers': 3, 'groups': [[3], [2, 1], "
                   "[0]], 'ways': [%s], 'iteration_s': 1, 'lower_bound_s': 1}",
                   ways);
    const char *document = quoted(text);
    assert_ok(gw_plan_parse(document, strlen(document), "f", out, &error));
}

#define DENSE "{'choice': 'dense', 'compressor': 'none', 'exchange': 'allreduce', 'density': 1}"

TEST(each_group_takes_the_time_of_its_way) {
    /* by hand: C and T of docs/model.md, allreduce of 4 bytes an element, 8 bytes an entry */
    double c = 0.5;
    double t = 0;
    c += 0.3; /* d: dense */
    t = fmax(c, t) + 0.1 + 3e-4 * 40;
    c += 0.3 + 2 + 0.25 + 1e-4 * 3000; /* c and b: topk, 0.1 of 3000 */
    t = fmax(c, t) + 0.5 + 1e-3 * 8 * 300;
    c += 0.1 + 0.5 + 2e-5 * 3000; /* a: randk, 0.02 of 3000 */
    t = fmax(c, t) + 0.1 + 3e-4 * 4 * 60;
    struct gw_plan plan;
    struct gw_pipeline pipeline;
    struct gw_result result;
    parse_mixed(DENSE ", {'choice': 'topk:0.1', 'compressor': 'topk', 'exchange': 'allgather', "
                      "'density': 0.1}, {'choice': 'randk:0.02', 'compressor': 'randk', "
                      "'exchange': 'common-values', 'density': 0.02}",
                &plan);
    const struct gw_algorithm mixed = gw_algorithm_mixed(&plan);
    assert_string_equal(mixed.compressor->name, "topk");
    assert_ok(gw_pipeline_open(&scenario, &mixed, &plan, &pipeline, &error));
    assert_ok(
        gw_pipeline_predict(&pipeline, &(struct gw_prediction_options){0}, NULL, &result, &error));
    assert_int_equal(pipeline.schedule.way_count, 3);
    assert_true(fabs(result.iteration_s - (t + 0.25)) < 1e-9);
    assert_true(result.bytes_per_worker == 40 + 8 * 300 + 4 * 60);
    assert_string_equal(result.algorithm, "mixed");
    gw_pipeline_close(&pipeline);
    gw_plan_free(&plan);
}

TEST(a_mixed_plan_without_compressors_is_the_dense_one) {
    const struct gw_algorithm *ddp = NULL;
    struct gw_plan plan;
    struct gw_result results[2];
    parse_mixed(DENSE ", " DENSE ", " DENSE, &plan);
    struct gw_algorithm mixed = gw_algorithm_mixed(&plan);
    for (size_t i = 0; i < 2; i++) {
        struct gw_pipeline pipeline;
        assert_ok(gw_algorithm_find("ddp", &ddp, &error));
        assert_ok(gw_pipeline_open(&scenario, i == 0 ? &mixed : ddp, &plan, &pipeline, &error));
        assert_int_equal(pipeline.schedule.way_count, 1);
        assert_ok(gw_pipeline_predict(&pipeline, &(struct gw_prediction_options){0}, NULL,
                                      &results[i], &error));
        gw_pipeline_close(&pipeline);
    }
    assert_true(results[0].iteration_s == results[1].iteration_s);
    gw_plan_free(&plan);
}

static void refuse_ways(const char *ways, const char *expected) {
    struct gw_plan plan;
    struct gw_pipeline pipeline;
    parse_mixed(ways, &plan);
    const struct gw_algorithm mixed = gw_algorithm_mixed(&plan);
    assert_int_equal(gw_pipeline_open(&scenario, &mixed, &plan, &pipeline, &error), GW_BAD_INPUT);
    assert_string_equal(error.message, expected);
    gw_plan_free(&plan);
}

TEST(ways_that_cannot_be_are_refused) {
    refuse_ways(DENSE ", " DENSE ", {'choice': 'zip', 'compressor': 'zip', 'exchange': "
                      "'allgather', 'density': 1}",
                "ways[2]: compressor: expected none or one of gradweave list compressors, got "
                "\"zip\"");
    refuse_ways(DENSE ", {'choice': 'dense', 'compressor': 'none', 'exchange': 'allgather', "
                      "'density': 1}, " DENSE,
                "ways[1]: exchange allgather: expected a compressor that selects exactly the asked "
                "number of elements, got none");
    refuse_ways(DENSE ", {'choice': 'ps', 'compressor': 'none', 'exchange': 'server', 'density': "
                      "1}, " DENSE,
                "ways[1]: exchange server: expected a server for all groups or for none");
}
