/*
 * Timelines made by hand, whose difference is known: what each operation contributes to it, and
 * that all of it is accounted for.
 */
#include "study/difference.h"
#include "study/predict.h"
#include "tests/clusters.h"
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

static int open_all(void **state) {
    static struct gw_algorithm algorithm;
    const struct gw_algorithm *lags = NULL;
    (void)state;
    parse_model(&inputs.model,
                "'forward_s': 1, 'update_s': 0.5, 'tensors': [{'name': 'a', 'elements': 3000, "
                "'backward_s': 1}, {'name': 'b', 'elements': 2000, 'backward_s': 2}, {'name': 'c', "
                "'elements': 1000, 'backward_s': 3}]");
    parse_cluster(&inputs.cluster,
                  "'workers': 3, 'workers_per_node': 1, 'collectives': { 'allgather': [{'workers': "
                  "3, 'alpha_s': 0.5, 'beta_s_per_byte': 0,   'raw': [{'bytes': 4, 'median_s': 1}, "
                  "{'bytes': 16, 'median_s': 1},             {'bytes': 64, 'median_s': 1}]}], "
                  "'broadcast': [{'workers': 2, 'alpha_s': 0.5, 'beta_s_per_byte': 0}], "
                  "'sendrecv': [{'workers': 2, 'alpha_s': 0.5, 'beta_s_per_byte': 0}]}, "
                  "'compressors': {'topk': {'points': [[1500, 0.25], [2500, 0.25]]}}");
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
    struct gw_algorithm method = *pipeline.scenario.method;
    struct gw_scenario asked = scenario;
    method.exchange = exchange;
    asked.method = &method;
    gw_costs_close(pipeline.costs);
    assert_ok(gw_costs_open(&asked, pipeline.costs, &error));
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
    assert_ok(gw_difference_find(&pipeline, &out->predicted, &out->measured, &out->arena,
                                 &out->difference, &error));
    assert_adds_up(&out->difference);
}

static void end(struct compared *of) {
    gw_timeline_free(&of->predicted);
    gw_timeline_free(&of->measured);
    gw_arena_free(&of->arena);
    *of = (struct compared){.arena = {0}};
}

/* Most tests change one iteration that is as asked, and compare. */
static struct work predicted, measured;
static struct compared compared;
static const struct gw_difference *const found = &compared.difference;

static int begin_work(void **state) {
    (void)state;
    predicted = measured = as_asked();
    return 0;
}

static int end_work(void **state) {
    (void)state;
    end(&compared);
    return 0;
}

#define COMPARISON(name) TEST_WITH(name, begin_work, end_work)

static void compare(void) {
    end(&compared);
    compare_iterations(&compared, &predicted, 1, &measured, 1, WORKERS);
}

static double contribution(const struct compared *of, size_t operation) {
    return of->difference.operations[operation].contribution_s;
}

/* That nothing else contributes than `count` operations, so much each. */
static void assert_contributions(const size_t *operations, const double *seconds, size_t count) {
    for (size_t i = 0; i < schedule->operation_count; i++) {
        double expected = 0;
        for (size_t j = 0; j < count; j++) {
            expected = operations[j] == i ? seconds[j] : expected;
        }
        if (fabs(contribution(&compared, i) - expected) > 1e-12) {
            fail_msg("operation %zu: %g, expected %g", i, contribution(&compared, i), expected);
        }
    }
    assert_int_equal(found->contributing, count);
}

static void assert_one(size_t operation, double seconds) {
    assert_contributions(&operation, &seconds, 1);
}

/* ---- one cause ------------------------------------------------------------------------------- */

/* The last exchange is on the path, whatever comes before it. */
COMPARISON(an_exchange_on_the_path_contributes_what_it_takes_more) {
    take(&measured, OF(2, EXCHANGE), 2);
    compare();
    assert_int_equal(found->path, GW_MEASURED);
    assert_one(OF(2, EXCHANGE), 1);
    assert_true(found->elsewhere_s == 0);
    assert_int_equal(found->largest[0], OF(2, EXCHANGE));
}

COMPARISON(an_exchange_that_is_hidden_contributes_nothing) {
    take(&measured, OF(0, EXCHANGE), 2); /* of 2.25 s until the next one */
    compare();
    assert_true(gw_difference_s(found) == 0);
    assert_contributions(NULL, NULL, 0);

    take(&measured, FORWARD, 1.5); /* of the difference it has no part */
    compare();
    assert_one(FORWARD, 0.5);
    assert_true(found->elsewhere_s == 0);
    assert_true(found->operations[OF(0, EXCHANGE)].on_path == 0);
    assert_true(near(found->operations[OF(0, EXCHANGE)].takes[GW_MEASURED].duration_s, 2, 1e-12));
}

/* Takes 3 s more; the prediction has the network idle for 1.25 s of them. */
COMPARISON(slack_of_the_path_is_the_rest) {
    take(&measured, OF(0, EXCHANGE), 4);
    compare();
    assert_one(OF(0, EXCHANGE), 3);
    assert_true(near(gw_difference_s(found), 1.5, 1e-12));
    assert_true(near(found->elsewhere_s, -1.5, 1e-12));
}

/* The same with the sides exchanged: the path is the prediction's. */
COMPARISON(a_prediction_that_is_too_slow_is_walked_itself) {
    take(&predicted, OF(0, EXCHANGE), 4);
    compare();
    assert_int_equal(found->path, GW_PREDICTED);
    assert_one(OF(0, EXCHANGE), -3);
    assert_true(near(found->elsewhere_s, 1.5, 1e-12));
}

COMPARISON(a_late_worker_is_to_blame_and_not_the_exchange) {
    measured.seconds[2][OF(2, COMPRESS)] += 0.75;
    compare();
    assert_one(OF(2, COMPRESS), 0.75);
    assert_int_equal(found->operations[OF(2, COMPRESS)].worst_worker, 2);
    assert_int_equal(found->operations[OF(2, EXCHANGE)].worst_worker, 2);
    assert_int_equal(found->shown_worker, 2);
}

/* Worker 1 is late by 0.5 s, but 0 has left by then, and what it does last takes longest. */
COMPARISON(a_rank_later_than_the_end_is_not_waited_for) {
    const size_t operations[] = {OF(2, EXCHANGE), UPDATE};
    const double seconds[] = {0.25 - 1, 5};
    for (size_t w = 0; w < WORKERS; w++) {
        measured.seconds[w][OF(2, EXCHANGE)] = w == 1 ? 1 : -0.25; /* from when the last one came */
    }
    measured.seconds[1][OF(2, COMPRESS)] += 0.5;
    measured.seconds[0][UPDATE] += 5;
    compare();
    assert_contributions(operations, seconds, 2);
    assert_true(found->elsewhere_s == 0);
}

COMPARISON(a_wait_before_an_operation_is_told_from_its_time) {
    for (size_t w = 0; w < WORKERS; w++) {
        measured.idle_s[w][OF(2, COMPRESS)] = 0.125;
    }
    compare();
    assert_one(OF(2, COMPRESS), 0.125);
    assert_true(near(found->waited_s, 0.125, 1e-12));
    assert_true(near(found->operations[OF(2, COMPRESS)].takes[GW_MEASURED].wait_s, 0.125, 1e-12));
    assert_true(
        near(found->operations[OF(2, COMPRESS)].takes[GW_MEASURED].duration_s, 0.25, 1e-12));
}

/* ---- several iterations ---------------------------------------------------------------------- */

COMPARISON(iterations_are_walked_one_by_one) {
    struct work of_each[3] = {measured, measured, measured};
    const size_t operations[] = {OF(2, COMPRESS), OF(2, EXCHANGE)};
    const double seconds[] = {1.5 / 3, 0.6 / 3};
    of_each[0].seconds[1][OF(2, COMPRESS)] += 1.5;
    take(&of_each[2], OF(2, EXCHANGE), 1.6);
    compare_iterations(&compared, &predicted, 1, of_each, 3, 1);
    assert_contributions(operations, seconds, 2);
    assert_int_equal(found->shown_iteration, 2);
    assert_true(near(found->shown_s[GW_MEASURED] - found->shown_s[GW_PREDICTED], 0.6, 1e-12));
}

/* Each beside its own prediction, which comes round again. */
COMPARISON(predicted_iterations_may_differ) {
    take(&measured, OF(2, EXCHANGE), 3);
    const struct work alternating[] = {predicted, measured, predicted, measured};
    compare_iterations(&compared, alternating, 2, alternating, 4, WORKERS);
    assert_contributions(NULL, NULL, 0);
    assert_true(fabs(gw_difference_s(found)) < 1e-12);
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
                                               const struct work *prediction,
                                               struct work measurement, struct gw_random *random) {
    size_t operation = gw_random_below(random, schedule->operation_count);
    const struct gw_difference *difference = &before->difference;
    if (difference->path != GW_MEASURED || difference->operations[operation].on_path > 0) {
        return;
    }
    struct compared after;
    for (size_t w = 0; w < WORKERS; w++) {
        measurement.seconds[w][operation] /= 2;
    }
    compare_iterations(&after, prediction, 1, &measurement, 1, WORKERS);
    for (size_t i = 0; i < schedule->operation_count; i++) {
        assert_true(fabs(contribution(&after, i) - contribution(before, i)) < 1e-9);
    }
    assert_true(contribution(&after, operation) == 0);
    end(&after);
}

TEST(everything_adds_up) {
    struct gw_random *random = random_stream(1);
    for (int trial = 0; trial < gw_trials(2000); trial++) {
        struct work predictions[MOST_ITERATIONS], measurements[MOST_ITERATIONS];
        size_t iterations = 1 + gw_random_below(random, MOST_ITERATIONS);
        for (size_t i = 0; i < iterations; i++) {
            predictions[i] = draw(random, false);
            measurements[i] = draw(random, true);
        }
        compare_iterations(&compared, predictions, iterations, measurements, iterations, WORKERS);
        double last_s = compared.measured.iterations[iterations - 1].end_s;
        assert_true(near(found->iteration_s[GW_MEASURED] * (double)iterations, last_s, 1e-12));
        assert_true(found->path == GW_MEASURED ? found->elsewhere_s < 1e-12
                                               : found->elsewhere_s > -1e-12);
        if (iterations == 1) {
            assert_off_path_counts_for_nothing(&compared, predictions, measurements[0], random);
        }
        end(&compared);
    }
}

/* ---- what is no timeline of the schedule ----------------------------------------------------- */

static void assert_refused(const char *expected) {
    enum gw_status status = gw_difference_find(&pipeline, &compared.predicted, &compared.measured,
                                               &compared.arena, &compared.difference, &error);
    assert_int_equal(status, GW_FAILED);
    assert_non_null(strstr(error.message, expected));
}

COMPARISON(timelines_of_other_schedules_are_refused) {
    compare();
    struct gw_timeline *timeline = &compared.measured;
    timeline->spans[0].activity = GW_UPDATE;
    assert_refused("expected the schedule's operations in its order, got update");
    timeline->spans[0].activity = GW_FORWARD;
    timeline->spans[WORKERS].group = 7;
    assert_refused("expected the schedule's operations in its order, got backward c");
    timeline->spans[WORKERS].group = 0;
    timeline->span_count--;
    assert_refused("expected 8 operations on the compute stream of lane 2, got 7");
    assert_ok(gw_timeline_add(timeline, timeline->spans[timeline->span_count], &error));
    assert_ok(gw_timeline_add(timeline, timeline->spans[timeline->span_count - 1], &error));
    assert_refused("expected no more operations than the schedule has");
    timeline->iteration_count = 0;
    assert_refused("expected iterations of 3 workers, got 0 of 3");
    end(&compared);
}

/* ---- what it hangs on ------------------------------------------------------------------------ */

static void assert_parameter(size_t operation, const char *name, const char *detail) {
    assert_string_equal(found->operations[operation].parameter, name);
    assert_string_equal(found->operations[operation].detail, detail);
}

COMPARISON(operations_hang_on_entries_of_files) {
    compare();
    assert_parameter(FORWARD, "forward_s", "");
    assert_parameter(UPDATE, "update_s", "");
    assert_parameter(OF(0, BACKWARD), "tensors.backward_s", "tensors[2]");
    assert_parameter(OF(2, BACKWARD), "tensors.backward_s", "tensors[0]");
    assert_parameter(OF(0, COMPRESS), "compressors.topk",
                     "at 1,000, below the smallest measured, 1,500 elements");
    assert_parameter(OF(1, COMPRESS), "compressors.topk",
                     "at 2,000, between 1,500 and 2,500 elements");
    assert_parameter(OF(2, COMPRESS), "compressors.topk",
                     "at 3,000, above the largest measured, 2,500 elements");
    assert_parameter(OF(0, EXCHANGE), "collectives.allgather[workers=3]",
                     "at 8 B, between 4 B and 16 B");
    assert_int_equal(found->parameter_count, 5);
    end(&compared);
}

static void assert_found(struct gw_predicted_operation operation, const char *name,
                         const char *detail) {
    char entry[2][GW_PARAMETER_SIZE];
    gw_parameter_find(pipeline.costs, schedule, &operation, entry[0], entry[1]);
    assert_string_equal(entry[0], name);
    assert_string_equal(entry[1], detail);
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
