/* Predictions of mixed plans: the arithmetic of the contract with each group's own costs. */
#include <math.h>
#include <stdlib.h>

#include "kernels/gradients/emulation.h"
#include "study/predict.h"
#include "study/rank.h"
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
                  "'allreduce': [{'workers': 3, 'alpha_s': 0.1, 'beta_s_per_byte': 3e-4}], "
                  "'alltoall': [{'workers': 3, 'alpha_s': 0.2, 'beta_s_per_byte': 5e-4}]}, "
                  "'aggregation': {'decode': {'per_element_s': 2e-5}, "
                  "'decode-add': {'per_element_s': 1e-5}}, "
                  "'compressors': {'topk': {'fixed_s': 0.25, 'per_element_s': 1e-4}, "
                  "'randk': {'fixed_s': 0.5, 'per_element_s': 2e-5}, "
                  "'bf16': {'fixed_s': 0.01, 'per_element_s': 1e-6}, "
                  "'int8': {'fixed_s': 0.02, 'per_element_s': 2e-6}, "
                  "'qsgd': {'fixed_s': 0.03, 'per_element_s': 3e-6}}");
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

/* Planned, then simulated as the plan says. */
TEST(a_planned_mix_takes_as_long_as_its_simulation) {
    static const struct {
        double keep;
        const char *choices;
    } cases[] = {{0, "dense,topk:0.1,topk:0.01,randk:0.02"},
                 {0.5, "dense,topk:0.1,topk:0.01,randk:0.02"},
                 {0.999, "topk:0.01,dense"},
                 {0, "randk"}};
    double before_s = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct gw_mixed_request request = {.choices = cases[i].choices,
                                                 .keep = cases[i].keep};
        struct gw_plans plans = {0};
        struct gw_pipeline pipeline;
        struct gw_result result;
        assert_ok(gw_plans_make_mixed(&scenario, &request, &plans, &error));
        const struct gw_plan *plan = &plans.plans[0];
        const struct gw_algorithm mixed = gw_algorithm_mixed(plan);
        assert_ok(gw_plan_check(plan, &inputs.model, "f", &error));
        assert_ok(gw_pipeline_open(&scenario, &mixed, plan, &pipeline, &error));
        assert_ok(gw_pipeline_predict(&pipeline, &(struct gw_prediction_options){0}, NULL, &result,
                                      &error));
        assert_true(fabs(result.iteration_s - plan->iteration_s) <= 1e-9 * result.iteration_s);
        assert_true(plan->lower_bound_s <= plan->iteration_s);
        assert_true(plans.energy_kept >= cases[i].keep);
        if (i == 1) {
            assert_true(plan->iteration_s >= before_s); /* the same choices, but must keep more */
        }
        before_s = plan->iteration_s;
        gw_pipeline_close(&pipeline);
        gw_plans_free(&plans);
    }
}

/* The last group's exchange alone is not hidden, where topk is faster; d waits for nobody. */
TEST(no_group_that_is_hidden_anyway_is_compressed) {
    const struct gw_mixed_request request = {.choices = "topk:0.01,dense"};
    struct gw_plans plans = {0};
    inputs.model.tensors[0].elements = 1000000;
    assert_ok(gw_plans_make_mixed(&scenario, &request, &plans, &error));
    const struct gw_plan *plan = &plans.plans[0];
    assert_string_equal(plan->ways[0].choice, "dense");
    assert_string_equal(plan->ways[plan->way_count - 1].choice, "topk:0.01");
    gw_plans_free(&plans);
    inputs.model.tensors[0].elements = 3000;
}

TEST(no_pipeline_is_below_the_mixed_plan_of_all_their_ways) {
    struct gw_arena arena = {0};
    const struct gw_algorithm **algorithms = NULL;
    struct gw_comparison comparison = {.scenario = &scenario, .mixed = true};
    struct gw_ranking ranking;
    assert_ok(gw_algorithms_parse("all", &arena, &algorithms, &comparison.count, &error));
    comparison.algorithms = algorithms;
    assert_ok(gw_rank(&comparison, &ranking, &error));
    assert_true(ranking.count > 5);
    for (size_t i = 0; i < ranking.count; i++) {
        double above = gw_ranking_above_mixed(&ranking, i);
        if (!(above >= -1e-9)) {
            fail_msg("%s takes %g less", ranking.results[i].algorithm, -above);
        }
        assert_true(near(ranking.results[i].iteration_s,
                         (1 + above) * ranking.mixed.plans[0].iteration_s, 1e-9));
    }
    gw_ranking_free(&ranking);
    gw_arena_free(&arena);
}

/* ---- with interference --------------------------------------------------------------------- */

struct boxed {
    struct gw_scenario_inputs inputs;
    struct gw_scenario scenario;
};

/* A shipped model on four ranks that share two processors. */
static void open_boxed(const char *model, struct boxed *out) {
    *out = (struct boxed){0};
    assert_ok(gw_model_open(model, &out->inputs.model, &error));
    assert_ok(gw_cluster_open("box-4x1gbit", &out->inputs.cluster, &error));
    out->scenario = gw_scenario_of(&out->inputs.model, &out->inputs.cluster);
}

static void close_boxed(struct boxed *boxed) {
    gw_model_free(&boxed->inputs.model);
    gw_cluster_free(&boxed->inputs.cluster);
}

/* Makes the plan by that rule; returns what it takes with interference. */
static double plan_boxed(const struct boxed *boxed, enum gw_interference_rule rule,
                         const struct gw_mixed_request *request, struct gw_plans *out) {
    struct gw_scenario asked = boxed->scenario;
    asked.interference = rule;
    *out = (struct gw_plans){0};
    assert_ok(gw_plans_make_mixed(&asked, request, out, &error));
    if (rule == GW_INTERFERENCE_NONE) {
        assert_null(out->interfered_s);
        const struct gw_algorithm mixed = gw_algorithm_mixed(out->plans);
        assert_ok(gw_plans_predict(&boxed->scenario, &mixed, out, &error));
    }
    return out->interfered_s[0];
}

/* The bound is that of plans without interference, of which the proof speaks. */
TEST(a_mixed_plan_is_the_fastest_tried_with_interference) {
    static const char *const models[] = {"vgg16-cifar10", "resnet50", "lstm-ptb"};
    static const char *const single[] = {"dense", "bf16", "topk:0.01", "randk:0.001"};
    static const double keeps[] = {0, 0.9};
    for (size_t m = 0; m < 3; m++) {
        struct boxed boxed;
        open_boxed(models[m], &boxed);
        for (size_t i = 0; i < 2; i++) {
            struct gw_mixed_request request = {.choices = "dense,bf16,topk:0.01,randk:0.001",
                                               .keep = keeps[i]};
            struct gw_plans without;
            struct gw_plans with;
            double without_s = plan_boxed(&boxed, GW_INTERFERENCE_NONE, &request, &without);
            double with_s = plan_boxed(&boxed, GW_INTERFERENCE_KNOWN, &request, &with);
            assert_true(with_s <= without_s);
            assert_true(m != 0 || i != 0 || with_s < 0.95 * without_s);
            assert_true(with.energy_kept >= keeps[i]);
            assert_true(with.plans->lower_bound_s == without.plans->lower_bound_s);
            assert_true(with.plans->iteration_s >= without.plans->iteration_s * (1 - 1e-8));
            gw_plans_free(&without);
            gw_plans_free(&with);
            for (size_t k = 0; k < 4 && keeps[i] == 0; k++) {
                request.choices = single[k];
                assert_true(plan_boxed(&boxed, GW_INTERFERENCE_NONE, &request, &without) >= with_s);
                gw_plans_free(&without);
            }
        }
        close_boxed(&boxed);
    }
}

/* The fastest of all 54 plans of four tensors by two choices, each simulated. */
static double fastest_of_four(const struct gw_scenario *boxed) {
    static const char *const names[] = {"dense", "topk:0.01"};
    struct gw_costs costs[2];
    double fastest_s = INFINITY;
    for (size_t k = 0; k < 2; k++) {
        struct gw_way way;
        assert_true(gw_choice_parse(names[k], 0.01, &way));
        const struct gw_algorithm method = {.compressor = way.compressor, .exchange = way.exchange};
        struct gw_scenario asked = *boxed;
        asked.method = &method;
        asked.density = way.density;
        assert_ok(gw_costs_open(&asked, &costs[k], &error));
    }
    const struct gw_mix mix = {.costs = costs, .count = 2, .most_lost = INFINITY};
    for (size_t number = 0; number < 2 * 27; number++) {
        size_t marks[] = {1 + number % 2, number / 2 % 3, number / 6 % 3, number / 18};
        const struct gw_optimum optimum = {.marks = marks};
        struct gw_plan plan;
        double seconds = 0;
        assert_ok(gw_planner_plan_mixed(&mix, names, &optimum, &plan, &error));
        const struct gw_algorithm mixed = gw_algorithm_mixed(&plan);
        assert_ok(gw_plan_predict(boxed, &mixed, &plan, &seconds, &error));
        fastest_s = fmin(fastest_s, seconds);
        gw_plan_free(&plan);
    }
    gw_costs_close(&costs[0]);
    gw_costs_close(&costs[1]);
    return fastest_s;
}

TEST(mixed_plans_of_four_tensors_are_nearly_the_fastest_with_interference) {
    struct gw_random *random = random_stream(7);
    struct gw_cluster cluster;
    assert_ok(gw_cluster_open("box-4x1gbit", &cluster, &error));
    int trials = gw_trials(200);
    int slower = 0;
    for (int trial = 0; trial < trials; trial++) {
        const struct gw_mixed_request request = {.choices = "dense,topk:0.01"};
        struct boxed boxed = {0};
        struct gw_plans plans;
        struct gw_model model;
        parse_model(&model,
                    "'forward_s': 0.01, 'update_s': 0, 'tensors': [{'name': 'a', 'elements': 1, "
                    "'backward_s': 0}, {'name': 'b', 'elements': 1, 'backward_s': 0}, {'name': 'c',"
                    "'elements': 1, 'backward_s': 0}, {'name': 'd', 'elements': 1, 'backward_s': "
                    "0}]");
        for (size_t i = 0; i < 4; i++) {
            model.tensors[i].elements = (uint64_t)pow(10, 2 + 4.5 * gw_random_uniform(random));
            model.tensors[i].backward_s = pow(10, -4 + 2 * gw_random_uniform(random));
        }
        boxed.scenario = gw_scenario_of(&model, &cluster);
        double found_s = plan_boxed(&boxed, GW_INTERFERENCE_KNOWN, &request, &plans);
        double fastest_s = fastest_of_four(&boxed.scenario);
        assert_true(found_s >= fastest_s * (1 - 1e-9) && found_s <= 1.1 * fastest_s);
        slower += found_s > 1.002 * fastest_s;
        gw_plans_free(&plans);
        gw_model_free(&model);
    }
    if (slower > 1 + trials / 100) {
        fail_msg("%d of %d plans take over 0.2%% more than the fastest", slower, trials);
    }
    gw_cluster_free(&cluster);
}

/* Trainings say that hard-threshold selects 12 times what is asked: so many are counted, and as
 * many as before are asked for. */
TEST(choices_count_what_trainings_say_is_selected) {
    const struct gw_mixed_request asked = {.choices = "hard-threshold:0.001"};
    const struct gw_mixed_request sent = {.choices = "topk:0.001"};
    struct boxed boxed;
    struct gw_plans plans;
    open_boxed("vgg16-cifar10", &boxed);
    (void)plan_boxed(&boxed, GW_INTERFERENCE_NONE, &sent, &plans);
    assert_int_equal(plans.plans->note_count, 0);
    gw_plans_free(&plans);
    (void)plan_boxed(&boxed, GW_INTERFERENCE_NONE, &asked, &plans);
    assert_true(plans.plans->ways[0].density == 0.001);
    assert_true(near(plans.plans->ways[0].sent_density, 0.012, 1e-12));
    assert_true(near(plans.plans->density, 0.001, 1e-3));
    assert_string_equal(plans.plans->notes[0], "hard-threshold:0.001: counted as in trainings, "
                                               "where it selects 12 times what is asked");
    gw_plans_free(&plans);
    close_boxed(&boxed);
}

/* Predicts the plan's iteration as the pipeline of a command does. */
static struct gw_result predict_plan(const struct gw_scenario *asked, const struct gw_plan *plan,
                                     const char *counts) {
    const struct gw_algorithm mixed = gw_algorithm_mixed(plan);
    const struct gw_prediction_options options = {.counts.name = counts,
                                                  .simulation = {.seed = 1, .threads = 1}};
    struct gw_pipeline pipeline;
    struct gw_result result;
    assert_ok(gw_pipeline_open(asked, &mixed, plan, &pipeline, &error));
    assert_ok(gw_pipeline_predict(&pipeline, &options, NULL, &result, &error));
    gw_pipeline_close(&pipeline);
    return result;
}

/* A plan is read back from its file and takes what was planned; with counts as asked, what the same
 * plan takes that expects nothing. */
static void check_file_counts(const struct gw_scenario *asked, const char *choices,
                              const char *path) {
    const struct gw_mixed_request request = {.choices = choices};
    struct gw_plans plans = {0};
    struct gw_plan plan;
    assert_ok(gw_plans_make_mixed(asked, &request, &plans, &error));
    assert_ok(gw_plan_write(plans.plans, path, &error));
    assert_ok(gw_plan_read(path, &plan, &error));
    struct gw_result planned = predict_plan(asked, &plan, NULL);
    if (!near(planned.iteration_s, plans.plans->iteration_s, 1e-9)) {
        fail_msg("%s of %s on %s: planned %g, simulated %g", choices, asked->model->name,
                 asked->cluster->name, plans.plans->iteration_s, planned.iteration_s);
    }
    assert_true(plans.plans->iteration_s >= plans.plans->lower_bound_s);
    bool trained = false;
    for (size_t g = 0; g < plan.way_count; g++) {
        trained = trained || plan.ways[g].sent_density > 0;
    }
    assert_true(trained);
    assert_string_equal(planned.counts, "as in trainings");
    struct gw_result as_asked = predict_plan(asked, &plan, "asked");
    for (size_t g = 0; g < plan.way_count; g++) {
        plan.ways[g].sent_density = 0;
    }
    struct gw_result unexpected = predict_plan(asked, &plan, NULL);
    assert_string_equal(unexpected.counts, "as asked");
    assert_true(as_asked.iteration_s == unexpected.iteration_s);
    assert_true(as_asked.bytes_per_worker == unexpected.bytes_per_worker &&
                as_asked.bytes_per_worker != planned.bytes_per_worker);
    gw_plan_free(&plan);
    gw_plans_free(&plans);
}

TEST_IN_FOLDER(plans_take_what_their_files_are_simulated_to_take) {
    static const char *const models[] = {"vgg16-cifar10", "lstm-ptb", "resnet50"};
    static const char *const choices[] = {
        "hard-threshold:0.001", "gaussiank:0.01,dense", "dgc:0.01",
        "redsync:0.001,bf16",   "sidco:0.01,int8",      "exdyna:0.001,topk:0.001"};
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/plan.json", (const char *)*state);
    for (size_t i = 0; i < 3; i++) {
        struct boxed boxed;
        open_boxed(models[i], &boxed);
        boxed.scenario.interference = GW_INTERFERENCE_NONE;
        for (size_t c = 0; c < sizeof choices / sizeof *choices; c++) {
            check_file_counts(&boxed.scenario, choices[c], path);
            struct gw_scenario other = boxed.scenario;
            other.workers = 3;
            other.bandwidth = 20;
            check_file_counts(&other, choices[c], path);
        }
        close_boxed(&boxed);
    }
}

#define GAUSSIANK                                                                                  \
    "{'choice': 'gaussiank:0.1', 'compressor': 'gaussiank', 'exchange': 'allgather-padded', "      \
    "'density': 0.1, 'sent_density': 0.3}"

/* Trains in groups that go those ways; the caller frees both. */
static void train_mixed(const char *ways, struct gw_counts *out, struct gw_selected **selected) {
    const struct gw_gradient_emulation settings = {.model = "tiny",
                                                   .algorithm = "mixed",
                                                   .warmup = 10,
                                                   .iterations = 2,
                                                   .decay = SIZE_MAX,
                                                   .elements = 6010,
                                                   .seed = 1,
                                                   .threads = 1};
    struct gw_plan plan;
    struct gw_pipeline pipeline;
    parse_mixed(ways, &plan);
    const struct gw_algorithm mixed = gw_algorithm_mixed(&plan);
    assert_ok(gw_pipeline_open(&scenario, &mixed, &plan, &pipeline, &error));
    assert_ok(gw_emulate_gradients(&pipeline.schedule, &settings, out, &error));
    assert_ok(gw_counts_selected(out, &pipeline.schedule, selected, &error));
    gw_pipeline_close(&pipeline);
    gw_plan_free(&plan);
}

/* The middle group's counts are those among others of its kind; dense groups count whole, and exact
 * ones as they are asked. */
TEST(groups_of_a_mixed_plan_are_trained_each_by_its_way) {
    struct gw_counts alike, counts;
    struct gw_selected *alike_selected, *selected;
    train_mixed(GAUSSIANK ", " GAUSSIANK ", " GAUSSIANK, &alike, &alike_selected);
    train_mixed(DENSE ", " GAUSSIANK ", {'choice': 'topk:0.1', 'compressor': 'topk', 'exchange': "
                      "'allgather', 'density': 0.1}",
                &counts, &selected);
    assert_string_equal(alike.compressor, "gaussiank");
    assert_string_equal(counts.compressor, "mixed");
    for (size_t i = 0; i < 2; i++) {
        for (size_t w = 0; w < 3; w++) {
            assert_int_equal(gw_counts_at(&counts, i, 0)[w], 10);
            assert_int_equal(gw_counts_at(&counts, i, 1)[w], gw_counts_at(&alike, i, 1)[w]);
            assert_int_equal(gw_counts_at(&counts, i, 2)[w], 300);
        }
        assert_int_equal(selected[3 * i].all, 10);
        assert_int_equal(selected[3 * i + 1].most, alike_selected[3 * i + 1].most);
        assert_int_equal(selected[3 * i + 2].all, 300);
        assert_true(counts.distinct[3 * i + 2] > 300);
    }
    free(alike_selected);
    free(selected);
    gw_counts_free(&alike);
    gw_counts_free(&counts);
}

static void refuse_choices(const char *choices, double keep, const char *expected) {
    const struct gw_mixed_request request = {.choices = choices, .keep = keep};
    struct gw_plans plans = {0};
    assert_int_equal(gw_plans_make_mixed(&scenario, &request, &plans, &error), GW_BAD_INPUT);
    if (strstr(error.message, expected) == NULL) {
        fail_msg("expected \"%s\", got \"%s\"", expected, error.message);
    }
    gw_plans_free(&plans);
}

TEST(choices_that_cannot_be_are_refused) {
    refuse_choices("dense,zip", 0,
                   "such as dense,topk:0.01, with a density above 0 and at most 1 for those that "
                   "select; got \"zip\"");
    refuse_choices("", 0, "got \"\"");
    refuse_choices("dense:0.5", 0, "got \"dense:0.5\"");
    refuse_choices("topk:2", 0, "got \"topk:2\"");
    refuse_choices("topk:0.01,dense,topk:1e-2", 0, "each once");
    refuse_choices("dense,dgc", 0, "compressors.dgc: expected a measured curve");
    refuse_choices("topk:0.01,randk:0.01", 0.9, "energy kept: expected at most");
}

TEST(codes_take_the_time_of_their_bytes_and_of_their_aggregation) {
    double c = 0.5 + 0.3 + 0.01 + 1e-6 * 10; /* d: bf16, 2 bytes an element, decoded after it */
    double t = c + 0.1 + 3e-4 * 20 + 2e-5 * 10;
    c += 0.3 + 2 + 0.02 + 2e-6 * 3000; /* c, b: int8 in parts of 1000, with 12 and 4 scales */
    t = fmax(c, t) + 0.2 + 5e-4 * (3000 + 4 * 12) + 1e-5 * 3 * 1000 + 0.02 + 2e-6 * 1000;
    t += 0.5 + 1e-3 * (1000 + 4 * 4) + 2e-5 * 3 * 1000;
    c += 0.1 + 0.03 + 3e-6 * 3000; /* a: QSGD, 4 bits and 6 scales, added by all */
    t = fmax(c, t) + 0.5 + 1e-3 * (1500 + 4 * 6) + 1e-5 * 3 * 3000;
    struct gw_plan plan;
    struct gw_pipeline pipeline;
    struct gw_result result;
    parse_mixed("{'choice': 'bf16', 'compressor': 'bf16', 'exchange': 'halves', 'density': 1}, "
                "{'choice': 'int8', 'compressor': 'int8', 'exchange': 'two-phase', 'density': 1}, "
                "{'choice': 'qsgd', 'compressor': 'qsgd', 'exchange': 'allgather-codes', "
                "'density': 1}",
                &plan);
    const struct gw_algorithm mixed = gw_algorithm_mixed(&plan);
    const struct gw_prediction_options options = {0};
    assert_ok(gw_pipeline_open(&scenario, &mixed, &plan, &pipeline, &error));
    assert_ok(gw_pipeline_predict(&pipeline, &options, NULL, &result, &error));
    assert_true(fabs(result.iteration_s - (t + 0.25)) < 1e-9);
    assert_true(result.bytes_per_worker == 20 + 3048 + 1016 + 1524);
    gw_pipeline_close(&pipeline);
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
