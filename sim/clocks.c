/*
 * Computes the times of operations in the schedule's order, in which an operation stands after
 * those that it waits for: it starts when they and its stream have ended, a shared operation when
 * that is so on all lanes. This takes each stream's clock, but no queue of events.
 *
 * Lanes do not influence each other between two exchanges. Such a stretch of the schedule is
 * computed block by block of lanes, so that a block's state stays in the cache and threads can
 * share blocks.
 */
#include <string.h>

#include "sim/simulator.h"

enum { BLOCK = 1024 }; /* lanes */

struct lane_clocks {
    const struct gw_simulator *simulator;

    struct gw_tally tally;
    uint64_t *noise; /* per lane: the worker's stream of noise */
    double *ends;    /* slot * lane_count + lane, see assign_slots */

    /* The stretch at work: operations first .. end-1, then the shared `end`, if there is one. */
    size_t first, end;
    double *latest; /* per block: when its last lane entered that exchange */
    double exchange_start_s, exchange_end_s; /* of the exchange before `first`, if there is one */
    uint64_t network_noise;

    struct gw_recorder recorder;
};

/* Neighbouring lanes, and times of the current operation on each. */
struct lane_block {
    size_t first, count;
    double starts[BLOCK], ends[BLOCK], factors[BLOCK];
};

size_t gw_clocks_blocks(const struct gw_simulator *simulator) {
    return (simulator->lane_count - 1) / BLOCK + 1;
}

/* ---- opening ------------------------------------------------------------------------------- */

static enum gw_status open_clocks(void **out, const struct gw_simulator *simulator,
                                  struct gw_arena *arena, struct gw_error *error) {
    size_t lanes = simulator->lane_count;
    struct lane_clocks *clocks = gw_arena_zeros(arena, 1, sizeof *clocks);
    if (clocks == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    clocks->simulator = simulator;
    clocks->noise = gw_arena_zeros(arena, lanes, sizeof *clocks->noise);
    clocks->latest = gw_arena_zeros(arena, gw_clocks_blocks(simulator), sizeof *clocks->latest);
    clocks->ends = gw_arena_zeros(arena, simulator->slot_count + 1, lanes * sizeof *clocks->ends);
    *out = clocks;
    return gw_tally_open(&clocks->tally, lanes, arena, error);
}

static void reset_clocks(struct lane_clocks *clocks, uint64_t repetition) {
    const struct gw_simulator *simulator = clocks->simulator;
    gw_tally_reset(&clocks->tally, simulator->lane_count);
    const struct gw_noise *noise = &simulator->simulation.compute_noise;
    uint64_t seed = simulator->simulation.seed;
    clocks->network_noise = gw_noise_stream(seed, repetition, GW_NOISE_SHARED);
    for (size_t lane = 0; lane < simulator->lane_count; lane++) {
        clocks->noise[lane] =
            gw_noise_worker_stream(noise, seed, repetition, simulator->lanes[lane].worker);
    }
}

/* ---- operations ---------------------------------------------------------------------------- */

static void record_activity(struct lane_clocks *clocks, size_t lane, size_t index,
                            enum gw_activity activity, double start_s, double end_s) {
    gw_record(&clocks->recorder, &clocks->simulator->schedule->operations[index], lane, activity,
              start_s, end_s);
}

/* Finds when the stream and all dependencies of the operation have ended, for each lane. */
static void find_starts(const struct lane_clocks *clocks, size_t index, struct lane_block *block) {
    const struct gw_simulator *simulator = clocks->simulator;
    const struct gw_schedule *schedule = simulator->schedule;
    const struct gw_operation *operation = &schedule->operations[index];
    memcpy(block->starts, clocks->tally.clock[operation->stream] + block->first,
           block->count * sizeof *block->starts);
    for (size_t d = 0; d < operation->dependency_count; d++) {
        size_t before = schedule->dependencies[operation->first_dependency + d];
        if (schedule->operations[before].stream == operation->stream) {
            continue; /* the clock is as late */
        }
        const double *ends =
            clocks->ends + simulator->slots[before] * simulator->lane_count + block->first;
        for (size_t i = 0; i < block->count; i++) {
            block->starts[i] = gw_later(block->starts[i], ends[i]);
        }
    }
}

static void find_ends(const struct lane_clocks *clocks, size_t index, struct lane_block *block) {
    const struct gw_simulator *simulator = clocks->simulator;
    const struct gw_simulation *simulation = &simulator->simulation;
    double seconds = simulator->seconds[index];
    for (size_t i = 0; i < block->count; i++) {
        size_t worker = simulator->lanes[block->first + i].worker;
        block->ends[i] =
            simulation->slowdown == NULL ? seconds : seconds * simulation->slowdown[worker];
    }
    if (simulation->compute_noise.kind != GW_NOISE_NONE && seconds > 0) {
        gw_noise_factors(&simulation->compute_noise, clocks->noise + block->first, block->count,
                         index, block->factors);
        for (size_t i = 0; i < block->count; i++) {
            block->ends[i] = gw_stretched(block->ends[i], block->factors[i]);
        }
    }
    for (size_t i = 0; i < block->count; i++) {
        block->ends[i] += block->starts[i];
    }
}

/* Moves the stream's clock over an operation, and keeps its end for those that wait for it. */
static void advance_lane(struct lane_clocks *clocks, size_t index, const struct lane_block *block) {
    const struct gw_simulator *simulator = clocks->simulator;
    enum gw_stream stream = simulator->schedule->operations[index].stream;
    double *clock = clocks->tally.clock[stream] + block->first;
    double *idle = clocks->tally.idle + block->first;
    for (size_t i = 0; stream == GW_STREAM_COMPUTE && i < block->count; i++) {
        idle[i] += block->starts[i] - clock[i];
    }
    size_t bytes = block->count * sizeof *clock;
    memcpy(clock, block->ends, bytes);
    if (simulator->slots[index] != GW_NO_SLOT) {
        size_t slot = simulator->slots[index] * simulator->lane_count;
        memcpy(clocks->ends + slot + block->first, block->ends, bytes);
    }
}

static void compute_block(struct lane_clocks *clocks, size_t index, struct lane_block *block) {
    enum gw_activity kind = clocks->simulator->schedule->operations[index].kind;
    find_starts(clocks, index, block);
    find_ends(clocks, index, block);
    if ((int)kind < GW_TALLIED) {
        double *busy = clocks->tally.busy[kind] + block->first;
        for (size_t i = 0; i < block->count; i++) {
            busy[i] += block->ends[i] - block->starts[i];
        }
    }
    advance_lane(clocks, index, block);
    for (size_t i = 0; clocks->recorder.timeline != NULL && i < block->count; i++) {
        record_activity(clocks, block->first + i, index, kind, block->starts[i], block->ends[i]);
    }
}

/* ---- exchanges ----------------------------------------------------------------------------- */

/* Time at which the block's last lane comes to the exchange. */
static double enter_exchange(const struct lane_clocks *clocks, size_t index,
                             struct lane_block *block) {
    double latest = 0;
    find_starts(clocks, index, block);
    for (size_t i = 0; i < block->count; i++) {
        latest = gw_later(latest, block->starts[i]);
    }
    return latest;
}

/* Starts the exchange when its last worker has arrived, and ends it for all at once. */
static void exchange_group(struct lane_clocks *clocks, size_t index) {
    const struct gw_simulator *simulator = clocks->simulator;
    bool moves = simulator->schedule->operations[index].kind == GW_EXCHANGE;
    double factor =
        moves ? gw_noise_factor(&simulator->simulation.network_noise, clocks->network_noise, index)
              : 1;
    clocks->exchange_start_s = 0;
    for (size_t block = 0; block < gw_clocks_blocks(simulator); block++) {
        clocks->exchange_start_s = gw_later(clocks->exchange_start_s, clocks->latest[block]);
    }
    clocks->exchange_end_s =
        clocks->exchange_start_s + gw_stretched(simulator->seconds[index], factor);
    clocks->tally.exchanges_s += moves ? clocks->exchange_end_s - clocks->exchange_start_s : 0;
}

static void leave_exchange(struct lane_clocks *clocks, size_t index, struct lane_block *block) {
    enum gw_activity kind = clocks->simulator->schedule->operations[index].kind;
    find_starts(clocks, index, block);
    for (size_t i = 0; i < block->count; i++) {
        block->ends[i] = clocks->exchange_end_s;
    }
    advance_lane(clocks, index, block);
    for (size_t i = 0; clocks->recorder.timeline != NULL && i < block->count; i++) {
        double arrived_s = block->starts[i];
        if (arrived_s < clocks->exchange_start_s) {
            record_activity(clocks, block->first + i, index, GW_WAIT, arrived_s,
                            clocks->exchange_start_s);
        }
        record_activity(clocks, block->first + i, index, kind, clocks->exchange_start_s,
                        clocks->exchange_end_s);
    }
}

/* ---- stretches ----------------------------------------------------------------------------- */

static void advance_block(size_t number, void *context) {
    struct lane_clocks *clocks = context;
    struct lane_block block;
    size_t left = clocks->simulator->lane_count - number * BLOCK;
    block.first = number * BLOCK;
    block.count = left < BLOCK ? left : BLOCK;
    if (clocks->first > 0) {
        leave_exchange(clocks, clocks->first - 1, &block);
    }
    for (size_t index = clocks->first; index < clocks->end; index++) {
        compute_block(clocks, index, &block);
    }
    if (clocks->end < clocks->simulator->schedule->operation_count) {
        clocks->latest[number] = enter_exchange(clocks, clocks->end, &block);
    }
}

static void advance_stretches(struct lane_clocks *clocks, size_t threads) {
    const struct gw_schedule *schedule = clocks->simulator->schedule;
    size_t blocks = gw_clocks_blocks(clocks->simulator);
    for (clocks->first = 0;; clocks->first = clocks->end + 1) {
        clocks->end = clocks->first;
        while (clocks->end < schedule->operation_count &&
               !gw_operation_is_shared(&schedule->operations[clocks->end])) {
            clocks->end++;
        }
        gw_parallel(blocks, threads, advance_block, clocks);
        if (clocks->end == schedule->operation_count) {
            return;
        }
        exchange_group(clocks, clocks->end);
    }
}

/* ---- an iteration -------------------------------------------------------------------------- */

static enum gw_status iterate_clocks(void *state, uint64_t repetition, size_t threads,
                                     struct gw_timeline *timeline, double start_s,
                                     struct gw_measure *out, struct gw_error *error) {
    struct lane_clocks *clocks = state;
    reset_clocks(clocks, repetition);
    clocks->recorder =
        (struct gw_recorder){.timeline = timeline, .start_s = start_s, .error = error};
    advance_stretches(clocks, timeline == NULL ? threads : 1);
    gw_tally_measure(&clocks->tally, clocks->simulator, out);
    return gw_record_iteration(&clocks->recorder, out);
}

const struct gw_runner gw_runner_clocks = {.open = open_clocks, .iterate = iterate_clocks};
