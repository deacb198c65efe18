/*
 * Jobs of any compressor by any exchange that can carry it, of 1 to 5 workers on a small model,
 * held to the sequential reference in each iteration (exec_checks.h). Ranks are threads or, inside
 * an MPI job, its processes.
 */
#ifndef GW_TESTS_EXEC_PAIRS_H
#define GW_TESTS_EXEC_PAIRS_H

#include "tests/exec/exec_checks.h"
#include "tests/local_transport.h"
#include "tests/test.h"

/* ---- a small model ------------------------------------------------------------------------- */

enum { SEED = 5 };

static const uint64_t tensor_elements[TENSORS] = {300, 1, 1500, 64, 1, 400, 3, 700};

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
    assert_ok(gw_plan_create(&scenario->plan, "small", "by hand", algorithm->compressor->name,
                             scenario->density, scenario->workers, NULL));
    scenario->plan.group_count = gw_algorithm_overlaps(algorithm) ? 4 : 1;
    scenario->plan.groups = calloc(4, sizeof *scenario->plan.groups);
    memcpy(scenario->plan.groups, gw_algorithm_overlaps(algorithm) ? several : one,
           scenario->plan.group_count * sizeof *scenario->plan.groups);
    assert_ok(gw_algorithm_schedule(algorithm, &scenario->model, &scenario->plan,
                                    &scenario->schedule, NULL));
}

static inline void close_scenario(struct scenario *scenario) {
    gw_schedule_free(&scenario->schedule);
    gw_plan_free(&scenario->plan);
}

/* ---- where ranks work ---------------------------------------------------------------------- */

/* What each rank opens its executor with; on the host unless a test says otherwise. */
static struct gw_executor_options executor_options = {.seed = SEED};

/* Each rank's own GPU, in place of the options' one that all ranks share; NULL: there is none. */
static struct gw_device *rank_devices[MOST_WORKERS + 1];

/* ---- a rank -------------------------------------------------------------------------------- */

static inline void gather(const struct rank *rank, enum gw_vector vector, float *all) {
    struct gw_communicator *communicator = rank->communicator;
    struct gw_error error = {0};
    require_ok(rank, gw_executor_copy(rank->executor, vector, rank->own, &error), &error);
    (void)gw_allgather(communicator, rank->own, rank->elements * sizeof *all, all, NULL);
}

static inline void open_rank(struct rank *rank, struct gw_error *error) {
    struct gw_executor_options options = executor_options;
    if (rank_devices[rank->communicator->rank] != NULL) {
        options.device = rank_devices[rank->communicator->rank];
    }
    require_ok(rank,
               gw_executor_open(&rank->executor, &rank->scenario->schedule, rank->communicator,
                                &options, error),
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

/* ---- an iteration -------------------------------------------------------------------------- */

/* How often no worker at all had selected anything of a group; of all tests, on rank 0. */
static size_t nothing_selected, everything_selected;

static inline void note_luck(const struct rank *rank) {
    for (uint32_t g = 0; g < rank->scenario->schedule.group_count; g++) {
        uint64_t most = most_selected(rank, g);
        nothing_selected += most == 0;
        everything_selected += most == rank->scenario->schedule.groups[g].elements &&
                               gw_algorithm_is_sparse(rank->scenario->algorithm);
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
                                    .exchange = scenario->algorithm->exchange->name,
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

static inline void run_thread(struct gw_communicator *communicator, void *context) {
    run_rank(context, communicator);
}

static inline void run_threads(struct scenario *scenario) {
    int size = (int)scenario->workers + (scenario->schedule.server ? 1 : 0);
    run_local_ranks(size, run_thread, scenario, 0);
}

/* A job that this process is a rank of; NULL: ranks are threads. */
static struct gw_communicator *job;

/* Inside a job, `most` workers are as many as it has room for. */
static inline void run_scenario(const struct gw_algorithm *algorithm, size_t most, double density,
                                size_t iterations) {
    if (job != NULL) {
        most = (size_t)job->size - (algorithm->exchange->server ? 1 : 0);
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

/*
 * Calls `run` with compressors by exchanges that can carry them, without overlap and with: of as
 * many as GRADWEAVE_TRIALS says with both, and of each compressor and exchange once at least.
 */
static inline void for_each_pair(void (*run)(const struct gw_algorithm *algorithm)) {
    const struct gw_compressor *compressors[32] = {&gw_compressor_none};
    size_t count = 1;
    size_t once = 0;
    bool tried[2][32] = {{false}};
    size_t percent = (size_t)gw_trials(100);
    for (size_t i = 0; gw_compressors[i] != NULL; i++) {
        compressors[count++] = gw_compressors[i];
    }
    for (size_t c = 0; c < count; c++) {
        for (size_t e = 0; gw_exchange_kinds[e] != NULL; e++) {
            bool chosen = gw_random_mix(SEED + 32 * c + e) % 100 < percent;
            bool needed = !tried[0][c] || !tried[1][e];
            if (!gw_exchange_kinds[e]->carries(compressors[c]) || !(chosen || needed)) {
                continue;
            }
            tried[0][c] = tried[1][e] = true;
            size_t first = chosen ? 0 : once++ % 2;
            size_t last = chosen ? 1 : first;
            for (size_t overlap = first; overlap <= last; overlap++) {
                run(&(struct gw_algorithm){.name = "pair",
                                           .policy = overlap == 1 ? "per-tensor" : "single",
                                           .compressor = compressors[c],
                                           .exchange = gw_exchange_kinds[e]});
            }
        }
        assert_true(tried[0][c]);
    }
}

#endif
