/*
 * Warming up before the first iteration, with ranks as threads of this process: what it selects and
 * keeps, what it stops at, and what an iteration after it selects.
 */
#include <math.h>

#include "kernels/kernels.h"
#include "tests/exec/exec_scene.h"
#include "tests/test.h"

enum { STEPS = 12 };

static bool depends_on_gradients(const struct gw_algorithm *algorithm) {
    return gw_algorithm_is_sparse(algorithm) && !algorithm->compressor->exact;
}

static struct gw_warmed_up warm_up(struct rank *rank, struct gw_warm_up_limits limits) {
    struct gw_warmed_up warmed_up;
    struct gw_error error = {0};
    require(rank, gw_executor_warm_up(rank->executor, &limits, &warmed_up, &error), &error,
            "warming up");
    return warmed_up;
}

static uint64_t selected_by(const struct gw_executor *executor, size_t worker, size_t workers) {
    size_t groups = 0;
    const uint64_t *selected = gw_executor_selected(executor, &groups);
    uint64_t sum = 0;
    for (size_t group = 0; group < groups; group++) {
        sum += selected[group * workers + worker];
    }
    return sum;
}

static double selected_by_all(const struct gw_executor *executor, size_t workers) {
    uint64_t sum = 0;
    for (size_t worker = 0; worker < workers; worker++) {
        sum += selected_by(executor, worker, workers);
    }
    return (double)sum;
}

/* ---- what stays ---------------------------------------------------------------------------- */

/* What was accumulated either stays, or was selected and is cleared; nothing is aggregated. */
static void check_residual(struct rank *rank, const float *before) {
    struct gw_executor *executor = rank->executor;
    size_t elements = gw_executor_elements(executor);
    float *gradient = calloc(3 * elements, sizeof *gradient);
    float *after = gradient + elements;
    float *aggregate = after + elements;
    uint64_t cleared = 0;
    (void)gw_executor_copy(executor, GW_GRADIENT, gradient, NULL);
    (void)gw_executor_copy(executor, GW_RESIDUAL, after, NULL);
    (void)gw_executor_copy(executor, GW_AGGREGATE, aggregate, NULL);
    for (size_t i = 0; i < elements; i++) {
        float accumulated = before[i] + gradient[i];
        cleared += after[i] != accumulated;
        expect(rank, after[i] == accumulated || after[i] == 0, "a residual is lost");
        expect(rank, aggregate[i] == 0, "something was aggregated");
    }
    size_t worker = (size_t)rank->communicator.rank;
    expect(rank, cleared == selected_by(executor, worker, rank->schedule->workers),
           "not what was selected is cleared");
    free(gradient);
}

static void warm_up_step_by_step(struct rank *rank) {
    static const struct gw_warm_up_limits one = {.iterations = 1};
    bool works = (size_t)rank->communicator.rank < rank->schedule->workers;
    size_t elements = gw_executor_elements(rank->executor);
    float *before = calloc(elements, sizeof *before);
    for (int step = 0; step < STEPS; step++) {
        struct gw_warmed_up warmed_up = warm_up(rank, one);
        expect(rank, warmed_up.iterations == 1 && !warmed_up.reached, "not one iteration");
        if (works) {
            check_residual(rank, before);
            (void)gw_executor_copy(rank->executor, GW_RESIDUAL, before, NULL);
        }
    }
    iterate(rank);
    free(before);
}

TEST(residuals_are_kept) {
    for (size_t a = 0; gw_algorithms[a].name != NULL; a++) {
        for (size_t workers = 1; workers <= 3 && depends_on_gradients(&gw_algorithms[a]);
             workers++) {
            struct scene scene;
            open_scene(&scene, &gw_algorithms[a], workers);
            run_ranks(&scene.schedule, NULL, warm_up_step_by_step);
            close_scene(&scene);
        }
    }
}

/* ---- where it ends ------------------------------------------------------------------------- */

/* Whose counts are as asked for anyway, or that compress nothing, have nothing to warm up. */
static void warm_up_nothing(struct rank *rank) {
    static const struct gw_warm_up_limits many = {.iterations = 50};
    struct gw_warmed_up warmed_up = warm_up(rank, many);
    expect(rank, warmed_up.iterations == 0, "something was warmed up");
}

TEST(others_have_nothing_to_warm_up) {
    for (size_t a = 0; gw_algorithms[a].name != NULL; a++) {
        struct scene scene;
        open_scene(&scene, &gw_algorithms[a], 2);
        if (!depends_on_gradients(&gw_algorithms[a])) {
            run_ranks(&scene.schedule, NULL, warm_up_nothing);
        }
        close_scene(&scene);
    }
}

static void warm_up_until_the_end(struct rank *rank) {
    static const struct gw_warm_up_limits in_time = {
        .iterations = 1000000, .ends_early = true, .longest_s = 0.05};
    static const struct gw_warm_up_limits in_number = {.iterations = 7, .longest_s = 0};
    struct gw_warmed_up warmed_up = warm_up(rank, in_number);
    expect(rank, warmed_up.iterations == 7, "another number of iterations");
    warmed_up = warm_up(rank, in_time);
    expect(rank, warmed_up.iterations >= 1 && warmed_up.iterations < 1000000 && !warmed_up.reached,
           "time did not end it");
    iterate(rank);
}

/* A threshold that is given once is not met again, as residuals build up. */
TEST(time_or_number_end_it) {
    run_named("hard-threshold", 3, NULL, warm_up_until_the_end);
}

/* ---- what it is for ------------------------------------------------------------------------ */

static double asked_for(const struct gw_schedule *schedule) {
    double kept = 0;
    for (size_t group = 0; group < schedule->group_count; group++) {
        kept += (double)schedule->groups[group].kept;
    }
    return kept;
}

static void warm_up_and_iterate(struct rank *rank) {
    enum { AFTER = 10 };
    static const struct gw_warm_up_limits limits = {
        .iterations = 5000, .ends_early = true, .longest_s = 60};
    double selected = 0;
    struct gw_warmed_up warmed_up = warm_up(rank, limits);
    expect(rank, warmed_up.reached && warmed_up.iterations > 6,
           "the density asked for was not met");
    expect(rank, fabs(warmed_up.ratio - 1) <= 0.1, "the ratio is not near 1");
    for (int i = 0; i < AFTER; i++) {
        iterate(rank);
        selected += selected_by_all(rank->executor, rank->schedule->workers) / AFTER;
    }
    expect(rank, fabs(selected / asked_for(rank->schedule) - 1) < 0.25,
           "iterations afterwards do not select about as many as asked");
}

TEST(a_threshold_that_follows_has_warmed_up) {
    run_named("exdyna", 4, NULL, warm_up_and_iterate);
}

static void warm_up_a_given_threshold(struct rank *rank) {
    static const struct gw_warm_up_limits limits = {.iterations = 60};
    struct gw_warmed_up warmed_up = warm_up(rank, limits);
    expect(rank, warmed_up.ratio > 3, "what builds up does not show");
}

TEST(a_given_threshold_builds_up) {
    run_named("hard-threshold", 2, NULL, warm_up_a_given_threshold);
}
