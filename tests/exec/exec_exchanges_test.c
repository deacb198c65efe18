/*
 * Every compressor by every exchange that can carry it, executed by 1 to 5 workers and compared
 * with the sequential reference (exec_reference.h): aggregates and residuals bit for bit, what was
 * selected, and the bytes that travelled. Ranks are threads or, inside an MPI job, its processes.
 */
#include "tests/exec/exec_pairs.h"
#include "tests/test.h"

static int join_job(void **state) {
    static struct gw_communicator communicator;
    struct gw_error error = {0};
    (void)state;
    if (gw_mpi_is_inside_job()) {
        if (gw_communicator_open_mpi(&communicator, &error) != GW_OK) {
            (void)fprintf(stderr, "%s\n", error.message);
            return -1;
        }
        job = &communicator;
    }
    return 0;
}

static int leave_job(void **state) {
    (void)state;
    if (job != NULL) {
        job->transport->close(job);
    }
    return 0;
}
FIXTURES(join_job, leave_job)

/* Fewer than `full` if few random cases are tried, but more than are saved and continued from. */
static size_t iterations(int full) {
    return 3 + (size_t)gw_trials(full - 3);
}

static void run_any_workers(const struct gw_algorithm *algorithm) {
    static const double densities[] = {0.01, 1e-9, 1}; /* k is one; k is all */
    static size_t pair;
    pair++;
    for (size_t d = 0; d < sizeof densities / sizeof *densities; d++) {
        for (size_t workers = job == NULL ? 1 : MOST_WORKERS; workers <= MOST_WORKERS; workers++) {
            if (d == 0 || is_tried(pair, d + workers)) {
                run_scenario(algorithm, workers, densities[d], iterations(6), 0);
            }
        }
    }
}

TEST(every_pair_computes_the_reference) {
    for_each_pair(run_any_workers);
    assert_true(nothing_selected > 0 || (job != NULL && job->rank > 0));
    assert_true(everything_selected > 0 || (job != NULL && job->rank > 0));
}

TEST(every_preset_computes_the_reference_and_takes_its_time) {
    for (size_t i = 0; gw_algorithms[i].name != NULL; i++) {
        run_scenario(&gw_algorithms[i], 4, 0.02, iterations(5), 1e-3);
    }
}

static void run_trained(const struct gw_algorithm *algorithm) {
    static size_t pair;
    pair++;
    for (size_t workers = job == NULL ? 1 : MOST_WORKERS; workers <= MOST_WORKERS; workers++) {
        session_options.average = workers % 2 == 0;
        if (is_tried(pair, workers)) {
            run_scenario(algorithm, workers, 0.01, iterations(5), 0);
        }
    }
}

/* Gradients that a trainer reports from several threads, in another order in each iteration; the
 * session is saved and another one continues, of which the reference knows nothing. */
TEST(trainers_get_the_reference_also_from_a_saved_state) {
    session_options.compute = GW_COMPUTE_TRAINER;
    restart_after = 3;
    for_each_pair(run_trained);
    for (size_t i = 0; gw_algorithms[i].name != NULL; i++) {
        run_scenario(&gw_algorithms[i], 4, 0.02, (size_t)gw_trials(12) + 4, 0);
    }
    restart_after = 0;
    session_options.compute = GW_COMPUTE_WAIT;
    session_options.average = false;
}

/* ---- mixed plans --------------------------------------------------------------------------- */

#define WAY(COMPRESSOR, EXCHANGE, DENSITY)                                                         \
    { (char *)COMPRESSOR, (char *)COMPRESSOR, (char *)EXCHANGE, DENSITY, 0 }

static const struct gw_plan_way mixed_ways[][4] = {
    {WAY("none", "allreduce", 1), WAY("topk", "allgather", 0.1), WAY("none", "allreduce", 1),
     WAY("randk", "common-values", 0.02)},
    {WAY("hard-threshold", "allgather-padded", 0.03), WAY("exdyna", "union", 0.5),
     WAY("none", "allreduce", 1), WAY("topk", "leader", 0.01)},
    {WAY("count-sketch", "sketch-tree", 0.01), WAY("topk", "gtopk", 0.2),
     WAY("sidco", "allgather-padded", 0.05), WAY("none", "allreduce", 1)},
    {WAY("bf16", "halves", 1), WAY("int8", "two-phase", 1), WAY("topk", "allgather", 0.1),
     WAY("onebit", "two-phase", 1)},
    {WAY("fp8", "two-phase", 1), WAY("none", "allreduce", 1), WAY("qsgd", "allgather-codes", 1),
     WAY("fp16", "two-phase", 1)},
    {WAY("powersgd", "low-rank", 1), WAY("none", "allreduce", 1), WAY("powersgd", "low-rank", 1),
     WAY("topk", "allgather", 0.1)},
    {WAY("none", "server", 1), WAY("layer-drop", "layer-server", 0.1), WAY("none", "server", 1),
     WAY("count-sketch", "sketch-server", 0.01)}};

static void run_mixed(void) {
    for (size_t i = 0; i < sizeof mixed_ways / sizeof *mixed_ways; i++) {
        const struct gw_plan plan = {.policy = (char *)"optimal",
                                     .way_count = 4,
                                     .ways = (struct gw_plan_way *)mixed_ways[i]};
        const struct gw_algorithm algorithm = gw_algorithm_mixed(&plan);
        for (size_t workers = 1; workers <= MOST_WORKERS; workers++) {
            run_ways(&algorithm, mixed_ways[i], workers, 0.01, iterations(5), 0);
        }
    }
}

TEST(mixed_plans_compute_the_reference) {
    run_mixed();
}

TEST(trainers_of_mixed_plans_get_the_reference_also_from_a_saved_state) {
    session_options.compute = GW_COMPUTE_TRAINER;
    restart_after = 3;
    run_mixed();
    restart_after = 0;
    session_options.compute = GW_COMPUTE_WAIT;
}

/* ---- averages of codes --------------------------------------------------------------------- */

/* Gradients of 1e-7 on all workers: a quarter of that is 0 in half precision. */
static void average_small_gradients(struct rank *rank) {
    struct gw_error error = {0};
    static float gradient[MOST_ELEMENTS];
    bool vanishes = rank->scenario->algorithm->compressor == &gw_compressor_fp16;
    for (size_t i = 0; i < MOST_ELEMENTS; i++) {
        gradient[i] = 1e-7f;
    }
    require_ok(rank, gw_session_begin(rank->executor, &error), &error);
    for (size_t tensor = 0; tensor < TENSORS; tensor++) {
        require_ok(rank, gw_session_ready(rank->executor, tensor, gradient, NULL, &error), &error);
    }
    require_ok(rank, gw_session_wait(rank->executor, &error), &error);
    require_ok(rank, gw_session_copy(rank->executor, GW_AGGREGATE, rank->own, &error), &error);
    for (size_t i = 0; i < rank->elements; i++) {
        require(rank, vanishes ? rank->own[i] == 0 : fabs((double)rank->own[i] - 1e-7) < 1e-9,
                "the average is another one");
    }
}

TEST(gradients_are_divided_before_they_are_coded) {
    static const char *const names[] = {"bf16", "fp16", "bf16-fp32"};
    if (job != NULL) {
        skip();
    }
    session_options.compute = GW_COMPUTE_TRAINER;
    session_options.average = true;
    for (size_t i = 0; i < 3; i++) {
        run_named(names[i], 4, NULL, average_small_gradients);
    }
    session_options.compute = GW_COMPUTE_WAIT;
    session_options.average = false;
}

static size_t ran_long;

static void run_long(const struct gw_algorithm *algorithm) {
    if (gw_algorithm_overlaps(algorithm)) {
        run_scenario(algorithm, 3, 0.01, (size_t)gw_trials(200), 0);
        ran_long++;
    }
}

TEST(two_hundred_iterations_compute_the_reference) {
    if (job != NULL) {
        skip();
    }
    for_each_pair(run_long);
    assert_true(ran_long > 5);
}
