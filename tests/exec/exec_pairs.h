/*
 * Jobs of any compressor by any exchange that can carry it, of 1 to 5 workers on a small model,
 * held to the sequential reference in each iteration (exec_checks.h). Ranks are threads or, inside
 * an MPI job, its processes.
 */
#ifndef GW_TESTS_EXEC_PAIRS_H
#define GW_TESTS_EXEC_PAIRS_H

#include <pthread.h>

#include "exec/worker.h"
#include "tests/exec/exec_checks.h"

/* ---- a trainer ----------------------------------------------------------------------------- */

static inline void gather(const struct rank *rank, enum gw_vector vector, float *all) {
    struct gw_communicator *communicator = rank->communicator;
    struct gw_error error = {0};
    require_ok(rank, gw_session_copy(rank->executor, vector, rank->own, &error), &error);
    (void)gw_allgather(communicator, rank->own, rank->elements * sizeof *all, all, NULL);
}

enum { REPORTERS = 3 };

/* A thread that says which tensors are ready: every third of those in `order`. */
struct reporter {
    struct rank *rank;
    const size_t *order;
    size_t first, left_out;
    const float *values; /* [elements], as the session has them */
    float *gradients;    /* the same, or room for them on a GPU */
};

/* Returns the data in memory of the host: itself, or copied to `copy`. */
static inline const float *look_at(struct rank *rank, const float *from, float *copy,
                                   size_t count) {
    struct gw_error error = {0};
    if (rank->options.trainer == NULL) {
        return from;
    }
    require_ok(rank,
               gw_device_copy(rank->options.trainer, copy, from, count * sizeof *copy, &error),
               &error);
    require_ok(rank, gw_device_stream_finish(rank->options.trainer, &error), &error);
    return copy;
}

static inline void *report(void *argument) {
    const struct reporter *reporter = argument;
    struct rank *rank = reporter->rank;
    struct gw_error error = {0};
    for (size_t i = reporter->first; i < TENSORS; i += REPORTERS) {
        size_t tensor = reporter->order[i];
        size_t first = 0;
        for (size_t after = tensor + 1; after < TENSORS; after++) {
            first += tensor_elements[after];
        }
        float *gradient = reporter->gradients + first;
        if (tensor != reporter->left_out) {
            if (reporter->gradients != reporter->values) { /* nothing is waited for */
                require_ok(rank,
                           gw_device_copy(rank->options.trainer, gradient, reporter->values + first,
                                          tensor_elements[tensor] * sizeof *gradient, &error),
                           &error);
            }
            require_ok(rank,
                       gw_session_ready(rank->executor, tensor, gradient,
                                        tensor % 2 == 0 ? gradient : NULL, &error),
                       &error);
        }
    }
    return NULL;
}

static inline int descending(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left < right) - (left > right);
}

static inline bool is_thresholded(const struct reference *reference) {
    bool any = false;
    for (uint32_t g = 0; g < reference->schedule->group_count; g++) {
        any = any || compressor_of(reference, g)->thresholded;
    }
    return any;
}

/* The magnitude that k of the first gradients reach, on the mean of the workers. */
static inline void reference_thresholds(struct reference *reference, const float *gradients) {
    static double thresholds[MOST_GROUPS];
    double magnitudes[MOST_ELEMENTS];
    for (uint32_t g = 0; g < reference->schedule->group_count; g++) {
        const struct gw_slice *slice = &reference->schedule->groups[g];
        thresholds[g] = 0;
        for (size_t w = 0; w < reference->workers; w++) {
            for (size_t i = 0; i < slice->size.elements; i++) {
                magnitudes[i] = fabs((double)gradients[w * reference->elements + slice->first + i]);
            }
            qsort(magnitudes, slice->size.elements, sizeof *magnitudes, descending);
            thresholds[g] += magnitudes[slice->kept - 1] / (double)reference->workers;
        }
    }
    reference->thresholds = thresholds;
    reference_reopen(reference);
}

/* Tensors become ready in any order on any thread; one may not at all. */
static inline void train(struct rank *rank, struct reference *reference) {
    struct gw_error error = {0};
    struct gw_random *random = NULL;
    struct reporter reporters[REPORTERS];
    pthread_t threads[REPORTERS];
    size_t order[TENSORS];
    size_t own_rank = (size_t)rank->communicator->rank;
    bool serves = own_rank == rank->scenario->workers;
    float scale = session_options.average ? 1 / (float)rank->scenario->workers : 1;
    uint64_t stream = rank->trained++;
    float *values = calloc(rank->elements, sizeof *values);
    void *on_gpu = NULL;
    if (rank->options.trainer != NULL) {
        require_ok(rank,
                   gw_device_allocate(rank->options.device, rank->elements * sizeof *values,
                                      &on_gpu, &error),
                   &error);
    }
    float *gradients = on_gpu == NULL ? values : on_gpu;
    require_ok(rank, gw_random_open(&random, SEED + own_rank, stream, &error), &error);
    require_ok(rank,
               gw_gradient_fill(values, rank->elements, 1e-3, SEED + stream, own_rank, &error),
               &error);
    for (size_t i = 0; i < TENSORS; i++) {
        order[i] = i;
    }
    gw_random_shuffle(random, order, TENSORS, sizeof *order);
    size_t left_out = (size_t)gw_random_below(random, 2 * TENSORS);
    for (size_t tensor = 0, first = rank->elements; tensor < TENSORS; tensor++) {
        first -= tensor_elements[tensor];
        if (tensor == left_out) {
            memset(values + first, 0, tensor_elements[tensor] * sizeof *values);
        }
    }
    for (size_t i = 0; i < rank->elements; i++) {
        rank->own[i] = serves ? 0 : scale * values[i];
    }
    (void)gw_allgather(rank->communicator, rank->own, rank->elements * sizeof *values,
                       rank->gradients, NULL);
    if (own_rank == 0 && rank->trained == 1 && is_thresholded(reference)) {
        reference_thresholds(reference, rank->gradients);
    }
    require_ok(rank, gw_session_begin(rank->executor, &error), &error);
    for (size_t t = 0; t < REPORTERS && !serves; t++) {
        reporters[t] = (struct reporter){.rank = rank,
                                         .order = order,
                                         .first = t,
                                         .left_out = left_out,
                                         .values = values,
                                         .gradients = gradients};
        require(rank, pthread_create(&threads[t], NULL, report, &reporters[t]) == 0, "no thread");
    }
    for (size_t t = 0; t < REPORTERS && !serves; t++) {
        (void)pthread_join(threads[t], NULL);
    }
    require_ok(rank, gw_session_wait(rank->executor, &error), &error);
    for (size_t tensor = 0, first = rank->elements; tensor < TENSORS && !serves; tensor++) {
        size_t count = tensor_elements[tensor];
        first -= count;
        const float *result = look_at(rank, gradients + first, values + first, count);
        const float *aggregate =
            look_at(rank, gw_session_aggregate(rank->executor, tensor), rank->own, count);
        require(rank,
                tensor % 2 != 0 || tensor == left_out ||
                    memcmp(result, aggregate, count * sizeof *values) == 0,
                "a result is not the aggregate");
    }
    require(rank, !serves || gw_session_aggregate(rank->executor, 0) == NULL,
            "a server has an aggregate");
    require_ok(rank, gw_session_verify(rank->executor, &error), &error);
    require_ok(rank, gw_session_record(rank->executor, 0, &rank->timeline, &error), &error);
    gw_random_close(random);
    gw_device_free(rank->options.device, on_gpu);
    free(values);
}

/* ---- an iteration -------------------------------------------------------------------------- */

/* How often no worker at all had selected anything of a group; of all tests, on rank 0. */
static size_t nothing_selected, everything_selected;

static inline void note_luck(const struct rank *rank) {
    for (uint32_t g = 0; g < rank->scenario->schedule.group_count; g++) {
        uint64_t most = most_selected(rank, g);
        nothing_selected += most == 0;
        everything_selected += most == rank->scenario->schedule.groups[g].size.elements &&
                               gw_algorithm_compresses(rank->scenario->algorithm);
    }
}

static inline void compare_iteration(struct rank *rank, struct reference *reference) {
    gather(rank, GW_RESIDUAL, rank->before);
    if (session_options.compute == GW_COMPUTE_TRAINER) {
        gw_timeline_clear(&rank->timeline);
        train(rank, reference);
    } else {
        iterate(rank);
        gather(rank, GW_GRADIENT, rank->gradients);
        check_durations(rank);
    }
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

/* After so many iterations a trainer's session is closed, and another one goes on; 0: never. */
static size_t restart_after;

static inline void restart(struct rank *rank) {
    struct gw_error error = {0};
    size_t bytes = gw_session_state_bytes(rank->executor);
    unsigned char *block = calloc(bytes, 1);
    require_ok(rank, gw_session_save(rank->executor, block, &error), &error);
    gw_session_close(rank->executor);
    require_ok(rank,
               gw_session_open(&rank->executor, &rank->scenario->schedule, rank->communicator,
                               &rank->options, &error),
               &error);
    require(rank, bytes == gw_session_state_bytes(rank->executor), "states have several sizes");
    require_ok(rank, gw_session_load(rank->executor, block, bytes, &error), &error);
    free(block);
}

static inline void compare_iterations(struct rank *rank) {
    const struct scenario *scenario = rank->scenario;
    struct reference *reference = calloc(1, sizeof *reference);
    *reference = (struct reference){.schedule = &scenario->schedule,
                                    .workers = scenario->workers,
                                    .elements = rank->elements,
                                    .seed = SEED};
    reference_open(reference);
    for (size_t i = 0; i < scenario->iterations; i++) {
        if (i > 0 && i == restart_after) {
            restart(rank);
        }
        compare_iteration(rank, reference);
    }
    reference_close(reference);
    free(reference);
}

/* ---- jobs ---------------------------------------------------------------------------------- */

/* A job that this process is a rank of; NULL: ranks are threads. */
static struct gw_communicator *job;

/* Inside a job, `most` workers are as many as it has room for. `ways`: of a mixed plan, or NULL. */
static inline void run_ways(const struct gw_algorithm *algorithm, const struct gw_plan_way *ways,
                            size_t most, double density, size_t iterations, double forward_s) {
    if (job != NULL) {
        most = (size_t)job->size - (algorithm->exchange->server ? 1 : 0);
    }
    if (most == 0) {
        return;
    }
    struct scenario scenario = scenario_of(algorithm, most, density);
    scenario.ways = ways;
    scenario.iterations = iterations;
    scenario.forward_s = forward_s;
    open_scenario(&scenario);
    if (job != NULL) {
        run_rank(job, &(struct job){.scenario = &scenario, .run = compare_iterations});
    } else {
        run_ranks(&scenario, NULL, compare_iterations);
    }
    close_scenario(&scenario);
}

static inline void run_scenario(const struct gw_algorithm *algorithm, size_t most, double density,
                                size_t iterations, double forward_s) {
    run_ways(algorithm, NULL, most, density, iterations, forward_s);
}

/* If few random cases are tried, the thread sanitizer, under which starting a job's threads is
 * slow, gets every other job of a pair, and the others of the next pair. */
static inline bool is_tried(size_t pair, size_t job_of_pair) {
#if defined(__SANITIZE_THREAD__)
    return gw_trials(2) == 2 || (pair + job_of_pair) % 2 == 0;
#else
    (void)pair, (void)job_of_pair;
    return true;
#endif
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
