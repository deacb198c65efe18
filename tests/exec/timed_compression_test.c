/*
 * Compression that is timed waiting, in every published pipeline and of every compressor by every
 * exchange that can carry it, with ranks as threads: it takes as long as its operations say, what
 * is selected is what was asked, and the exchanges carry just what the schedule says.
 */
#include <math.h>

#include "exec/worker.h"
#include "tests/exec/exec_scene.h"
#include "tests/test.h"

enum { ITERATIONS = 3 };

/* Longer than the compressors take here, by far. */
static const double compression_s = 4e-3;

/* ---- what an iteration is held to ---------------------------------------------------------- */

/* Compute runs through, and no operation of it takes less time than it says. */
static void check_compute(struct rank *rank, const struct gw_span *spans) {
    double told_s = 0;
    for (size_t i = 0; i < rank->schedule->operation_count; i++) {
        const struct gw_operation *operation = &rank->schedule->operations[i];
        if (operation->stream == GW_STREAM_COMPUTE) {
            told_s += operation->duration_s;
            expect(rank, spans[i].end_s >= told_s - 1e-9, /* rounding of the sums */
                   "compute took less time than it was told to");
        }
    }
}

static void check_bytes(struct rank *rank, const struct gw_span *spans) {
    for (size_t i = 0; i < rank->schedule->operation_count; i++) {
        expect(rank, spans[i].bytes == rank->schedule->operations[i].bytes,
               "other bytes travelled than the schedule says");
    }
}

/* Each has what it was asked for, or all together. */
static void check_selected(struct rank *rank) {
    const struct gw_schedule *schedule = rank->schedule;
    size_t groups = 0;
    const uint64_t *selected = gw_session_selected(rank->executor, &groups);
    for (size_t g = 0; g < groups; g++) {
        uint64_t sum = 0;
        for (size_t w = 0; w < schedule->workers; w++) {
            sum += selected[g * schedule->workers + w];
        }
        uint64_t askers = schedule->compressor->joint ? 1 : schedule->workers;
        expect(rank, sum == askers * schedule->groups[g].kept, "not what was asked is selected");
        expect(rank,
               gw_session_extents(rank->executor)[g].most == schedule->groups[g].selected.most &&
                   gw_session_extents(rank->executor)[g].all == schedule->groups[g].selected.all,
               "the extents are not those of the schedule");
    }
}

/* How many elements of a group are in its aggregate: other ones of each worker, or common ones. */
static uint64_t expected_elements(const struct gw_schedule *schedule,
                                  const struct gw_slice *slice) {
    bool each = schedule->exchange == &gw_exchange_allgather ||
                schedule->exchange == &gw_exchange_allgather_padded;
    return (each && !schedule->compressor->joint ? schedule->workers : 1) * slice->kept;
}

/* Gradients are as good as never zero. */
static void check_aggregate(struct rank *rank) {
    const struct gw_schedule *schedule = rank->schedule;
    float *aggregate = calloc(gw_vectors_elements(schedule), sizeof *aggregate);
    (void)gw_session_copy(rank->executor, GW_AGGREGATE, aggregate, NULL);
    for (size_t g = 0; g < schedule->group_count; g++) {
        const struct gw_slice *slice = &schedule->groups[g];
        uint64_t elements = 0;
        for (size_t i = 0; i < slice->elements; i++) {
            elements += aggregate[slice->first + i] != 0;
        }
        expect(rank, elements == expected_elements(schedule, slice),
               "the aggregate has not what was selected");
    }
    free(aggregate);
}

static void check_iterations(struct rank *rank) {
    size_t own = (size_t)rank->communicator.rank;
    for (int i = 0; i < ITERATIONS; i++) {
        iterate(rank);
        for (size_t lane = 0; lane < rank->schedule->workers; lane++) {
            const struct gw_span *spans =
                rank->timeline.spans + lane * rank->schedule->operation_count;
            check_compute(rank, spans);
            check_bytes(rank, spans);
        }
        check_selected(rank);
        if (own < rank->schedule->workers) {
            check_aggregate(rank);
        }
    }
}

/* ---- every pipeline ------------------------------------------------------------------------ */

static void open_timed(struct scene *scene, const struct gw_algorithm *algorithm, size_t workers) {
    open_scene(scene, algorithm, workers);
    for (size_t i = 0; i < scene->schedule.operation_count; i++) {
        struct gw_operation *operation = &scene->schedule.operations[i];
        operation->duration_s =
            operation->kind == GW_COMPRESS ? compression_s : operation->duration_s;
    }
}

static void run_timed(const struct gw_algorithm *algorithm, size_t workers,
                      void (*run)(struct rank *rank)) {
    struct scene scene;
    session_options.timed_compression = true;
    open_timed(&scene, algorithm, workers);
    run_ranks(&scene.schedule, NULL, run);
    close_scene(&scene);
    session_options.timed_compression = false;
}

TEST(every_pipeline_carries_what_its_schedule_says) {
    for (size_t a = 0; gw_algorithms[a].name != NULL; a++) {
        for (size_t workers = 1; workers <= MOST_WORKERS; workers++) {
            if (gw_algorithm_is_sparse(&gw_algorithms[a])) {
                run_timed(&gw_algorithms[a], workers, check_iterations);
            }
        }
    }
}

TEST(every_compressor_is_carried_by_any_exchange) {
    for (size_t c = 0; gw_compressors[c] != NULL; c++) {
        for (size_t e = 0; gw_exchange_kinds[e] != NULL; e++) {
            const struct gw_algorithm pair = {.name = "pair",
                                              .policy = "per-tensor",
                                              .compressor = gw_compressors[c],
                                              .exchange = gw_exchange_kinds[e]};
            if (pair.exchange->carries(pair.compressor)) {
                run_timed(&pair, 3, check_iterations);
            }
        }
    }
}

/* Also those of which it depends on gradients how much they select. */
static void warm_up(struct rank *rank) {
    static const struct gw_warm_up_limits many = {.iterations = 50};
    struct gw_warmed_up warmed_up;
    struct gw_error error = {0};
    require(rank, gw_session_warm_up(rank->executor, &many, &warmed_up, &error), &error,
            "warming up");
    expect(rank, warmed_up.iterations == 0, "something was warmed up");
}

TEST(timed_compression_needs_no_warm_up) {
    for (size_t a = 0; gw_algorithms[a].name != NULL; a++) {
        run_timed(&gw_algorithms[a], 2, warm_up);
    }
}

/* ---- where it cannot be -------------------------------------------------------------------- */

TEST(trainers_compress_for_real) {
    struct scene scene;
    struct gw_communicator communicator;
    struct gw_session *session = NULL;
    struct gw_error error = {0};
    const struct gw_session_options options = {
        .seed = 1, .compute = GW_COMPUTE_TRAINER, .timed_compression = true};
    open_named(&scene, "topk", 1);
    assert_ok(gw_communicators_open_local(1, &communicator, NULL));
    assert_int_equal(gw_session_open(&session, &scene.schedule, &communicator, &options, &error),
                     GW_BAD_INPUT);
    assert_string_equal(error.message, "execution: timed compression: expected compute that is "
                                       "timed waiting, on the host");
    communicator.transport->close(&communicator);
    close_scene(&scene);
}
