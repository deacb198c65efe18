/*
 * Compression that is timed waiting, in every published pipeline and of every compressor by every
 * exchange that can carry it, with ranks as threads: it takes as long as its operations say, what
 * is selected is what was asked, and the exchanges carry just what the schedule says.
 */
#include <math.h>

#include "exec/worker.h"
#include "tests/exec/exec_scene.h"

enum { ITERATIONS = 3 };

/* Longer than the compressors take here, by far. */
static const double compression_s = 4e-3;

/* ---- what an iteration is held to ---------------------------------------------------------- */

static void check_bytes(struct rank *rank) {
    const struct gw_schedule *schedule = &rank->scenario->schedule;
    for (size_t i = 0; i < schedule->workers * schedule->operation_count; i++) {
        require(rank,
                rank->timeline.spans[i].bytes ==
                    schedule->operations[i % schedule->operation_count].bytes,
                "other bytes travelled than the schedule says");
    }
}

/* Each has what it was asked for, or all together. */
static void check_selected(struct rank *rank) {
    const struct gw_schedule *schedule = &rank->scenario->schedule;
    size_t groups = 0;
    const uint64_t *selected = gw_session_selected(rank->executor, &groups);
    for (size_t g = 0; g < groups; g++) {
        uint64_t sum = 0;
        for (size_t w = 0; w < schedule->workers; w++) {
            sum += selected[g * schedule->workers + w];
        }
        uint64_t askers = schedule->ways[0].compressor->joint ? 1 : schedule->workers;
        require(rank, sum == askers * schedule->groups[g].kept, "not what was asked is selected");
        require(rank,
                gw_session_extents(rank->executor)[g].most == schedule->groups[g].selected.most &&
                    gw_session_extents(rank->executor)[g].all == schedule->groups[g].selected.all,
                "the extents are not those of the schedule");
    }
}

/* How many elements of a group are in its aggregate: other ones of each worker, or common ones. */
static uint64_t expected_elements(const struct gw_schedule *schedule,
                                  const struct gw_slice *slice) {
    bool each = schedule->ways[0].exchange == &gw_exchange_allgather ||
                schedule->ways[0].exchange == &gw_exchange_allgather_padded;
    uint64_t sent =
        (each && !schedule->ways[0].compressor->joint ? schedule->workers : 1) * slice->kept;
    return sent < slice->size.elements ? sent : slice->size.elements;
}

/* Gradients are as good as never zero, but small ones are in codes, and
 * factors of few columns may have some. */
static void check_aggregate(struct rank *rank) {
    const struct gw_schedule *schedule = &rank->scenario->schedule;
    float *aggregate = calloc(gw_vectors_elements(schedule), sizeof *aggregate);
    (void)gw_session_copy(rank->executor, GW_AGGREGATE, aggregate, NULL);
    for (size_t g = 0; g < schedule->group_count; g++) {
        const struct gw_slice *slice = &schedule->groups[g];
        uint64_t elements = 0;
        for (size_t i = 0; i < slice->size.elements; i++) {
            elements += aggregate[slice->first + i] != 0;
        }
        const struct gw_compressor *compressor = slice->way->compressor;
        bool whole = compressor->code.bits > 0 || compressor->rank > 0;
        require(rank, whole ? elements > 0 : elements == expected_elements(schedule, slice),
                "the aggregate has not what was selected");
    }
    free(aggregate);
}

static void check_iterations(struct rank *rank) {
    for (int i = 0; i < ITERATIONS; i++) {
        iterate(rank);
        check_durations(rank);
        check_bytes(rank);
        check_selected(rank);
        if ((size_t)rank->communicator->rank < rank->scenario->workers) {
            check_aggregate(rank);
        }
    }
}

/* ---- every pipeline ------------------------------------------------------------------------ */

static void run_timed(const struct gw_algorithm *algorithm, size_t workers) {
    struct scenario scenario = scenario_of(algorithm, workers, 0.01);
    scenario.forward_s = 1e-3;
    open_scenario(&scenario);
    for (size_t i = 0; i < scenario.schedule.operation_count; i++) {
        struct gw_operation *operation = &scenario.schedule.operations[i];
        operation->duration_s =
            operation->kind == GW_COMPRESS ? compression_s : operation->duration_s;
    }
    session_options.timed_compression = true;
    run_ranks(&scenario, NULL, check_iterations);
    session_options.timed_compression = false;
    close_scenario(&scenario);
}

TEST(every_pipeline_carries_what_its_schedule_says) {
    for (size_t a = 0; gw_algorithms[a].name != NULL; a++) {
        for (size_t workers = 1; workers <= MOST_WORKERS; workers++) {
            if (gw_algorithm_compresses(&gw_algorithms[a])) {
                run_timed(&gw_algorithms[a], workers);
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
                run_timed(&pair, 3);
            }
        }
    }
}
