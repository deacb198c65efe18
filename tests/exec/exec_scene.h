/* Jobs of a pipeline on a small model, whose ranks are threads of a test. */
#ifndef GW_TESTS_EXEC_SCENE_H
#define GW_TESTS_EXEC_SCENE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/exec.h"
#include "methods/schedule.h"
#include "tests/local_transport.h"
#include "tests/test.h"

enum { SEED = 5, TENSORS = 8, MOST_WORKERS = 5, MOST_ELEMENTS = 3000 };

/* First dimensions of matrices, of which all but that of 64 elements are worth two factors. */
static const uint64_t tensor_rows[TENSORS] = {15, 0, 50, 8, 0, 20, 0, 35};

/* ---- a scenario ---------------------------------------------------------------------------- */

static const uint64_t tensor_elements[TENSORS] = {300, 1, 1500, 64, 1, 400, 3, 700};

/* The tested scenario: a pair of choices, and settings. */
struct scenario {
    const struct gw_algorithm *algorithm;
    const struct gw_plan_way *ways; /* of the four groups of a mixed plan; or NULL */
    size_t workers, iterations;
    double density;
    double forward_s; /* each tensor's backward pass and the update take a tenth of it */
    struct gw_tensor tensors[TENSORS];
    uint64_t shapes[TENSORS][2];
    struct gw_model model;
    struct gw_plan plan;
    struct gw_schedule schedule;
};

static inline void open_scenario(struct scenario *scenario) {
    static char name[] = "tensor";
    /* one group of a single element, one of two */
    static const struct gw_group one[] = {{TENSORS - 1, 0}};
    static const struct gw_group several[] = {{7, 5}, {4, 4}, {3, 2}, {1, 0}};
    const struct gw_algorithm *algorithm = scenario->algorithm;
    for (size_t i = 0; i < TENSORS; i++) {
        scenario->tensors[i] = (struct gw_tensor){
            .name = name, .elements = tensor_elements[i], .backward_s = scenario->forward_s / 10};
        if (tensor_rows[i] > 0) {
            scenario->shapes[i][0] = tensor_rows[i];
            scenario->shapes[i][1] = tensor_elements[i] / tensor_rows[i];
            scenario->tensors[i].dimensions = 2;
            scenario->tensors[i].shape = scenario->shapes[i];
        }
    }
    scenario->model = (struct gw_model){.name = name,
                                        .bytes_per_element = 4,
                                        .forward_s = scenario->forward_s,
                                        .update_s = scenario->forward_s / 10,
                                        .tensor_count = TENSORS,
                                        .tensors = scenario->tensors};
    assert_ok(gw_plan_create(&scenario->plan, "small", "by hand", algorithm->compressor->name,
                             scenario->density, scenario->workers, NULL));
    scenario->plan.group_count = gw_algorithm_overlaps(algorithm) ? 4 : 1;
    scenario->plan.groups = calloc(4, sizeof *scenario->plan.groups);
    memcpy(scenario->plan.groups, gw_algorithm_overlaps(algorithm) ? several : one,
           scenario->plan.group_count * sizeof *scenario->plan.groups);
    for (size_t g = 0; scenario->ways != NULL && g < 4; g++) {
        const struct gw_plan_way *way = &scenario->ways[g];
        scenario->plan.ways = realloc(scenario->plan.ways, 4 * sizeof *way);
        assert_non_null(scenario->plan.ways);
        scenario->plan.ways[scenario->plan.way_count++] =
            (struct gw_plan_way){.choice = strdup(way->choice),
                                 .compressor = strdup(way->compressor),
                                 .exchange = strdup(way->exchange),
                                 .density = way->density};
    }
    assert_ok(gw_algorithm_schedule(algorithm, &scenario->model, &scenario->plan,
                                    &scenario->schedule, NULL));
}

static inline void close_scenario(struct scenario *scenario) {
    gw_schedule_free(&scenario->schedule);
    gw_plan_free(&scenario->plan);
}

/* A scenario of an algorithm that sends `density`, or everything. */
static inline struct scenario scenario_of(const struct gw_algorithm *algorithm, size_t workers,
                                          double density) {
    return (struct scenario){.algorithm = algorithm,
                             .workers = workers,
                             .density = gw_algorithm_compresses(algorithm) ? density : 1};
}

static inline void open_named(struct scenario *scenario, const char *name, size_t workers,
                              double density) {
    const struct gw_algorithm *algorithm = NULL;
    assert_ok(gw_algorithm_find(name, &algorithm, NULL));
    *scenario = scenario_of(algorithm, workers, density);
    open_scenario(scenario);
}

/* ---- a rank -------------------------------------------------------------------------------- */

/* The options of each rank's session; on the host unless a test says otherwise. */
static struct gw_session_options session_options = {.seed = SEED};

/* Each rank's own GPU, in place of the options' one that all ranks share; NULL: there is none. */
static struct gw_device *rank_devices[MOST_WORKERS + 1];

struct rank {
    const struct scenario *scenario;
    struct gw_communicator *communicator;
    struct gw_session_options options;
    struct gw_session *executor;
    struct gw_timeline timeline;
    float *own;        /* [elements], of one of these: */
    float *gradients;  /* [ranks * elements], of all ranks; and likewise: */
    float *before;     /* residuals before the iteration */
    float *residuals;  /* and after it */
    float *aggregates; /* [ranks * elements] */
    size_t elements;
    uint64_t trained; /* iterations of a trainer's */
};

/* Ends the test: a rank that gave up alone would leave the others waiting. */
static inline void require(const struct rank *rank, bool holds, const char *what) {
    const struct scenario *scenario = rank->scenario;
    if (!holds) {
        (void)fprintf(stderr, "%s by %s, %zu workers, density %g, %zu groups, rank %d: %s\n",
                      scenario->algorithm->compressor->name, scenario->algorithm->exchange->name,
                      scenario->workers, scenario->density, scenario->schedule.group_count,
                      rank->communicator->rank, what);
        rank->communicator->transport->abort(rank->communicator, 1);
    }
}

static inline void require_ok(const struct rank *rank, enum gw_status status,
                              const struct gw_error *error) {
    require(rank, status == GW_OK, error->message);
}

static inline void open_rank(struct rank *rank, struct gw_error *error) {
    struct gw_session_options *options = &rank->options;
    *options = session_options;
    if (rank_devices[rank->communicator->rank] != NULL) {
        options->device = rank_devices[rank->communicator->rank];
    }
    if (options->device != NULL && options->compute == GW_COMPUTE_TRAINER) {
        require_ok(rank, gw_device_stream_open(options->device, false, &options->trainer, error),
                   error);
    }
    require_ok(rank,
               gw_session_open(&rank->executor, &rank->scenario->schedule, rank->communicator,
                               options, error),
               error);
    require_ok(rank, gw_session_timeline(rank->executor, &rank->timeline, error), error);
    rank->elements = gw_vectors_elements(&rank->scenario->schedule);
    size_t all = (size_t)rank->communicator->size * rank->elements;
    rank->own = calloc(rank->elements, sizeof *rank->own);
    rank->gradients = calloc(all, sizeof *rank->gradients);
    rank->before = calloc(all, sizeof *rank->before);
    rank->residuals = calloc(all, sizeof *rank->residuals);
    rank->aggregates = calloc(all, sizeof *rank->aggregates);
}

static inline void close_rank(struct rank *rank) {
    free(rank->own);
    free(rank->gradients);
    free(rank->before);
    free(rank->residuals);
    free(rank->aggregates);
    gw_timeline_free(&rank->timeline);
    gw_session_close(rank->executor);
    gw_device_stream_close(rank->options.trainer);
}

static inline void iterate(struct rank *rank) {
    struct gw_error error = {0};
    gw_timeline_clear(&rank->timeline);
    require_ok(rank, gw_session_iterate(rank->executor, 0, &rank->timeline, &error), &error);
}

static inline struct gw_warmed_up warm_up(struct rank *rank, struct gw_warm_up_limits limits) {
    struct gw_warmed_up warmed_up;
    struct gw_error error = {0};
    require_ok(rank, gw_session_warm_up(rank->executor, &limits, &warmed_up, &error), &error);
    return warmed_up;
}

/* ---- ranks --------------------------------------------------------------------------------- */

struct job {
    const struct scenario *scenario;
    const struct gw_transport *transport; /* in place of the one between threads; or NULL */
    void (*run)(struct rank *rank);
};

static inline void run_rank(struct gw_communicator *communicator, void *context) {
    const struct job *job = context;
    struct gw_communicator own = *communicator;
    struct gw_error error = {0};
    own.transport = job->transport == NULL ? own.transport : job->transport;
    struct rank rank = {.scenario = job->scenario, .communicator = &own};
    open_rank(&rank, &error);
    job->run(&rank);
    close_rank(&rank);
}

/* A job of the scenario's ranks, each a thread that runs `run` with its struct rank, whose executor
 * is open. With `transport` in place of the one between threads, if not NULL. */
static inline void run_ranks(const struct scenario *scenario, const struct gw_transport *transport,
                             void (*run)(struct rank *)) {
    struct job job = {scenario, transport, run};
    run_local_ranks((int)scenario->workers + (scenario->schedule.server ? 1 : 0), run_rank, &job,
                    0);
}

/* A job of an algorithm, and of a published one. */
static inline void run_algorithm(const struct gw_algorithm *algorithm, size_t workers,
                                 void (*run)(struct rank *)) {
    struct scenario scenario = scenario_of(algorithm, workers, 0.01);
    open_scenario(&scenario);
    run_ranks(&scenario, NULL, run);
    close_scenario(&scenario);
}

static inline void run_named(const char *name, size_t workers, const struct gw_transport *transport,
                             void (*run)(struct rank *)) {
    struct scenario scenario;
    open_named(&scenario, name, workers, 0.01);
    run_ranks(&scenario, transport, run);
    close_scenario(&scenario);
}

/* ---- timelines ----------------------------------------------------------------------------- */

/* No stream has come to the end of an operation before the times of all up to it have passed. */
static inline void check_durations(const struct rank *rank) {
    const struct gw_schedule *schedule = &rank->scenario->schedule;
    size_t count = schedule->operation_count;
    for (size_t lane = 0; lane < schedule->workers; lane++) {
        double told_s[GW_STREAM_COUNT] = {0};
        for (size_t i = 0; i < count; i++) {
            const struct gw_operation *operation = &schedule->operations[i];
            const struct gw_span *span = &rank->timeline.spans[lane * count + i];
            told_s[operation->stream] += operation->duration_s;
            require(rank, span->stream == operation->stream && span->activity == operation->kind,
                    "a span is not that of its operation");
            require(rank,
                    span->end_s >= told_s[operation->stream] - 1e-9, /* rounding of the sums */
                    "a stream took less time than it was told to");
        }
    }
}

#endif
