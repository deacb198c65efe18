/* Advice on models and clusters whose iterations are known by hand. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "study/advice.h"
#include "tests/clusters.h"
#include "tests/test.h"

static struct gw_error error;

/* Tensors of 1 MiB, 2 ms of backward pass each, behind 100 ms of forward pass. */
enum { MOST_TENSORS = 101, TENSOR_ELEMENTS = 1 << 18 };
static struct gw_tensor tensors[MOST_TENSORS];
static struct gw_cluster cluster;

/* Four workers, among which an exchange takes so long for each MiB, to a thousandth; selecting
 * takes so long for each of these tensors. */
static struct gw_scenario ask_about(size_t count, double mib_s, double compress_s) {
    static struct gw_model model;
    parse_cluster(&cluster,
                  "'workers': 4, 'collectives': {'allreduce': [{'workers': 4, 'alpha_s': 0, "
                  "'beta_s_per_byte': %.17g, 'uncertainty': [[1, 1e-3]]}], 'allgather': "
                  "[{'workers': 4, 'alpha_s': 0, 'beta_s_per_byte': 1e-12, 'uncertainty': [[1, "
                  "1e-3]]}]}, 'compressors': {'topk': {'per_element_s': %.17g}}",
                  mib_s / (1 << 20), compress_s / TENSOR_ELEMENTS);
    for (size_t i = 0; i < count; i++) {
        tensors[i] =
            (struct gw_tensor){.name = "t", .elements = TENSOR_ELEMENTS, .backward_s = 0.002};
    }
    model = (struct gw_model){.name = "m",
                              .bytes_per_element = 4,
                              .forward_s = 0.1,
                              .tensor_count = count,
                              .tensors = tensors};
    return gw_scenario_of(&model, &cluster);
}

/*
 * 1 ms a MiB, so that the network waits for gradients. By exchanges alone a cap of 1 MiB is the
 * fastest: 1 ms is exposed. But its 101 buckets take 100 us each besides, and the 34 of a cap of
 * 3 MiB, which expose 2 ms, 6.7 ms less. By default DDP exposes 24 ms in 5.
 */
TEST(a_cap_is_advised_by_what_its_buckets_take_too) {
    const double passes_s = 0.1 + MOST_TENSORS * 0.002;
    struct gw_scenario scenario = ask_about(MOST_TENSORS, 1e-3, 1e-3);
    struct gw_advice advice;
    assert_ok(gw_advise(&scenario, NULL, &advice, &error));
    assert_true(advice.cap_mib == 3);
    assert_true(near(advice.cap_iteration_s, passes_s + 0.002 + 34 * 100e-6, 1e-9));
    assert_true(near(advice.default_iteration_s, passes_s + 0.025 + 5 * 100e-6, 1e-9));
    assert_true(near(advice.buckets_iteration_s,
                     advice.buckets.iteration_s + (double)advice.buckets.group_count * 100e-6,
                     1e-9));
    gw_advice_free(&advice);
    gw_cluster_free(&cluster);
}

/*
 * 1 ms a MiB, beside which backward passes and exchanges take three times as long. The optimal plan
 * exchanges all tensors but the last beside the backward pass, 2 ms more for each; DDP's buckets 76
 * of 101. Without that it exposes 24 ms less.
 */
TEST(a_plan_that_interference_makes_slower_than_ddp_is_not_advised) {
    static const struct gw_overlap_factor thrice = {.factor = 3, .low = 3, .high = 3};
    const struct gw_overlap_point point = {.bytes = 1, .compute = thrice, .communication = thrice};
    struct gw_scenario scenario = ask_about(MOST_TENSORS, 1e-3, 1e-3);
    struct gw_overlap *overlap = calloc(1, sizeof *overlap);
    assert_non_null(overlap);
    overlap->workers = 4;
    assert_ok(gw_overlap_add(overlap, "allreduce", "backward", point, &error));
    gw_cluster_set_overlap(&cluster, overlap);
    struct gw_advice advice;
    assert_ok(gw_advise(&scenario, NULL, &advice, &error));
    size_t rows = 0;
    for (size_t i = 0; i < advice.ranking.count; i++) {
        rows += strcmp(advice.ranking.results[i].algorithm, "ddp") == 0;
    }
    assert_true(rows == 1 && advice.ranking.results[advice.dense].policy == NULL);
    gw_advice_free(&advice);
    scenario.interference = GW_INTERFERENCE_NONE;
    assert_ok(gw_advise(&scenario, NULL, &advice, &error));
    assert_true(advice.buckets_hold);
    assert_string_equal(advice.planned_ddp.policy, "optimal");
    gw_advice_free(&advice);
    gw_cluster_free(&cluster);
}

/* DDP by the optimal plan is recommended; a measurement of it says so by its changed policy. */
TEST(the_recommended_plan_is_found_among_measurements) {
    struct gw_validated results[] = {
        {.algorithm = "ddp", .measured.iteration_s = 0.33},
        {.algorithm = "ddp", .policy = "optimal", .measured.iteration_s = 0.31},
        {.algorithm = "ddp", .policy = "single", .measured.iteration_s = 0.3}};
    const struct gw_validation_document measured = {.model = "m",
                                                    .cluster = "c",
                                                    .workers = 4,
                                                    .density = 0.001,
                                                    .count = 3,
                                                    .results = results};
    struct gw_scenario scenario = ask_about(MOST_TENSORS, 1e-3, 1e-3);
    struct gw_advice advice;
    assert_ok(gw_advise(&scenario, NULL, &advice, &error));
    gw_advice_keep_measured(&advice, &measured);
    assert_string_equal(advice.chosen->result->policy, "optimal");
    assert_int_equal(advice.measurements.count, 2);
    assert_true(advice.measurements.first == advice.chosen->place);
    assert_true(advice.measurements.predicted_s == 0.31);
    gw_advice_free(&advice);
    gw_cluster_free(&cluster);
}
