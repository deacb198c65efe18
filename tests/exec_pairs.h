/*
 * Jobs of any compressor by any exchange that can carry it, of 1 to 5 workers on a small model,
 * compared with the sequential reference (exec_reference.h): aggregates and residuals bit for bit,
 * what was selected, and the bytes that travelled. Ranks are threads or, inside an MPI job, its
 * processes. After cmocka.h.
 */
#ifndef GW_TESTS_EXEC_PAIRS_H
#define GW_TESTS_EXEC_PAIRS_H

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "algorithms/algorithms.h"
#include "exec/exec.h"
#include "exec_reference.h"

/* ---- a small model ------------------------------------------------------------------------- */

enum { TENSORS = 8, SEED = 5 };

static const uint64_t tensor_elements[TENSORS] = {300, 1, 1500, 64, 1, 400, 3, 700};

/* What is run: a pair of choices, and how. */
struct scenario {
    const struct gw_algorithm *algorithm;
    size_t workers, iterations;
    double density;
    struct gw_tensor tensors[TENSORS];
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
        scenario->tensors[i] = (struct gw_tensor){.name = name, .elements = tensor_elements[i]};
    }
    scenario->model = (struct gw_model){.name = name,
                                        .bytes_per_element = 4,
                                        .tensor_count = TENSORS,
                                        .tensors = scenario->tensors};
    assert_int_equal(gw_plan_create(&scenario->plan, "small", "by hand", algorithm->compressor,
                                    scenario->density, scenario->workers, NULL),
                     GW_OK);
    scenario->plan.group_count = algorithm->overlap ? 4 : 1;
    scenario->plan.groups = calloc(4, sizeof *scenario->plan.groups);
    memcpy(scenario->plan.groups, algorithm->overlap ? several : one,
           scenario->plan.group_count * sizeof *scenario->plan.groups);
    assert_int_equal(gw_algorithm_schedule(algorithm, &scenario->model, &scenario->plan,
                                           &scenario->schedule, NULL),
                     GW_OK);
}

static inline void close_scenario(struct scenario *scenario) {
    gw_schedule_free(&scenario->schedule);
    gw_plan_free(&scenario->plan);
}

/* ---- where ranks work --------------------------------------------------------------------- */

/* What each rank opens its executor with; on the host unless a test says otherwise. */
static struct gw_executor_options executor_options = {.seed = SEED};

/* ---- a rank -------------------------------------------------------------------------------- */

struct rank {
    const struct scenario *scenario;
    struct gw_communicator *communicator;
    struct gw_executor *executor;
    struct gw_timeline timeline;
    float *own;        /* [elements], of one of these: */
    float *gradients;  /* [ranks * elements], of all ranks; and likewise: */
    float *before;     /* residuals before the iteration */
    float *residuals;  /* and after it */
    float *aggregates; /* [ranks * elements] */
    size_t elements;
};

/* Ends the test: a rank that gave up alone would leave the others waiting. */
static inline void require(const struct rank *rank, bool holds, const char *what) {
    const struct scenario *scenario = rank->scenario;
    if (!holds) {
        (void)fprintf(stderr, "%s by %s, %zu workers, density %g, %zu groups, rank %d: %s\n",
                      scenario->algorithm->compressor, scenario->algorithm->exchange,
                      scenario->workers, scenario->density, scenario->schedule.group_count,
                      rank->communicator->rank, what);
        rank->communicator->transport->abort(rank->communicator, 1);
    }
}

static inline void require_ok(const struct rank *rank, enum gw_status status,
                              const struct gw_error *error) {
    require(rank, status == GW_OK, error->message);
}

static inline void gather(const struct rank *rank, enum gw_vector vector, float *all) {
    struct gw_communicator *communicator = rank->communicator;
    struct gw_error error = {0};
    require_ok(rank, gw_executor_copy(rank->executor, vector, rank->own, &error), &error);
    (void)communicator->transport->allgather(communicator, rank->own, rank->elements * sizeof *all,
                                             all, NULL);
}

static inline void open_rank(struct rank *rank, struct gw_error *error) {
    require_ok(rank,
               gw_executor_open(&rank->executor, &rank->scenario->schedule, rank->communicator,
                                &executor_options, error),
               error);
    require_ok(rank, gw_executor_timeline(rank->executor, &rank->timeline, error), error);
    rank->elements = gw_executor_elements(rank->executor);
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
    gw_executor_close(rank->executor);
}

/* ---- checks, on rank 0 --------------------------------------------------------------------- */

/* MPI adds up in an order of its own. */
static inline bool close_enough(const struct rank *rank, size_t element, float got,
                                float expected) {
    double magnitude = 0;
    for (size_t w = 0; w < rank->scenario->workers; w++) {
        magnitude += fabs((double)rank->before[w * rank->elements + element]) +
                     fabs((double)rank->gradients[w * rank->elements + element]);
    }
    return fabs((double)got - (double)expected) <= 1e-6 * magnitude;
}

static inline void check_aggregates(const struct rank *rank, const struct reference *reference) {
    bool exact = strcmp(rank->communicator->transport->name, "local") == 0;
    for (size_t i = 0; i < rank->scenario->workers * rank->elements; i++) {
        float expected = reference->aggregate[i % rank->elements];
        require(
            rank,
            rank->aggregates[i] == expected ||
                (!exact && close_enough(rank, i % rank->elements, rank->aggregates[i], expected)),
            "the aggregate is not the reference's");
    }
}

static inline void check_residuals(const struct rank *rank, const struct reference *reference) {
    for (size_t i = 0; i < rank->scenario->workers * rank->elements; i++) {
        require(rank, rank->residuals[i] == reference->residuals[i],
                "a residual is not the reference's");
    }
}

/* What all had, is what all have and what was sent: to the rounding of the sums of floats. */
static inline void check_conservation(const struct rank *rank) {
    bool dense = strcmp(rank->scenario->algorithm->compressor, "none") == 0;
    for (size_t i = 0; i < rank->elements && !dense; i++) {
        double had = 0;
        double have = (double)rank->aggregates[i];
        double magnitude = 0;
        for (size_t w = 0; w < rank->scenario->workers; w++) {
            size_t place = w * rank->elements + i;
            float accumulated = rank->before[place] + rank->gradients[place];
            had += (double)accumulated;
            have += (double)rank->residuals[place];
            magnitude += fabs((double)accumulated);
        }
        require(rank, fabs(had - have) <= 3e-7 * magnitude, "something was lost");
    }
}

/* ---- counts and bytes, on all ranks -------------------------------------------------------- */

static inline uint64_t most_selected(const struct rank *rank, uint32_t group) {
    size_t groups;
    const uint64_t *selected =
        gw_executor_selected(rank->executor, &groups) + group * rank->scenario->workers;
    uint64_t most = 0;
    for (size_t w = 0; w < rank->scenario->workers; w++) {
        most = selected[w] > most ? selected[w] : most;
    }
    return most;
}

static inline void check_counts(const struct rank *rank, const struct reference *reference) {
    size_t groups;
    const uint64_t *selected = gw_executor_selected(rank->executor, &groups);
    require(rank, groups == rank->scenario->schedule.group_count, "other groups were selected");
    for (uint32_t g = 0; g < groups; g++) {
        for (size_t w = 0; w < rank->scenario->workers; w++) {
            require(rank, selected[g * rank->scenario->workers + w] == reference->selected[g][w],
                    "the number of selected elements is not the reference's");
        }
    }
}

/* What a worker sends of a leg, counted by hand from what was selected. */
static inline uint64_t bytes_by_hand(const struct rank *rank, const struct gw_operation *operation,
                                     size_t worker) {
    size_t groups;
    const struct gw_slice *slice = &rank->scenario->schedule.groups[operation->group];
    uint64_t own = gw_executor_selected(
        rank->executor, &groups)[operation->group * rank->scenario->workers + worker];
    uint64_t all = gw_executor_extents(rank->executor)[operation->group].all;
    switch (operation->payload) {
    case GW_DENSE:
        return 4 * slice->elements;
    case GW_SPARSE:
        return 8 * slice->kept;
    case GW_COUNTS:
        return 4;
    case GW_PADDED:
        return 8 * most_selected(rank, operation->group);
    case GW_INDICES:
        return 4 * most_selected(rank, operation->group);
    case GW_VALUES:
        return 4 * all;
    case GW_SKETCH:
        return 4 * slice->sketch_cells;
    case GW_LAYERS:
        return 4 * (own + slice->layer_count);
    case GW_ALL_LAYERS:
        return 4 * (all + slice->layer_count);
    }
    return 0;
}

/* And what the schedule says of it, once it is told what was selected: the most of any worker. */
static inline void check_bytes(const struct rank *rank) {
    struct gw_schedule told = rank->scenario->schedule;
    size_t count = told.operation_count;
    struct gw_operation *operations = calloc(count, sizeof *operations);
    struct gw_slice *groups = calloc(told.group_count, sizeof *groups);
    memcpy(operations, told.operations, count * sizeof *operations);
    memcpy(groups, told.groups, told.group_count * sizeof *groups);
    told.operations = operations;
    told.groups = groups;
    gw_schedule_select(&told, gw_executor_extents(rank->executor));
    for (size_t i = 0; i < count; i++) {
        uint64_t most = 0;
        for (size_t w = 0; w < rank->scenario->workers && operations[i].kind == GW_EXCHANGE; w++) {
            uint64_t bytes = rank->timeline.spans[w * count + i].bytes;
            require(rank, bytes == bytes_by_hand(rank, &operations[i], w),
                    "other bytes travelled than were selected");
            most = bytes > most ? bytes : most;
        }
        require(rank, most == operations[i].bytes, "the schedule tells other bytes");
    }
    free(operations);
    free(groups);
}

/* Nothing began before what it depends on had ended. */
static inline void check_order(const struct rank *rank) {
    const struct gw_schedule *schedule = &rank->scenario->schedule;
    size_t count = schedule->operation_count;
    struct gw_error error = {0};
    require_ok(rank, gw_timeline_check(&rank->timeline, &error), &error);
    for (size_t i = 0; i < rank->scenario->workers * count; i++) {
        const struct gw_operation *operation = &schedule->operations[i % count];
        for (size_t d = 0; d < operation->dependency_count; d++) {
            size_t before = schedule->dependencies[operation->first_dependency + d];
            require(rank,
                    rank->timeline.spans[i - i % count + before].end_s <=
                        rank->timeline.spans[i].start_s,
                    "an operation began before what it depends on had ended");
        }
    }
}

/* Extents that exchanges of values and layers have. */
static inline void check_extents(const struct rank *rank, const struct reference *reference) {
    const char *exchange = reference->exchange;
    for (uint32_t g = 0; g < rank->scenario->schedule.group_count; g++) {
        if (strcmp(exchange, "union") == 0 || strcmp(exchange, "layer-server") == 0) {
            require(rank, gw_executor_extents(rank->executor)[g].all == reference->all[g],
                    "the number of elements that travelled together is not the reference's");
        }
    }
}

/* ---- an iteration -------------------------------------------------------------------------- */

/* How often no worker at all had selected anything of a group; of all tests, on rank 0. */
static size_t nothing_selected, everything_selected;

static inline void note_luck(const struct rank *rank) {
    for (uint32_t g = 0; g < rank->scenario->schedule.group_count; g++) {
        uint64_t most = most_selected(rank, g);
        nothing_selected += most == 0;
        everything_selected += most == rank->scenario->schedule.groups[g].elements &&
                               strcmp(rank->scenario->algorithm->compressor, "none") != 0;
    }
}

static inline void iterate(struct rank *rank, struct reference *reference) {
    struct gw_error error = {0};
    gather(rank, GW_RESIDUAL, rank->before);
    gw_timeline_clear(&rank->timeline);
    require_ok(rank, gw_executor_iterate(rank->executor, 0, &rank->timeline, &error), &error);
    gather(rank, GW_GRADIENT, rank->gradients);
    gather(rank, GW_RESIDUAL, rank->residuals);
    gather(rank, GW_AGGREGATE, rank->aggregates);
    check_bytes(rank);
    check_order(rank);
    if (rank->communicator->rank == 0) {
        reference_iterate(reference, rank->gradients);
        check_aggregates(rank, reference);
        check_residuals(rank, reference);
        check_conservation(rank);
        check_counts(rank, reference);
        check_extents(rank, reference);
        note_luck(rank);
    }
}

static inline void run_rank(const struct scenario *scenario, struct gw_communicator *communicator) {
    struct rank rank = {.scenario = scenario, .communicator = communicator};
    struct gw_error error = {0};
    open_rank(&rank, &error);
    struct reference *reference = calloc(1, sizeof *reference);
    *reference = (struct reference){.schedule = &scenario->schedule,
                                    .compressor = scenario->algorithm->compressor,
                                    .exchange = scenario->algorithm->exchange,
                                    .workers = scenario->workers,
                                    .elements = rank.elements,
                                    .seed = SEED};
    reference_open(reference);
    for (size_t i = 0; i < scenario->iterations; i++) {
        iterate(&rank, reference);
    }
    reference_close(reference);
    free(reference);
    close_rank(&rank);
}

/* ---- ranks --------------------------------------------------------------------------------- */

struct thread {
    const struct scenario *scenario;
    struct gw_communicator communicator;
};

static inline void *run_thread(void *argument) {
    struct thread *thread = argument;
    run_rank(thread->scenario, &thread->communicator);
    thread->communicator.transport->close(&thread->communicator);
    return NULL;
}

static inline void run_threads(const struct scenario *scenario) {
    int size = (int)scenario->workers + (scenario->schedule.server ? 1 : 0);
    struct gw_communicator communicators[MOST_WORKERS + 1];
    struct thread ranks[MOST_WORKERS + 1];
    pthread_t threads[MOST_WORKERS + 1];
    assert_int_equal(gw_communicators_open_local(size, communicators, NULL), GW_OK);
    for (int r = 0; r < size; r++) {
        ranks[r] = (struct thread){.scenario = scenario, .communicator = communicators[r]};
        assert_int_equal(pthread_create(&threads[r], NULL, run_thread, &ranks[r]), 0);
    }
    for (int r = 0; r < size; r++) {
        pthread_join(threads[r], NULL);
    }
}

/* A job that this process is a rank of; NULL: ranks are threads. */
static struct gw_communicator *job;

/* Inside a job, `most` workers are as many as it has room for. */
static inline void run_scenario(const struct gw_algorithm *algorithm, size_t most, double density,
                                size_t iterations) {
    const struct gw_exchange_kind *exchange = NULL;
    assert_int_equal(gw_exchange_find(algorithm->exchange, &exchange, NULL), GW_OK);
    if (job != NULL) {
        most = (size_t)job->size - (exchange->server ? 1 : 0);
    }
    bool dense = !gw_algorithm_is_sparse(algorithm);
    struct scenario scenario = {.algorithm = algorithm,
                                .workers = most,
                                .iterations = iterations,
                                .density = dense ? 1 : density};
    if (most == 0) {
        return;
    }
    open_scenario(&scenario);
    if (job != NULL) {
        run_rank(&scenario, job);
    } else {
        run_threads(&scenario);
    }
    close_scenario(&scenario);
}

/* ---- all pairs ----------------------------------------------------------------------------- */

/* Calls `run` with every compressor by every exchange that can carry it, without overlap and with.
 */
static inline void for_each_pair(void (*run)(const struct gw_algorithm *algorithm)) {
    const char *names[32] = {"none"};
    size_t count = 1;
    size_t pairs = 0;
    for (size_t i = 0; gw_compressors[i] != NULL; i++) {
        names[count++] = gw_compressors[i]->name;
    }
    for (size_t c = 0; c < count; c++) {
        for (size_t e = 0; gw_exchange_kinds[e] != NULL; e++) {
            if (!gw_exchange_kinds[e]->carries(names[c])) {
                continue;
            }
            for (int overlap = 0; overlap <= 1; overlap++) {
                struct gw_algorithm algorithm = {.name = "pair",
                                                 .compressor = names[c],
                                                 .exchange = gw_exchange_kinds[e]->name,
                                                 .overlap = overlap == 1};
                run(&algorithm);
                pairs++;
            }
        }
    }
    assert_true(pairs >= 2 * count);
}

#endif
