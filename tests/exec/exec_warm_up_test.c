/*
 * Warming up before the first iteration, with ranks as threads of this process: what it selects and
 * keeps, what it stops at, and what an iteration after it selects.
 */
#include <math.h>

#include "kernels/kernels.h"
#include "tests/exec/exec_scene.h"
#include "tests/support.h"

enum { STEPS = 12, SEED = 5 };

static void expect(struct rank *rank, bool holds, const char *what) {
    if (!holds && rank->complaint == NULL) {
        rank->complaint = what;
    }
}

static bool depends_on_gradients(const struct gw_algorithm *algorithm) {
    return gw_algorithm_is_sparse(algorithm) && !algorithm->compressor->exact;
}

static const struct gw_algorithm *find(const char *name) {
    const struct gw_algorithm *algorithm = NULL;
    assert_int_equal(gw_algorithm_find(name, &algorithm, NULL), GW_OK);
    return algorithm;
}

static struct gw_executor *open_rank(struct rank *rank, struct gw_timeline *timeline) {
    struct gw_executor *executor = NULL;
    struct gw_error error = {0};
    require(rank,
            gw_executor_open(&executor, rank->schedule, &rank->communicator,
                             &(struct gw_executor_options){.seed = SEED}, &error),
            &error, "the executor could not be opened");
    require(rank, gw_executor_timeline(executor, timeline, &error), &error,
            "the timeline could not be made");
    return executor;
}

static void close_rank(struct gw_executor *executor, struct gw_timeline *timeline) {
    gw_timeline_free(timeline);
    gw_executor_close(executor);
}

static void warm_up(struct rank *rank, struct gw_executor *executor,
                    const struct gw_warm_up_limits *limits, struct gw_warmed_up *warmed_up) {
    struct gw_error error = {0};
    require(rank, gw_executor_warm_up(executor, limits, warmed_up, &error), &error, "warming up");
}

static void iterate(struct rank *rank, struct gw_executor *executor, struct gw_timeline *timeline) {
    struct gw_error error = {0};
    gw_timeline_clear(timeline);
    require(rank, gw_executor_iterate(executor, 0, timeline, &error), &error, "an iteration");
}

static double selected_by_all(const struct gw_executor *executor, size_t workers) {
    size_t groups = 0;
    const uint64_t *selected = gw_executor_selected(executor, &groups);
    double sum = 0;
    for (size_t i = 0; i < groups * workers; i++) {
        sum += (double)selected[i];
    }
    return sum;
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

/* ---- what stays ---------------------------------------------------------------------------- */

/* What was accumulated either stays, or was selected and is cleared; nothing is aggregated. */
static void check_residual(struct rank *rank, struct gw_executor *executor, const float *before) {
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

static void *warm_up_step_by_step(void *argument) {
    static const struct gw_warm_up_limits one = {.iterations = 1};
    struct rank *rank = argument;
    struct gw_timeline timeline;
    struct gw_warmed_up warmed_up;
    struct gw_executor *executor = open_rank(rank, &timeline);
    bool works = (size_t)rank->communicator.rank < rank->schedule->workers;
    size_t elements = gw_executor_elements(executor);
    float *before = calloc(elements, sizeof *before);
    for (int step = 0; step < STEPS; step++) {
        warm_up(rank, executor, &one, &warmed_up);
        expect(rank, warmed_up.iterations == 1 && !warmed_up.reached, "not one iteration");
        if (works) {
            check_residual(rank, executor, before);
            (void)gw_executor_copy(executor, GW_RESIDUAL, before, NULL);
        }
    }
    iterate(rank, executor, &timeline);
    free(before);
    close_rank(executor, &timeline);
    return NULL;
}

static void residuals_are_kept(void **state) {
    (void)state;
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
static void *warm_up_nothing(void *argument) {
    static const struct gw_warm_up_limits many = {.iterations = 50};
    struct rank *rank = argument;
    struct gw_timeline timeline;
    struct gw_warmed_up warmed_up;
    struct gw_executor *executor = open_rank(rank, &timeline);
    warm_up(rank, executor, &many, &warmed_up);
    expect(rank, warmed_up.iterations == 0, "something was warmed up");
    close_rank(executor, &timeline);
    return NULL;
}

static void others_have_nothing_to_warm_up(void **state) {
    (void)state;
    for (size_t a = 0; gw_algorithms[a].name != NULL; a++) {
        struct scene scene;
        open_scene(&scene, &gw_algorithms[a], 2);
        if (!depends_on_gradients(&gw_algorithms[a])) {
            run_ranks(&scene.schedule, NULL, warm_up_nothing);
        }
        close_scene(&scene);
    }
}

static void *warm_up_until_the_end(void *argument) {
    static const struct gw_warm_up_limits in_time = {
        .iterations = 1000000, .ends_early = true, .longest_s = 0.05};
    static const struct gw_warm_up_limits in_number = {.iterations = 7, .longest_s = 0};
    struct rank *rank = argument;
    struct gw_timeline timeline;
    struct gw_warmed_up warmed_up;
    struct gw_executor *executor = open_rank(rank, &timeline);
    warm_up(rank, executor, &in_number, &warmed_up);
    expect(rank, warmed_up.iterations == 7, "another number of iterations");
    warm_up(rank, executor, &in_time, &warmed_up);
    expect(rank, warmed_up.iterations >= 1 && warmed_up.iterations < 1000000 && !warmed_up.reached,
           "time did not end it");
    iterate(rank, executor, &timeline);
    close_rank(executor, &timeline);
    return NULL;
}

/* A threshold that is given once is not met again, as residuals build up. */
static void time_or_number_end_it(void **state) {
    (void)state;
    struct scene scene;
    open_scene(&scene, find("hard-threshold"), 3);
    run_ranks(&scene.schedule, NULL, warm_up_until_the_end);
    close_scene(&scene);
}

/* ---- what it is for ------------------------------------------------------------------------ */

static double asked_for(const struct gw_schedule *schedule) {
    double kept = 0;
    for (size_t group = 0; group < schedule->group_count; group++) {
        kept += (double)schedule->groups[group].kept;
    }
    return kept;
}

static void *warm_up_and_iterate(void *argument) {
    enum { AFTER = 10 };
    static const struct gw_warm_up_limits limits = {
        .iterations = 5000, .ends_early = true, .longest_s = 60};
    struct rank *rank = argument;
    struct gw_timeline timeline;
    struct gw_warmed_up warmed_up;
    struct gw_executor *executor = open_rank(rank, &timeline);
    double selected = 0;
    warm_up(rank, executor, &limits, &warmed_up);
    expect(rank, warmed_up.reached && warmed_up.iterations > 6,
           "the density asked for was not met");
    expect(rank, fabs(warmed_up.ratio - 1) <= 0.1, "the ratio is not near 1");
    for (int i = 0; i < AFTER; i++) {
        iterate(rank, executor, &timeline);
        selected += selected_by_all(executor, rank->schedule->workers) / AFTER;
    }
    expect(rank, fabs(selected / asked_for(rank->schedule) - 1) < 0.25,
           "iterations afterwards do not select about as many as asked");
    close_rank(executor, &timeline);
    return NULL;
}

static void a_threshold_that_follows_has_warmed_up(void **state) {
    (void)state;
    struct scene scene;
    open_scene(&scene, find("exdyna"), 4);
    run_ranks(&scene.schedule, NULL, warm_up_and_iterate);
    close_scene(&scene);
}

static void *warm_up_a_given_threshold(void *argument) {
    static const struct gw_warm_up_limits limits = {.iterations = 60};
    struct rank *rank = argument;
    struct gw_timeline timeline;
    struct gw_warmed_up warmed_up;
    struct gw_executor *executor = open_rank(rank, &timeline);
    warm_up(rank, executor, &limits, &warmed_up);
    expect(rank, warmed_up.ratio > 3, "what builds up does not show");
    close_rank(executor, &timeline);
    return NULL;
}

static void a_given_threshold_builds_up(void **state) {
    (void)state;
    struct scene scene;
    open_scene(&scene, find("hard-threshold"), 2);
    run_ranks(&scene.schedule, NULL, warm_up_a_given_threshold);
    close_scene(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residuals_are_kept),
        cmocka_unit_test(others_have_nothing_to_warm_up),
        cmocka_unit_test(time_or_number_end_it),
        cmocka_unit_test(a_threshold_that_follows_has_warmed_up),
        cmocka_unit_test(a_given_threshold_builds_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
