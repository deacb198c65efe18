/*
 * Timelines made by hand, whose difference is known: what each operation contributes to it, and
 * that all of it is accounted for.
 */
#include "study/difference.h"
#include "study/predict.h"
#include "tests/test.h"

enum { WORKERS = 3, MOST_OPERATIONS = 16, MOST_ITERATIONS = 4 };

/* Operations of the schedule: forward, then for each of three groups these, then the update. */
enum { FORWARD = 0, UPDATE = 10 };
enum { BACKWARD = 1, COMPRESS, EXCHANGE };
#define OF(group, what) (3 * (group) + (what))

static struct gw_error error;
static struct gw_scenario_inputs inputs;
static struct gw_scenario scenario;
static struct gw_pipeline pipeline;
static const struct gw_schedule *const schedule = &pipeline.schedule;

static const char model_text[] =
    "{\"schema\": \"gradweave/model@1\", \"name\": \"tiny\", \"forward_s\": 1, \"update_s\": 0.5,"
    " \"tensors\": [{\"name\": \"a\", \"elements\": 3000, \"backward_s\": 1},"
    " {\"name\": \"b\", \"elements\": 2000, \"backward_s\": 2},"
    " {\"name\": \"c\", \"elements\": 1000, \"backward_s\": 3}]}";

/* Four processors' worth of ranks on two; a curve with "raw", and one of points. */
static const char cluster_text[] =
    "{\"schema\": \"gradweave/cluster@1\", \"name\": \"here\", \"workers\": 3,"
    " \"workers_per_node\": 1, \"collectives\": {"
    " \"allgather\": [{\"workers\": 3, \"alpha_s\": 0.5, \"beta_s_per_byte\": 0,"
    "   \"raw\": [{\"bytes\": 4, \"median_s\": 1}, {\"bytes\": 16, \"median_s\": 1},"
    "             {\"bytes\": 64, \"median_s\": 1}]}],"
    " \"broadcast\": [{\"workers\": 2, \"alpha_s\": 0.5, \"beta_s_per_byte\": 0}],"
    " \"sendrecv\": [{\"workers\": 2, \"alpha_s\": 0.5, \"beta_s_per_byte\": 0}]},"
    " \"compressors\": {\"topk\": {\"points\": [[1500, 0.25], [2500, 0.25]]}}}";

static int open_all(void **state) {
    static struct gw_algorithm algorithm;
    const struct gw_algorithm *lags = NULL;
    (void)state;
    assert_ok(gw_model_parse(model_text, strlen(model_text), "m", &inputs.model, &error));
    assert_ok(gw_cluster_parse(cluster_text, strlen(cluster_text), "c", &inputs.cluster, &error));
    scenario = gw_scenario_of(&inputs.model, &inputs.cluster);
    scenario.workers = WORKERS;
    assert_ok(gw_algorithm_find("lags", &lags, &error));
    algorithm = *lags;
    assert_ok(gw_pipeline_open(&scenario, &algorithm, NULL, &pipeline, &error));
    assert_int_equal(schedule->operation_count, UPDATE + 1);
    return 0;
}

/* Finds the costs of the cluster again, by an exchange of one leg. */
static void reopen_costs(const struct gw_exchange_kind *exchange) {
    struct gw_algorithm method = *pipeline.algorithm;
    struct gw_scenario asked = scenario;
    method.exchange = exchange;
    asked.method = &method;
    gw_costs_close(&pipeline.costs);
    assert_ok(gw_costs_open(&asked, &pipeline.costs, &error));
}

static int close_all(void **state) {
    (void)state;
    gw_pipeline_close(&pipeline);
    gw_model_free(&inputs.model);
    gw_cluster_free(&inputs.cluster);
    return 0;
}

FIXTURES(open_all, close_all)

/* ---- timelines ------------------------------------------------------------------------------- */

/* The time of each operation on each worker, and the idle time before it. */
struct work {
    double seconds[WORKERS][MOST_OPERATIONS], idle_s[WORKERS][MOST_OPERATIONS];
};

static struct work as_asked(void) {
    static const double of_groups[][3] = {{3, 0.25, 1}, {2, 0.25, 1}, {1, 0.25, 1}};
    struct work work = {0};
    for (size_t w = 0; w < WORKERS; w++) {
        work.seconds[w][FORWARD] = 1;
        work.seconds[w][UPDATE] = 0.5;
        for (size_t g = 0; g < 3; g++) {
            for (size_t what = 0; what < 3; what++) {
                work.seconds[w][OF(g, what + 1)] = of_groups[g][what];
            }
        }
    }
    return work;
}

static void take(struct work *work, size_t operation, double seconds) {
    for (size_t w = 0; w < WORKERS; w++) {
        work->seconds[w][operation] = seconds;
    }
}

/* When a worker can begin it. */
static double ready_s(const double ends[MOST_OPERATIONS], size_t i) {
    const struct gw_operation *operation = &schedule->operations[i];
    double latest_s = 0;
    for (size_t before = 0; before < i; before++) {
        bool awaited = schedule->operations[before].stream == operation->stream;
        for (size_t d = 0; d < operation->dependency_count; d++) {
            awaited = awaited || schedule->dependencies[operation->first_dependency + d] == before;
        }
        latest_s = awaited ? fmax(latest_s, ends[before]) : latest_s;
    }
    return latest_s;
}

/* Executors' timelines count the wait for others as part of an exchange, simulators' do not. */
static void add_spans(struct gw_timeline *timeline, size_t lane, size_t i, double came_s,
                      double start_s, double end_s, bool splits_waits) {
    const struct gw_operation *operation = &schedule->operations[i];
    struct gw_span span = {.lane = lane,
                           .stream = operation->stream,
                           .activity = operation->kind,
                           .group = operation->group,
                           .label = operation->label,
                           .bytes = operation->kind == GW_EXCHANGE ? 8 : 0,
                           .start_s = splits_waits ? start_s : came_s,
                           .end_s = end_s};
    if (splits_waits && came_s < start_s) {
        struct gw_span wait = span;
        wait.activity = GW_WAIT;
        wait.start_s = came_s;
        wait.end_s = start_s;
        assert_ok(gw_timeline_add(timeline, wait, &error));
    }
    assert_ok(gw_timeline_add(timeline, span, &error));
}

/* Everything as soon as it can begin. `lanes`: 1 for all workers, which are then alike. */
static void run(struct gw_timeline *timeline, const struct work *work, size_t lanes,
                bool splits_waits) {
    double ends[WORKERS][MOST_OPERATIONS] = {{0}};
    double begin_s = timeline->iteration_count == 0
                         ? 0
                         : timeline->iterations[timeline->iteration_count - 1].end_s;
    double end_s = 0;
    for (size_t i = 0; i < schedule->operation_count; i++) {
        double came_s[WORKERS];
        double last_s = 0;
        for (size_t w = 0; w < lanes; w++) {
            came_s[w] = ready_s(ends[w], i) + work->idle_s[w][i];
            last_s = fmax(last_s, came_s[w]);
        }
        for (size_t w = 0; w < lanes; w++) {
            bool exchange = schedule->operations[i].kind == GW_EXCHANGE;
            double start_s = exchange ? last_s : came_s[w];
            ends[w][i] = start_s + work->seconds[w][i];
            end_s = fmax(end_s, ends[w][i]);
            add_spans(timeline, w, i, begin_s + came_s[w], begin_s + start_s, begin_s + ends[w][i],
                      splits_waits);
        }
    }
    assert_ok(gw_timeline_add_iteration(timeline, begin_s, begin_s + end_s, &error));
}

/* Both sides' timelines, and what came out. */
struct compared {
    struct gw_timeline predicted, measured;
    struct gw_arena arena;
    struct gw_difference difference;
};

static void compare_iterations(struct compared *out, const struct work *predicted,
                               size_t predicted_count, const struct work *measured,
                               size_t measured_count, size_t predicted_lanes) {
    *out = (struct compared){.arena = {0}};
    assert_ok(gw_timeline_create(&out->predicted, predicted_lanes, &error));
    assert_ok(gw_timeline_create(&out->measured, WORKERS, &error));
    for (size_t i = 0; i < predicted_count; i++) {
        run(&out->predicted, &predicted[i], predicted_lanes, true);
    }
    for (size_t i = 0; i < measured_count; i++) {
        run(&out->measured, &measured[i], WORKERS, false);
    }
    assert_ok(gw_difference_find(&scenario, &pipeline, &out->predicted, &out->measured, &out->arena,
                                 &out->difference, &error));
}

static void compare(struct compared *out, const struct work *predicted,
                    const struct work *measured) {
    compare_iterations(out, predicted, 1, measured, 1, WORKERS);
}

static void end(struct compared *compared) {
    gw_timeline_free(&compared->predicted);
    gw_timeline_free(&compared->measured);
    gw_arena_free(&compared->arena);
}

static double contribution(const struct compared *compared, size_t operation) {
    return compared->difference.operations[operation].contribution_s;
}

/* That nothing else contributes than `count` operations, so much each. */
static void assert_contributions(const struct compared *compared, const size_t *operations,
                                 const double *seconds, size_t count) {
    for (size_t i = 0; i < schedule->operation_count; i++) {
        double expected = 0;
        for (size_t j = 0; j < count; j++) {
            expected = operations[j] == i ? seconds[j] : expected;
        }
        if (fabs(contribution(compared, i) - expected) > 1e-12) {
            fail_msg("operation %zu: %g, expected %g", i, contribution(compared, i), expected);
        }
    }
    assert_int_equal(compared->difference.contributing, count);
}

static void assert_one(const struct compared *compared, size_t operation, double seconds) {
    assert_contributions(compared, &operation, &seconds, 1);
}

static void assert_adds_up(const struct gw_difference *difference) {
    double operations_s = 0;
    double parameters_s = 0;
    for (size_t i = 0; i < schedule->operation_count; i++) {
        operations_s += difference->operations[i].contribution_s;
    }
    for (size_t i = 0; i < difference->parameter_count; i++) {
        parameters_s += difference->parameters[i].contribution_s;
    }
    double whole_s = gw_difference_s(difference);
    assert_true(fabs(operations_s + difference->elsewhere_s - whole_s) < 1e-9);
    assert_true(fabs(parameters_s + difference->waited_s + difference->elsewhere_s - whole_s) <
                1e-9);
}

/* ---- one cause ------------------------------------------------------------------------------- */

/* The last exchange is on the path, whatever comes before it. */
TEST(an_exchange_on_the_path_contributes_what_it_takes_more) {
    struct work predicted = as_asked();
    struct work measured = as_asked();
    struct compared compared;
    take(&measured, OF(2, EXCHANGE), 2);
    compare(&compared, &predicted, &measured);
    assert_int_equal(compared.difference.path, GW_MEASURED);
    assert_one(&compared, OF(2, EXCHANGE), 1);
    assert_true(compared.difference.elsewhere_s == 0);
    assert_int_equal(compared.difference.largest[0], OF(2, EXCHANGE));
    assert_adds_up(&compared.difference);
    end(&compared);
}

TEST(an_exchange_that_is_hidden_contributes_nothing) {
    struct work predicted = as_asked();
    struct work measured = as_asked();
    struct compared compared;
    take(&measured, OF(0, EXCHANGE), 2); /* of 2.25 s until the next one */
    compare(&compared, &predicted, &measured);
    assert_true(gw_difference_s(&compared.difference) == 0);
    assert_contributions(&compared, NULL, NULL, 0);
    end(&compared);

    take(&measured, FORWARD, 1.5); /* of the difference it has no part */
    compare(&compared, &predicted, &measured);
    assert_one(&compared, FORWARD, 0.5);
    assert_true(compared.difference.elsewhere_s == 0);
    assert_true(compared.difference.operations[OF(0, EXCHANGE)].on_path == 0);
    assert_true(near(compared.difference.operations[OF(0, EXCHANGE)].takes[GW_MEASURED].duration_s,
                     2, 1e-12));
    end(&compared);
}

/* Takes 3 s more; the prediction has the network idle for 1.25 s of them. */
TEST(slack_of_the_path_is_the_rest) {
    struct work predicted = as_asked();
    struct work measured = as_asked();
    struct compared compared;
    take(&measured, OF(0, EXCHANGE), 4);
    compare(&compared, &predicted, &measured);
    assert_one(&compared, OF(0, EXCHANGE), 3);
    assert_true(near(gw_difference_s(&compared.difference), 1.5, 1e-12));
    assert_true(near(compared.difference.elsewhere_s, -1.5, 1e-12));
    assert_adds_up(&compared.difference);
    end(&compared);
}

/* The same with the sides exchanged: the path is the prediction's. */
TEST(a_prediction_that_is_too_slow_is_walked_itself) {
    struct work predicted = as_asked();
    struct work measured = as_asked();
    struct compared compared;
    take(&predicted, OF(0, EXCHANGE), 4);
    compare(&compared, &predicted, &measured);
    assert_int_equal(compared.difference.path, GW_PREDICTED);
    assert_one(&compared, OF(0, EXCHANGE), -3);
    assert_true(near(compared.difference.elsewhere_s, 1.5, 1e-12));
    assert_adds_up(&compared.difference);
    end(&compared);
}

TEST(a_late_worker_is_to_blame_and_not_the_exchange) {
    struct work predicted = as_asked();
    struct work measured = as_asked();
    struct compared compared;
    measured.seconds[2][OF(2, COMPRESS)] += 0.75;
    compare(&compared, &predicted, &measured);
    assert_one(&compared, OF(2, COMPRESS), 0.75);
    assert_int_equal(compared.difference.operations[OF(2, COMPRESS)].worst_worker, 2);
    assert_int_equal(compared.difference.operations[OF(2, EXCHANGE)].worst_worker, 2);
    assert_int_equal(compared.difference.shown_worker, 2);
    assert_adds_up(&compared.difference);
    end(&compared);
}

/* Worker 1 is late by 0.5 s, but 0 has left by then, and what it does last takes longest. */
TEST(a_rank_later_than_the_end_is_not_waited_for) {
    struct work predicted = as_asked();
    struct work measured = as_asked();
    struct compared compared;
    const size_t operations[] = {OF(2, EXCHANGE), UPDATE};
    const double seconds[] = {0.25 - 1, 5};
    for (size_t w = 0; w < WORKERS; w++) {
        measured.seconds[w][OF(2, EXCHANGE)] = w == 1 ? 1 : -0.25; /* from when the last one came */
    }
    measured.seconds[1][OF(2, COMPRESS)] += 0.5;
    measured.seconds[0][UPDATE] += 5;
    compare(&compared, &predicted, &measured);
    assert_contributions(&compared, operations, seconds, 2);
    assert_true(compared.difference.elsewhere_s == 0);
    assert_adds_up(&compared.difference);
    end(&compared);
}

TEST(a_wait_before_an_operation_is_told_from_its_time) {
    struct work predicted = as_asked();
    struct work measured = as_asked();
    struct compared compared;
    for (size_t w = 0; w < WORKERS; w++) {
        measured.idle_s[w][OF(2, COMPRESS)] = 0.125;
    }
    compare(&compared, &predicted, &measured);
    const struct gw_difference *difference = &compared.difference;
    assert_one(&compared, OF(2, COMPRESS), 0.125);
    assert_true(near(difference->waited_s, 0.125, 1e-12));
    assert_true(
        near(difference->operations[OF(2, COMPRESS)].takes[GW_MEASURED].wait_s, 0.125, 1e-12));
    assert_true(
        near(difference->operations[OF(2, COMPRESS)].takes[GW_MEASURED].duration_s, 0.25, 1e-12));
    assert_adds_up(difference);
    end(&compared);
}

/* ---- several iterations ---------------------------------------------------------------------- */

TEST(iterations_are_walked_one_by_one) {
    struct work predicted = as_asked();
    struct work measured[3] = {as_asked(), as_asked(), as_asked()};
    struct compared compared;
    const size_t operations[] = {OF(2, COMPRESS), OF(2, EXCHANGE)};
    const double seconds[] = {1.5 / 3, 0.6 / 3};
    measured[0].seconds[1][OF(2, COMPRESS)] += 1.5;
    take(&measured[2], OF(2, EXCHANGE), 1.6);
    compare_iterations(&compared, &predicted, 1, measured, 3, 1);
    assert_contributions(&compared, operations, seconds, 2);
    assert_int_equal(compared.difference.shown_iteration, 2);
    assert_true(
        near(compared.difference.shown_s[GW_MEASURED] - compared.difference.shown_s[GW_PREDICTED],
             0.6, 1e-12));
    assert_adds_up(&compared.difference);
    end(&compared);
}

/* Each beside its own prediction, which comes round again. */
TEST(predicted_iterations_may_differ) {
    struct work predicted[2] = {as_asked(), as_asked()};
    struct work measured[4];
    struct compared compared;
    take(&predicted[1], OF(2, EXCHANGE), 3);
    for (size_t i = 0; i < 4; i++) {
        measured[i] = predicted[i % 2];
    }
    compare_iterations(&compared, predicted, 2, measured, 4, WORKERS);
    assert_contributions(&compared, NULL, NULL, 0);
    assert_true(fabs(gw_difference_s(&compared.difference)) < 1e-12);
    end(&compared);
}

/* ---- many causes at random ------------------------------------------------------------------- */

static struct work draw(struct gw_random *random, bool idles) {
    struct work work = as_asked();
    for (size_t w = 0; w < WORKERS; w++) {
        for (size_t i = 0; i < schedule->operation_count; i++) {
            work.seconds[w][i] *= 2 * gw_random_uniform(random);
            work.idle_s[w][i] = idles ? 0.1 * gw_random_uniform(random) : 0;
        }
    }
    return work;
}

/* Contributions with an operation off the path that takes less: the same, and none of its own. */
static void assert_off_path_counts_for_nothing(const struct compared *before,
                                               const struct work *predicted, struct work measured,
                                               struct gw_random *random) {
    size_t operation = gw_random_below(random, schedule->operation_count);
    const struct gw_difference *difference = &before->difference;
    if (difference->path != GW_MEASURED || difference->operations[operation].on_path > 0) {
        return;
    }
    struct compared after;
    for (size_t w = 0; w < WORKERS; w++) {
        measured.seconds[w][operation] /= 2;
    }
    compare(&after, predicted, &measured);
    for (size_t i = 0; i < schedule->operation_count; i++) {
        assert_true(fabs(contribution(&after, i) - contribution(before, i)) < 1e-9);
    }
    assert_true(contribution(&after, operation) == 0);
    end(&after);
}

TEST(everything_adds_up) {
    struct gw_random *random = random_stream(1);
    for (int trial = 0; trial < gw_trials(2000); trial++) {
        struct work predicted[MOST_ITERATIONS], measured[MOST_ITERATIONS];
        struct compared compared;
        size_t iterations = 1 + gw_random_below(random, MOST_ITERATIONS);
        for (size_t i = 0; i < iterations; i++) {
            predicted[i] = draw(random, false);
            measured[i] = draw(random, true);
        }
        compare_iterations(&compared, predicted, iterations, measured, iterations, WORKERS);
        const struct gw_difference *difference = &compared.difference;
        double last_s = compared.measured.iterations[iterations - 1].end_s;
        assert_true(near(difference->iteration_s[GW_MEASURED] * (double)iterations, last_s, 1e-12));
        assert_true(difference->path == GW_MEASURED ? difference->elsewhere_s < 1e-12
                                                    : difference->elsewhere_s > -1e-12);
        assert_adds_up(difference);
        if (iterations == 1) {
            assert_off_path_counts_for_nothing(&compared, predicted, measured[0], random);
        }
        end(&compared);
    }
}

/* ---- what is no timeline of the schedule ----------------------------------------------------- */

static void assert_refused(struct compared *compared, const char *expected) {
    enum gw_status status =
        gw_difference_find(&scenario, &pipeline, &compared->predicted, &compared->measured,
                           &compared->arena, &compared->difference, &error);
    assert_int_equal(status, GW_FAILED);
    assert_non_null(strstr(error.message, expected));
}

TEST(timelines_of_other_schedules_are_refused) {
    struct work work = as_asked();
    struct compared compared;
    compare(&compared, &work, &work);
    struct gw_timeline *measured = &compared.measured;
    measured->spans[0].activity = GW_UPDATE;
    assert_refused(&compared, "expected the schedule's operations in its order, got update");
    measured->spans[0].activity = GW_FORWARD;
    measured->spans[WORKERS].group = 7;
    assert_refused(&compared, "expected the schedule's operations in its order, got backward c");
    measured->spans[WORKERS].group = 0;
    measured->span_count--;
    assert_refused(&compared, "expected 8 operations on the compute stream of lane 2, got 7");
    assert_ok(gw_timeline_add(measured, measured->spans[measured->span_count], &error));
    assert_ok(gw_timeline_add(measured, measured->spans[measured->span_count - 1], &error));
    assert_refused(&compared, "expected no more operations than the schedule has");
    measured->iteration_count = 0;
    assert_refused(&compared, "expected iterations of 3 workers, got 0 of 3");
    end(&compared);
}

/* ---- what it hangs on ------------------------------------------------------------------------ */

static void assert_parameter(const struct compared *compared, size_t operation, const char *name,
                             const char *detail) {
    assert_string_equal(compared->difference.operations[operation].parameter, name);
    assert_string_equal(compared->difference.operations[operation].detail, detail);
}

TEST(operations_hang_on_entries_of_files) {
    struct work work = as_asked();
    struct compared compared;
    compare(&compared, &work, &work);
    assert_parameter(&compared, FORWARD, "forward_s", "");
    assert_parameter(&compared, UPDATE, "update_s", "");
    assert_parameter(&compared, OF(0, BACKWARD), "tensors.backward_s", "tensors[2]");
    assert_parameter(&compared, OF(2, BACKWARD), "tensors.backward_s", "tensors[0]");
    assert_parameter(&compared, OF(0, COMPRESS), "compressors.topk",
                     "at 1,000, below the smallest measured, 1,500 elements");
    assert_parameter(&compared, OF(1, COMPRESS), "compressors.topk",
                     "at 2,000, between 1,500 and 2,500 elements");
    assert_parameter(&compared, OF(2, COMPRESS), "compressors.topk",
                     "at 3,000, above the largest measured, 2,500 elements");
    assert_parameter(&compared, OF(0, EXCHANGE), "collectives.allgather[workers=3]",
                     "at 8 B, between 4 B and 16 B");
    assert_int_equal(compared.difference.parameter_count, 5);
    end(&compared);
}

static void assert_found(struct gw_predicted_operation predicted, const char *name,
                         const char *detail) {
    char found[2][GW_PARAMETER_SIZE];
    gw_parameter_find(&pipeline.costs, schedule, &predicted, found[0], found[1]);
    assert_string_equal(found[0], name);
    assert_string_equal(found[1], detail);
}

TEST(slowed_operations_depend_on_the_concurrent_curve) {
    struct gw_predicted_operation exchange = {
        .number = OF(0, EXCHANGE), .bytes = 16, .duration_s = 0.6, .beside = "topk"};
    struct gw_predicted_operation compress = {
        .number = OF(1, COMPRESS), .duration_s = 0.5, .beside = "allgather", .interference = true};
    assert_found(exchange, "collectives.allgather[workers=3]", "at 16 B, as measured");
    exchange.interference = true;
    assert_found(exchange, "overlap.factors.allgather.topk", "at 16 B, as measured");
    exchange.duration_s = 0.5;
    assert_found(exchange, "collectives.allgather[workers=3]", "at 16 B, as measured");
    assert_found(compress, "overlap.factors.allgather.topk",
                 "at 2,000, between 1,500 and 2,500 elements");
    inputs.cluster.sharing = (struct gw_sharing){4, 2, 4};
    inputs.cluster.compressors.list[0].together.per_unit_s = 1;
    assert_found(compress, "compressors.topk.together",
                 "at 2,000, between 1,500 and 2,500 elements");
    compress.duration_s = 0.25;
    assert_found(compress, "compressors.topk", "at 2,000, between 1,500 and 2,500 elements");
    struct gw_kernel_cost *topk = &inputs.cluster.compressors.list[0];
    topk->densities[0] = scenario.density / 32;
    topk->densities[1] = scenario.density / 2;
    topk->denser.per_unit_s = 1e-5;
    assert_found(compress, "compressors.topk.denser", "at 2,000 elements");
    compress.duration_s = 2;
    assert_found(compress, "compressors.topk.denser", "at 2,000 elements");
    topk->denser_together.per_unit_s = 1;
    assert_found(compress, "compressors.topk.denser.together", "at 2,000 elements");
    topk->denser = topk->denser_together = (struct gw_curve){0};
    topk->densities[0] = topk->densities[1] = 0;
    inputs.cluster.compressors.list[0].together.per_unit_s = 0;
    inputs.cluster.sharing = (struct gw_sharing){0};
}

/* Also to what comes on top of the exchange, which is no slowing. */
TEST(exchanges_hang_on_their_aggregation) {
    struct gw_kernel_costs *costs = &inputs.cluster.aggregation;
    struct gw_predicted_operation exchange = {.number = OF(0, EXCHANGE),
                                              .bytes = 16,
                                              .duration_s = 0.6,
                                              .beside = "topk",
                                              .interference = true};
    assert_found(exchange, "overlap.factors.allgather.topk", "at 16 B, as measured");
    assert_ok(gw_kernel_costs_add(costs, "scatter-add", (struct gw_curve){.fixed_s = 0.1},
                                  cJSON_CreateObject(), &error));
    reopen_costs(&gw_exchange_allgather);
    assert_found(exchange, "collectives.allgather[workers=3] + aggregation.scatter-add",
                 "at 16 B, as measured");
    costs->list[0].together.per_unit_s = 0.05; /* three entries, but the first */
    inputs.cluster.sharing = (struct gw_sharing){3, 1, 3};
    exchange.duration_s = 0.8;
    assert_found(exchange, "overlap.factors.allgather.topk", "at 16 B, as measured");
    exchange.duration_s = 0.7;
    assert_found(exchange, "collectives.allgather[workers=3] + aggregation.scatter-add.together",
                 "at 16 B, as measured");
    inputs.cluster.sharing = (struct gw_sharing){0};
    free(costs->list[0].name);
    cJSON_Delete(costs->list[0].kept);
    costs->count = 0;
    reopen_costs(&gw_exchange_allgather);
}

/* The file has no curve of them: others make them up, or other numbers of workers. */
TEST(derived_curves_hang_on_what_they_are_derived_from) {
    const struct {
        const char *collective, *name, *detail;
    } table[] = {{"gtopk", "collectives.sendrecv[workers=2] + broadcast[workers=3]", "at 8 B"},
                 {"broadcast", "collectives.broadcast[workers=3]",
                  "at 8 B, derived from other numbers of workers"}};
    struct gw_operation *operation = &pipeline.schedule.operations[OF(0, EXCHANGE)];
    const struct gw_predicted_operation exchange = {.number = OF(0, EXCHANGE), .bytes = 8};
    const char *before = operation->method;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct gw_exchange_kind only = {
            .leg_count = 1, .legs = {{.collective = table[i].collective, .payload = GW_SPARSE}}};
        reopen_costs(&only);
        operation->method = table[i].collective;
        assert_found(exchange, table[i].name, table[i].detail);
    }
    operation->method = before;
    reopen_costs(&gw_exchange_allgather);
}
