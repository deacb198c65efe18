/* A small model's pipelines, for the executor's ranks as threads of a test. */
#ifndef GW_TESTS_EXEC_SCENE_H
#define GW_TESTS_EXEC_SCENE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec/exec.h"
#include "methods/schedule.h"
#include "tests/local_transport.h"
#include "tests/test.h"

enum { TENSORS = 7, MOST_WORKERS = 5, MOST_RANKS = MOST_WORKERS + 1 };

/* ---- a small model ------------------------------------------------------------------------- */

static const uint64_t tensor_elements[TENSORS] = {300, 1, 5000, 64, 900, 3, 2500};

struct scene {
    struct gw_model model;
    struct gw_tensor tensors[TENSORS];
    struct gw_plan plan;
    struct gw_schedule schedule;
};

static inline void open_scene(struct scene *scene, const struct gw_algorithm *algorithm,
                              size_t workers) {
    static char name[] = "tensor";
    *scene = (struct scene){0};
    for (size_t i = 0; i < TENSORS; i++) {
        scene->tensors[i] = (struct gw_tensor){
            .name = name, .elements = tensor_elements[i], .backward_s = 1e-4 * (double)i};
    }
    scene->model = (struct gw_model){.name = name,
                                     .bytes_per_element = 4,
                                     .forward_s = 1e-3,
                                     .update_s = 1e-4,
                                     .tensor_count = TENSORS,
                                     .tensors = scene->tensors};
    double density = gw_algorithm_is_sparse(algorithm) ? 0.01 : 1;
    assert_ok(gw_plan_create(&scene->plan, "small", "by hand", algorithm->compressor->name, density,
                             workers, NULL));
    static const struct gw_group one[] = {{TENSORS - 1, 0}};
    static const struct gw_group three[] = {{6, 5}, {4, 2}, {1, 0}};
    scene->plan.group_count = gw_algorithm_overlaps(algorithm) ? 3 : 1;
    scene->plan.groups = calloc(3, sizeof *scene->plan.groups);
    memcpy(scene->plan.groups, gw_algorithm_overlaps(algorithm) ? three : one,
           scene->plan.group_count * sizeof *scene->plan.groups);
    assert_ok(
        gw_algorithm_schedule(algorithm, &scene->model, &scene->plan, &scene->schedule, NULL));
}

static inline void open_named(struct scene *scene, const char *name, size_t workers) {
    const struct gw_algorithm *algorithm = NULL;
    assert_ok(gw_algorithm_find(name, &algorithm, NULL));
    open_scene(scene, algorithm, workers);
}

static inline void close_scene(struct scene *scene) {
    gw_schedule_free(&scene->schedule);
    gw_plan_free(&scene->plan);
}

/* ---- ranks --------------------------------------------------------------------------------- */

/* The options of each rank's session. */
static struct gw_session_options session_options = {.seed = 5};

struct rank {
    const struct gw_schedule *schedule;
    const struct gw_transport *transport; /* in place of the one between threads; or NULL */
    void (*run)(struct rank *rank);
    struct gw_communicator communicator;
    struct gw_session *executor;
    struct gw_timeline timeline;
    const char *complaint; /* NULL: all was as it should be; cmocka cannot fail in a thread */
};

static inline void expect(struct rank *rank, bool holds, const char *what) {
    if (!holds && rank->complaint == NULL) {
        rank->complaint = what;
    }
}

/* Ends the test program: a rank that gave up alone would leave the others in a barrier forever. */
static inline void require(const struct rank *rank, enum gw_status status,
                           const struct gw_error *error, const char *what) {
    if (status != GW_OK) {
        (void)fprintf(stderr, "rank %d of %d: %s: %s\n", rank->communicator.rank,
                      rank->communicator.size, what, error->message);
        _exit(1);
    }
}

static inline void iterate(struct rank *rank) {
    struct gw_error error = {0};
    gw_timeline_clear(&rank->timeline);
    require(rank, gw_session_iterate(rank->executor, 0, &rank->timeline, &error), &error,
            "an iteration failed");
}

/* The transport between threads, which tests put something in front of. */
static const struct gw_transport *healthy;

static inline struct gw_transport copy_of_healthy(void) {
    struct gw_communicator communicator;
    assert_ok(gw_communicators_open_local(1, &communicator, NULL));
    healthy = communicator.transport;
    healthy->close(&communicator);
    return *healthy;
}

static inline void run_one(struct gw_communicator *communicator, void *context) {
    struct rank *rank = context;
    rank->communicator = *communicator;
    if (rank->transport != NULL) {
        rank->communicator.transport = rank->transport;
    }
    struct gw_error error = {0};
    require(rank,
            gw_session_open(&rank->executor, rank->schedule, &rank->communicator, &session_options,
                            &error),
            &error, "the executor could not be opened");
    require(rank, gw_session_timeline(rank->executor, &rank->timeline, &error), &error,
            "the timeline could not be made");
    rank->run(rank);
    gw_timeline_free(&rank->timeline);
    gw_session_close(rank->executor);
}

/* A job of the schedule's ranks, each a thread that runs `run` with its struct rank, whose executor
 * is open. With `transport` in place of the one between threads, if not NULL. */
static inline void run_ranks(const struct gw_schedule *schedule,
                             const struct gw_transport *transport, void (*run)(struct rank *)) {
    int size = (int)schedule->workers + (schedule->server ? 1 : 0);
    struct rank ranks[MOST_RANKS];
    for (int r = 0; r < size; r++) {
        ranks[r] = (struct rank){.schedule = schedule, .transport = transport, .run = run};
    }
    run_local_ranks(size, run_one, ranks, sizeof *ranks);
    for (int r = 0; r < size; r++) {
        if (ranks[r].complaint != NULL) {
            fail_msg("rank %d of %d: %s", r, size, ranks[r].complaint);
        }
    }
}

/* A job of a published algorithm. */
static inline void run_named(const char *name, size_t workers, const struct gw_transport *transport,
                             void (*run)(struct rank *)) {
    struct scene scene;
    open_named(&scene, name, workers);
    run_ranks(&scene.schedule, transport, run);
    close_scene(&scene);
}

#endif
