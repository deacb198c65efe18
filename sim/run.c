/*
 * Operations are worked out in the schedule's order, which puts every operation behind those that
 * it waits for: it starts when its stream and they have ended, a shared one when that is so for the
 * last lane. No queue of events is needed, only each stream's clock.
 *
 * Between two exchanges lanes do not see each other. Such a stretch of the schedule is worked out
 * block of lanes by block, so that a block's state stays in the cache and blocks can be shared
 * among threads.
 */
#include "sim/run.h"

#include <stdlib.h>
#include <string.h>

#include "sim/tally.h"

enum { BLOCK = 1024 }; /* lanes */

struct run {
    const struct gw_simulator *simulator;

    struct gw_tally tally;
    uint64_t *noise; /* per lane: the worker's stream of noise */
    double *ends;    /* slot * lane_count + lane, see gw_slots_assign */

    /* The stretch at work: operations first .. end-1, then the shared `end`, if there is one. */
    size_t first, end;
    double *latest; /* per block: when its last lane entered that exchange */
    double exchange_start_s, exchange_end_s; /* of the exchange before `first`, if there is one */
    uint64_t network_noise;

    struct gw_timeline *timeline;
    double start_s;        /* of the iteration in the timeline */
    enum gw_status status; /* of recording */
    struct gw_error *error;
};

/* Neighbouring lanes, and what the operation at work does on each. */
struct block {
    size_t first, count;
    double starts[BLOCK], ends[BLOCK], factors[BLOCK];
};

size_t gw_run_blocks(const struct gw_simulator *simulator) {
    return (simulator->lane_count - 1) / BLOCK + 1;
}

/* ---- opening ------------------------------------------------------------------------------- */

static void close_run(void *state) {
    struct run *run = state;
    if (run == NULL) {
        return;
    }
    gw_tally_close(&run->tally);
    free(run->noise);
    free(run->latest);
    free(run->ends);
    free(run);
}

static enum gw_status open_run(void **out, const struct gw_simulator *simulator,
                               struct gw_error *error) {
    struct run *run = calloc(1, sizeof *run);
    if (run == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    run->simulator = simulator;
    run->noise = calloc(simulator->lane_count, sizeof *run->noise);
    run->latest = calloc(gw_run_blocks(simulator), sizeof *run->latest);
    run->ends = calloc(simulator->slot_count + 1, simulator->lane_count * sizeof *run->ends);
    enum gw_status status = run->noise == NULL || run->latest == NULL || run->ends == NULL
                                ? gw_fail_memory(error, "simulating")
                                : gw_tally_open(&run->tally, simulator->lane_count, error);
    if (status != GW_OK) {
        close_run(run);
        return status;
    }
    *out = run;
    return GW_OK;
}

static void reset(struct run *run, uint64_t repetition) {
    const struct gw_simulator *simulator = run->simulator;
    gw_tally_reset(&run->tally, simulator->lane_count);
    run->status = GW_OK;
    uint64_t seed = simulator->simulation.seed;
    run->network_noise = gw_noise_stream(seed, repetition, GW_NOISE_SHARED);
    for (size_t lane = 0; lane < simulator->lane_count; lane++) {
        run->noise[lane] = gw_noise_stream(seed, repetition, simulator->lanes[lane].worker);
    }
}

/* ---- operations ---------------------------------------------------------------------------- */

static void record(struct run *run, size_t lane, size_t index, enum gw_activity activity,
                   double start_s, double end_s) {
    const struct gw_operation *operation = &run->simulator->schedule->operations[index];
    struct gw_span span =
        gw_span_of(operation, lane, activity, run->start_s + start_s, run->start_s + end_s);
    if (run->status == GW_OK) {
        run->status = gw_timeline_add(run->timeline, span, run->error);
    }
}

/* When the stream and all that the operation waits for have ended. */
static void find_starts(const struct run *run, size_t index, struct block *block) {
    const struct gw_simulator *simulator = run->simulator;
    const struct gw_schedule *schedule = simulator->schedule;
    const struct gw_operation *operation = &schedule->operations[index];
    memcpy(block->starts, run->tally.clock[operation->stream] + block->first,
           block->count * sizeof *block->starts);
    for (size_t d = 0; d < operation->dependency_count; d++) {
        size_t before = schedule->dependencies[operation->first_dependency + d];
        if (schedule->operations[before].stream == operation->stream) {
            continue; /* the clock is as late */
        }
        const double *ends =
            run->ends + simulator->slots[before] * simulator->lane_count + block->first;
        for (size_t i = 0; i < block->count; i++) {
            block->starts[i] = gw_later(block->starts[i], ends[i]);
        }
    }
}

static void find_ends(const struct run *run, size_t index, struct block *block) {
    const struct gw_simulator *simulator = run->simulator;
    const struct gw_simulation *simulation = &simulator->simulation;
    double seconds = simulator->seconds[index];
    for (size_t i = 0; i < block->count; i++) {
        size_t worker = simulator->lanes[block->first + i].worker;
        block->ends[i] =
            simulation->slowdown == NULL ? seconds : seconds * simulation->slowdown[worker];
    }
    if (simulation->compute_noise.kind != GW_NOISE_NONE && seconds > 0) {
        gw_noise_factors(&simulation->compute_noise, run->noise + block->first, block->count, index,
                         block->factors);
        for (size_t i = 0; i < block->count; i++) {
            block->ends[i] = gw_stretched(block->ends[i], block->factors[i]);
        }
    }
    for (size_t i = 0; i < block->count; i++) {
        block->ends[i] += block->starts[i];
    }
}

/* Moves the stream's clock over an operation, and keeps its end for those that wait for it. */
static void advance(struct run *run, size_t index, const struct block *block) {
    const struct gw_simulator *simulator = run->simulator;
    enum gw_stream stream = simulator->schedule->operations[index].stream;
    double *clock = run->tally.clock[stream] + block->first;
    double *idle = run->tally.idle + block->first;
    for (size_t i = 0; stream == GW_STREAM_COMPUTE && i < block->count; i++) {
        idle[i] += block->starts[i] - clock[i];
    }
    size_t bytes = block->count * sizeof *clock;
    memcpy(clock, block->ends, bytes);
    if (simulator->slots[index] != GW_NO_SLOT) {
        size_t slot = simulator->slots[index] * simulator->lane_count;
        memcpy(run->ends + slot + block->first, block->ends, bytes);
    }
}

static void compute(struct run *run, size_t index, struct block *block) {
    enum gw_activity kind = run->simulator->schedule->operations[index].kind;
    find_starts(run, index, block);
    find_ends(run, index, block);
    if ((int)kind < GW_TALLIED) {
        double *busy = run->tally.busy[kind] + block->first;
        for (size_t i = 0; i < block->count; i++) {
            busy[i] += block->ends[i] - block->starts[i];
        }
    }
    advance(run, index, block);
    for (size_t i = 0; run->timeline != NULL && i < block->count; i++) {
        record(run, block->first + i, index, kind, block->starts[i], block->ends[i]);
    }
}

/* ---- exchanges ----------------------------------------------------------------------------- */

/* When the block's last lane comes to the exchange. */
static double enter_exchange(const struct run *run, size_t index, struct block *block) {
    double latest = 0;
    find_starts(run, index, block);
    for (size_t i = 0; i < block->count; i++) {
        latest = gw_later(latest, block->starts[i]);
    }
    return latest;
}

/* It starts when its last worker has arrived, and ends for all at once. */
static void exchange(struct run *run, size_t index) {
    const struct gw_simulator *simulator = run->simulator;
    bool moves = simulator->schedule->operations[index].kind == GW_EXCHANGE;
    double factor =
        moves ? gw_noise_factor(&simulator->simulation.network_noise, run->network_noise, index)
              : 1;
    run->exchange_start_s = 0;
    for (size_t block = 0; block < gw_run_blocks(simulator); block++) {
        run->exchange_start_s = gw_later(run->exchange_start_s, run->latest[block]);
    }
    run->exchange_end_s = run->exchange_start_s + gw_stretched(simulator->seconds[index], factor);
    run->tally.exchanges_s += moves ? run->exchange_end_s - run->exchange_start_s : 0;
}

static void leave_exchange(struct run *run, size_t index, struct block *block) {
    enum gw_activity kind = run->simulator->schedule->operations[index].kind;
    find_starts(run, index, block);
    for (size_t i = 0; i < block->count; i++) {
        block->ends[i] = run->exchange_end_s;
    }
    advance(run, index, block);
    for (size_t i = 0; run->timeline != NULL && i < block->count; i++) {
        double arrived_s = block->starts[i];
        if (arrived_s < run->exchange_start_s) {
            record(run, block->first + i, index, GW_WAIT, arrived_s, run->exchange_start_s);
        }
        record(run, block->first + i, index, kind, run->exchange_start_s, run->exchange_end_s);
    }
}

/* ---- stretches ----------------------------------------------------------------------------- */

static void run_block(size_t number, void *context) {
    struct run *run = context;
    struct block block;
    size_t left = run->simulator->lane_count - number * BLOCK;
    block.first = number * BLOCK;
    block.count = left < BLOCK ? left : BLOCK;
    if (run->first > 0) {
        leave_exchange(run, run->first - 1, &block);
    }
    for (size_t index = run->first; index < run->end; index++) {
        compute(run, index, &block);
    }
    if (run->end < run->simulator->schedule->operation_count) {
        run->latest[number] = enter_exchange(run, run->end, &block);
    }
}

static void run_stretches(struct run *run, size_t threads) {
    const struct gw_schedule *schedule = run->simulator->schedule;
    size_t blocks = gw_run_blocks(run->simulator);
    for (run->first = 0;; run->first = run->end + 1) {
        run->end = run->first;
        while (run->end < schedule->operation_count &&
               !gw_operation_is_shared(&schedule->operations[run->end])) {
            run->end++;
        }
        gw_parallel(blocks, threads, run_block, run);
        if (run->end == schedule->operation_count) {
            return;
        }
        exchange(run, run->end);
    }
}

/* ---- an iteration -------------------------------------------------------------------------- */

static enum gw_status iterate(void *state, uint64_t repetition, size_t threads,
                              struct gw_timeline *timeline, double start_s, struct gw_measure *out,
                              struct gw_error *error) {
    struct run *run = state;
    reset(run, repetition);
    run->timeline = timeline;
    run->start_s = start_s;
    run->error = error;
    run_stretches(run, timeline == NULL ? threads : 1);
    gw_tally_measure(&run->tally, run->simulator, out);
    if (run->status != GW_OK || timeline == NULL) {
        return run->status;
    }
    return gw_timeline_add_iteration(timeline, start_s, start_s + out->iteration_s, error);
}

const struct gw_runner gw_runner_clocks = {
    .open = open_run, .iterate = iterate, .close = close_run};
