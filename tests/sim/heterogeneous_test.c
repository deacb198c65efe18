/*
 * Heterogeneous clusters: random schedules against an evaluation that is written here, operation by
 * operation for every worker, to the bit; closed forms; and that no figure depends on how workers
 * are collapsed or shared among threads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "methods/schedule.h"
#include "sim/simulator.h"
#include "tests/sim/schedules.h"
#include "tests/sim/simulate.h"

enum { MOST_OPERATIONS = 40, MOST_WORKERS = 12 };

/* Allreduce: 1 ms and 1 ns a byte; top-k: 10 us and 1 ns an element; two workers a node. */
static void make_cluster(size_t workers, struct gw_cluster *out) {
    const struct gw_curve exchange = {.fixed_s = 1e-3, .per_unit_s = 1e-9};
    const struct gw_curve compress = {.fixed_s = 1e-5, .per_unit_s = 1e-9};
    assert_ok(gw_cluster_create(out, "even", workers, 2, NULL));
    assert_ok(gw_cluster_add_collective(out, "allreduce", workers, exchange, NULL, NULL));
    assert_ok(gw_kernel_costs_add(&out->compressors, "topk", compress, NULL, NULL));
}

static struct gw_operation forward(double seconds) {
    return (struct gw_operation){
        .kind = GW_FORWARD, .stream = GW_STREAM_COMPUTE, .duration_s = seconds};
}

static struct gw_operation exchange(uint64_t bytes) {
    return (struct gw_operation){.kind = GW_EXCHANGE,
                                 .stream = GW_STREAM_COMMUNICATION,
                                 .method = "allreduce",
                                 .bytes = bytes};
}

/* ---- random schedules ---------------------------------------------------------------------- */

/* Operations of any kind on either stream, that wait for any before them, also twice. */
static void random_schedule(struct gw_random *random, struct gw_schedule *out) {
    static const enum gw_activity kinds[] = {GW_FORWARD,  GW_BACKWARD, GW_COMPRESS,
                                             GW_EXCHANGE, GW_EXCHANGE, GW_UPDATE};
    *out = (struct gw_schedule){0};
    size_t count = 1 + (size_t)gw_random_below(random, MOST_OPERATIONS);
    for (size_t i = 0; i < count; i++) {
        struct gw_operation operation = {
            .kind = kinds[gw_random_below(random, 6)],
            .stream = gw_random_below(random, 2) == 0 ? GW_STREAM_COMPUTE : GW_STREAM_COMMUNICATION,
            .group = (uint32_t)i, /* to know its spans by */
            .elements = 1 + gw_random_below(random, 1000000),
            .bytes = gw_random_below(random, 4) == 0 ? 0 : gw_random_below(random, 10000000),
            .duration_s = gw_random_below(random, 4) == 0 ? 0 : gw_random_uniform(random) / 100};
        operation.method = operation.kind == GW_EXCHANGE   ? "allreduce"
                           : operation.kind == GW_COMPRESS ? "topk"
                                                           : NULL;
        size_t after[4];
        size_t waits = i == 0 ? 0 : (size_t)gw_random_below(random, 5);
        for (size_t w = 0; w < waits; w++) {
            after[w] = (size_t)gw_random_below(random, i);
        }
        append_operation(out, operation, after, waits);
    }
}

static struct gw_noise random_noise(struct gw_random *random) {
    static double sample[] = {0.5, 1, 1.5};
    static const struct gw_noise table[] = {
        {.kind = GW_NOISE_NONE},
        {.kind = GW_NOISE_NORMAL, .sigma = 0.5},
        {.kind = GW_NOISE_LOGNORMAL, .sigma = 0.5},
        {.kind = GW_NOISE_SAMPLE, .count = 3, .sample = sample}};
    return table[gw_random_below(random, 4)];
}

/* Random noise of compute times; also that of two recorded ranks in two iterations. */
static struct gw_noise random_compute_noise(struct gw_random *random) {
    static double sample[] = {0.5, 1, 1.5, 1.25};
    const struct gw_noise recorded = {
        .kind = GW_NOISE_RECORDED, .count = 4, .sample = sample, .ranks = 2};
    return gw_random_below(random, 4) == 0 ? recorded : random_noise(random);
}

struct scene {
    struct gw_schedule schedule;
    struct gw_cluster cluster;
    struct gw_simulation simulation;
    double slowdown[MOST_WORKERS], bandwidth[MOST_WORKERS];
};

static void open_scene(struct scene *x, struct gw_random *random) {
    random_schedule(random, &x->schedule);
    size_t workers = 2 + (size_t)gw_random_below(random, MOST_WORKERS - 1);
    make_cluster(workers, &x->cluster);
    x->simulation = (struct gw_simulation){.workers = workers,
                                           .slowdown = x->slowdown,
                                           .bandwidth = x->bandwidth,
                                           .background = 0.5 * gw_random_uniform(random),
                                           .compute_noise = random_compute_noise(random),
                                           .network_noise = random_noise(random),
                                           .seed = gw_random_below(random, 1000)};
    for (size_t i = 0; i < MOST_WORKERS; i++) {
        x->slowdown[i] = 1 + 0.3 * (double)gw_random_below(random, 3);
        x->bandwidth[i] = 1 - 0.3 * (double)gw_random_below(random, 3);
    }
}

static void close_scene(struct scene *x) {
    gw_schedule_free(&x->schedule);
    gw_cluster_free(&x->cluster);
}

/* ---- the same, once more ------------------------------------------------------------------- */

struct truth {
    double arrived_s[MOST_OPERATIONS][MOST_WORKERS], start_s[MOST_OPERATIONS][MOST_WORKERS],
        end_s[MOST_OPERATIONS][MOST_WORKERS], iteration_s;
};

/* An operation's time without noise and slowdown. */
static double cost(const struct scene *x, const struct gw_operation *operation) {
    double slowest = INFINITY;
    for (size_t node = 0; node < (x->simulation.workers + 1) / 2; node++) {
        slowest = fmin(slowest, x->bandwidth[node]);
    }
    double congestion = 1 / (slowest * (1 - x->simulation.background));
    if (operation->kind == GW_EXCHANGE) {
        return operation->bytes == 0 ? 0 : 1e-3 + 1e-9 * congestion * (double)operation->bytes;
    }
    return operation->kind == GW_COMPRESS ? 1e-5 + 1e-9 * (double)operation->elements
                                          : operation->duration_s;
}

/* All ends of all workers are kept, and looked for from the first operation on. */
static void evaluate(const struct scene *x, uint64_t repetition, struct truth *out) {
    const struct gw_simulation *simulation = &x->simulation;
    *out = (struct truth){0};
    for (size_t i = 0; i < x->schedule.operation_count; i++) {
        const struct gw_operation *operation = &x->schedule.operations[i];
        double last_s = 0;
        for (size_t w = 0; w < simulation->workers; w++) {
            double start_s = 0;
            for (size_t b = 0; b < i; b++) {
                bool waits = x->schedule.operations[b].stream == operation->stream;
                for (size_t d = 0; d < operation->dependency_count; d++) {
                    waits |= x->schedule.dependencies[operation->first_dependency + d] == b;
                }
                start_s = waits ? fmax(start_s, out->end_s[b][w]) : start_s;
            }
            out->arrived_s[i][w] = start_s;
            last_s = fmax(last_s, start_s);
        }
        bool exchanges = operation->kind == GW_EXCHANGE;
        bool served = operation->kind == GW_UPDATE && operation->stream == GW_STREAM_COMMUNICATION;
        bool together = exchanges || served;
        for (size_t w = 0; w < simulation->workers; w++) {
            const struct gw_noise *noise =
                together ? &simulation->network_noise : &simulation->compute_noise;
            uint64_t stream = together
                                  ? gw_noise_stream(simulation->seed, repetition, UINT64_MAX)
                                  : gw_noise_worker_stream(noise, simulation->seed, repetition, w);
            double factor = served ? 1 : gw_noise_factor(noise, stream, i);
            double seconds = cost(x, operation) * (together ? 1 : x->slowdown[w]) * factor;
            out->start_s[i][w] = together ? last_s : out->arrived_s[i][w];
            out->end_s[i][w] = out->start_s[i][w] + seconds;
            out->iteration_s = fmax(out->iteration_s, out->end_s[i][w]);
        }
    }
}

static void check_spans(const struct scene *x, const struct gw_timeline *timeline,
                        const struct truth *truth, double begin_s) {
    size_t operations = 0;
    for (size_t s = 0; s < timeline->span_count; s++) {
        const struct gw_span *span = &timeline->spans[s];
        size_t worker = timeline->lanes[span->lane].worker;
        bool waiting = span->activity == GW_WAIT;
        double start_s = truth->start_s[span->group][worker];
        assert_true(span->start_s ==
                    begin_s + (waiting ? truth->arrived_s[span->group][worker] : start_s));
        assert_true(span->end_s ==
                    begin_s + (waiting ? start_s : truth->end_s[span->group][worker]));
        assert_int_equal(span->stream, x->schedule.operations[span->group].stream);
        operations += !waiting;
    }
    assert_int_equal(operations, timeline->lane_count * x->schedule.operation_count);
}

static void simulate(const struct scene *x, size_t iterations, struct gw_timeline *timeline,
                     struct gw_measure *measures) {
    run_simulation(&x->schedule, &x->cluster, &x->simulation, iterations, timeline, measures);
}

static void check_against_truth(struct scene *x) {
    struct gw_timeline timeline;
    struct gw_measure measure;
    static struct truth truth;
    simulate(x, 1, &timeline, &measure);
    evaluate(x, 0, &truth);
    assert_true(measure.iteration_s == truth.iteration_s);
    check_spans(x, &timeline, &truth, 0);
    struct gw_measure expected = measure_timeline(&timeline);
    double slack = 1e-12 * (1 + expected.iteration_s);
    assert_true(fabs(measure.breakdown.forward_s - expected.breakdown.forward_s) < slack);
    assert_true(fabs(measure.breakdown.backward_s - expected.breakdown.backward_s) < slack);
    assert_true(fabs(measure.breakdown.compress_s - expected.breakdown.compress_s) < slack);
    assert_true(fabs(measure.breakdown.exposed_comm_s - expected.breakdown.exposed_comm_s) < slack);
    assert_true(fabs(measure.breakdown.other_s - expected.breakdown.other_s) < slack);
    assert_true(fabs(measure.comm_s - expected.comm_s) < slack);
    gw_timeline_free(&timeline);
}

static void check_collapse(struct scene *x) {
    struct gw_measure apart[2], together[2];
    x->simulation.compute_noise = (struct gw_noise){0};
    for (int equal = 0; equal < 2; equal++) {
        x->simulation.slowdown = equal ? NULL : x->slowdown;
        x->simulation.every_worker = true;
        simulate(x, 2, NULL, apart);
        x->simulation.every_worker = false;
        simulate(x, 2, NULL, together);
        assert_memory_equal(apart, together, sizeof apart);
    }
}

static void for_random_schedules(uint64_t stream, int full, void (*check)(struct scene *)) {
    struct gw_random *random = random_stream(stream);
    for (int i = 0, cases = gw_trials(full); i < cases; i++) {
        struct scene x;
        open_scene(&x, random);
        check(&x);
        close_scene(&x);
    }
}

TEST(random_schedules_run_as_defined) {
    for_random_schedules(1, 5000, check_against_truth);
}

TEST(collapsed_workers_answer_alike) {
    for_random_schedules(2, 5000, check_collapse);
}

/* ---- repetitions --------------------------------------------------------------------------- */

static void check_repetitions(struct scene *x) {
    enum { iterations = 4 };
    struct gw_measure recorded[iterations], measures[iterations];
    struct gw_timeline timeline;
    static struct truth truth;
    simulate(x, iterations, &timeline, recorded);
    simulate(x, iterations, NULL, measures);
    assert_memory_equal(recorded, measures, sizeof recorded);
    size_t spans = timeline.span_count;
    assert_int_equal(timeline.iteration_count, iterations);
    double begin_s = 0;
    struct gw_timeline part = timeline;
    for (size_t i = 0; i < iterations; i++) {
        evaluate(x, i, &truth);
        assert_true(measures[i].iteration_s == truth.iteration_s);
        assert_true(timeline.iterations[i].start_s == begin_s);
        part.span_count = 0;
        while (spans > 0 && part.spans + part.span_count < timeline.spans + timeline.span_count &&
               part.spans[part.span_count].end_s <= begin_s + truth.iteration_s &&
               part.spans[part.span_count].start_s >= begin_s) {
            part.span_count++;
        }
        begin_s += truth.iteration_s;
        part.spans += part.span_count;
    }
    assert_ptr_equal(part.spans, timeline.spans + timeline.span_count);
    gw_timeline_free(&timeline);
}

TEST(repetitions_follow_each_other) {
    for_random_schedules(3, 300, check_repetitions);
}

/* Few lanes and many repetitions, one of many lanes, and some of both. */
TEST(threads_change_nothing) {
    static const struct {
        size_t workers, iterations;
    } table[] = {{3, 41}, {30000, 1}, {30000, 3}, {2500, 3}};
    static struct gw_measure alone[64], shared[64];
    struct gw_random *random = random_stream(4);
    for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
        struct scene x = {
            .simulation = {.workers = table[t].workers,
                           .compute_noise = {.kind = GW_NOISE_LOGNORMAL, .sigma = 0.2},
                           .network_noise = {.kind = GW_NOISE_NORMAL, .sigma = 0.2},
                           .seed = seed}};
        random_schedule(random, &x.schedule);
        make_cluster(table[t].workers, &x.cluster);
        simulate(&x, table[t].iterations, NULL, alone);
        static const size_t threads[] = {1, 2, 5};
        for (size_t i = 0; i < 3; i++) {
            x.simulation.threads = threads[i];
            memset(shared, 0, sizeof shared);
            simulate(&x, table[t].iterations, NULL, shared);
            assert_memory_equal(alone, shared, table[t].iterations * sizeof *alone);
        }
        close_scene(&x);
    }
}

/* ---- closed forms -------------------------------------------------------------------------- */

/* 10 ms forward, then 1 MB: 2 ms. */
static void open_simple(struct scene *x, size_t workers) {
    *x = (struct scene){.simulation = {.workers = workers, .seed = seed}};
    append_operation(&x->schedule, forward(0.010), NULL, 0);
    size_t first = 0;
    append_operation(&x->schedule, exchange(1000000), &first, 1);
    make_cluster(workers, &x->cluster);
}

static double mean_iteration(const struct scene *x, size_t iterations) {
    struct gw_measure *measures = calloc(iterations, sizeof *measures);
    struct gw_running running = {0};
    assert_non_null(measures);
    simulate(x, iterations, NULL, measures);
    for (size_t i = 0; i < iterations; i++) {
        gw_running_add(&running, measures[i].iteration_s);
    }
    free(measures);
    return running.mean;
}

/* One of four at half the speed: 20 ms, then 2 ms; three of four wait 10 ms for it. */
TEST(all_wait_for_a_straggler) {
    struct scene x;
    struct gw_measure measure;
    static const double slowdown[] = {1, 1, 2, 1};
    open_simple(&x, 4);
    x.simulation.slowdown = slowdown;
    simulate(&x, 1, NULL, &measure);
    assert_true(near(measure.iteration_s, 0.022, 1e-15));
    assert_true(near(measure.breakdown.forward_s, (3 * 0.010 + 0.020) / 4, 1e-15));
    assert_true(near(measure.breakdown.exposed_comm_s, (3 * 0.012 + 0.002) / 4, 1e-15));
    assert_true(near(measure.comm_s, 0.002, 1e-13));
    close_scene(&x);
}

TEST(the_slowest_node_sets_the_pace) {
    static const struct {
        double bandwidth[3], background, exchange_s;
    } table[] = {
        {{1, 1, 1}, 0, 0.002},     {{1, 0.5, 1}, 0, 0.003},  {{4, 1, 1}, 0, 0.002},
        {{2, 2, 2}, 0, 0.0015},    {{1, 1, 1}, 0.75, 0.005}, {{1, 1, 0.5}, 0.75, 0.009},
        {{0.1, 0.5, 1}, 0, 0.011},
    };
    for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
        struct scene x;
        struct gw_measure measure;
        open_simple(&x, 5); /* the third node has one worker */
        x.simulation.bandwidth = table[t].bandwidth;
        x.simulation.background = table[t].background;
        simulate(&x, 1, NULL, &measure);
        assert_true(near(measure.comm_s, table[t].exchange_s, 1e-12));
        assert_true(near(measure.iteration_s, 0.010 + table[t].exchange_s, 1e-12));
        close_scene(&x);
    }
}

TEST(lost_bandwidth_is_noted) {
    struct scene x;
    struct simulation_run run;
    struct gw_result result = {0};
    static const double bandwidth[] = {1, 0.5};
    open_simple(&x, 4);
    assert_ok(open_run(&run, &x.schedule, &x.cluster, &x.simulation, &result, NULL));
    close_run(&run);
    assert_int_equal(result.note_count, 0);
    x.simulation.bandwidth = bandwidth;
    x.simulation.background = 0.2;
    assert_ok(open_run(&run, &x.schedule, &x.cluster, &x.simulation, &result, NULL));
    close_run(&run);
    assert_int_equal(result.note_count, 1);
    assert_non_null(strstr(result.notes[0], "per-byte part x 2.5"));
    x.simulation.background = 1;
    assert_int_equal(open_run(&run, &x.schedule, &x.cluster, &x.simulation, NULL, NULL),
                     GW_BAD_INPUT);
    close_scene(&x);
}

/* Largest of P standard normal numbers, on average: 1 / sqrt(pi), 3 / (2 sqrt(pi)), and tables. */
TEST(the_largest_of_normal_times_is_as_in_theory) {
    static const struct {
        size_t workers;
        double expected, sd;
    } table[] = {{2, 0.5641895835, 0.8257}, {3, 0.8462843753, 0.7480}, {1000, 3.2414358, 0.3514}};
    enum { iterations = 4000 };
    for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
        struct scene x;
        open_simple(&x, table[t].workers);
        x.simulation.compute_noise = (struct gw_noise){.kind = GW_NOISE_NORMAL, .sigma = 0.1};
        double z = (mean_iteration(&x, iterations) - 0.012) / (0.1 * 0.010);
        if (!(fabs(z - table[t].expected) < 5 * table[t].sd / sqrt(iterations))) {
            fail_msg("%zu workers: expected %g, got %g", table[t].workers, table[t].expected, z);
        }
        close_scene(&x);
    }
}

/* ---- worse clusters ------------------------------------------------------------------------ */

/* First a slower worker, then a slower node and more background traffic. */
static void check_monotony(struct scene *x) {
    struct gw_measure before, slower, narrower;
    simulate(x, 1, NULL, &before);
    x->slowdown[0] += 0.5;
    simulate(x, 1, NULL, &slower);
    x->bandwidth[0] *= 0.5;
    x->simulation.background += 0.1;
    simulate(x, 1, NULL, &narrower);
    assert_true(before.iteration_s <= slower.iteration_s);
    assert_true(slower.iteration_s <= narrower.iteration_s);
}

TEST(worse_clusters_are_never_faster) {
    for_random_schedules(5, 2000, check_monotony);
}

/* ---- memory -------------------------------------------------------------------------------- */

/* However many operations: an algorithm's schedule keeps two ends a lane. */
TEST(few_ends_are_kept) {
    struct scene x;
    open_simple(&x, 2);
    size_t last = 1;
    for (size_t group = 1; group < 1000; group++) {
        append_operation(&x.schedule, forward(1), NULL, 0);
        last = 2 * group;
        append_operation(&x.schedule, exchange(1), &last, 1);
    }
    last++;
    append_operation(&x.schedule, forward(1), &last, 1);
    struct simulation_run run;
    open_simulator(&run, &x.schedule, &x.cluster, &x.simulation);
    assert_int_equal(run.simulator->slot_count, 1);
    assert_true(run.simulator->slots[1] == GW_NO_SLOT && run.simulator->slots[last] == 0);
    close_run(&run);
    close_scene(&x);
}

/* Lanes as many as speeds, found without comparing each worker with each. */
TEST(a_million_speeds_are_a_million_lanes) {
    enum { workers = 1 << 20 };
    double *slowdown = calloc(workers, sizeof *slowdown);
    struct scene x;
    open_simple(&x, workers);
    assert_non_null(slowdown);
    for (size_t w = 0; w < workers; w++) {
        slowdown[w] = 1 + (double)((w * 7919) % workers);
    }
    struct simulation_run run;
    open_simulator(&run, &x.schedule, &x.cluster, &x.simulation);
    assert_int_equal(run.simulator->lane_count, 1);
    assert_int_equal(run.simulator->lanes[0].workers, workers);
    close_run(&run);
    x.simulation.slowdown = slowdown;
    open_simulator(&run, &x.schedule, &x.cluster, &x.simulation);
    assert_int_equal(run.simulator->lane_count, workers);
    assert_int_equal(run.simulator->lanes[12345].worker, 12345);
    close_run(&run);
    for (size_t w = 0; w < workers; w++) {
        slowdown[w] = w % 3 == 0 ? 1 : w % 3 == 1 ? 2 : 1.5;
    }
    open_simulator(&run, &x.schedule, &x.cluster, &x.simulation);
    assert_int_equal(run.simulator->lane_count, 3);
    for (size_t lane = 0; lane < 3; lane++) {
        assert_int_equal(run.simulator->lanes[lane].worker, lane);
        assert_int_equal(run.simulator->lanes[lane].workers, workers / 3 + (lane == 0));
    }
    close_run(&run);
    close_scene(&x);
    free(slowdown);
}
