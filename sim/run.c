/*
 * Operations are worked out in the schedule's order, which puts every operation behind those that
 * it waits for: it starts when its stream and they have ended, an exchange when that is so for the
 * last lane. No queue of events is needed, only each stream's clock.
 *
 * Between two exchanges lanes do not see each other. Such a stretch of the schedule is worked out
 * block of lanes by block, so that a block's state stays in the cache and blocks can be shared
 * among threads.
 */
#include "sim/run.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 1024,       /* lanes */
    MEASURED = GW_WAIT, /* forward, backward and compress, which stand before it */
};

struct run {
    const struct gw_simulator *simulator;

    /* Per lane. */
    double *clock[GW_STREAM_COUNT]; /* when the stream's last operation ended */
    double *busy[MEASURED];         /* time spent in such operations */
    double *idle;                   /* that the compute stream waited between operations */
    uint64_t *noise;                /* the worker's stream of noise */
    double *ends;                   /* slot * lane_count + lane, see gw_slots_assign */

    /* The stretch at work: operations first .. end-1, then the exchange `end`, if there is one. */
    size_t first, end;
    double *latest; /* per block: when its last lane entered that exchange */
    double exchange_start_s, exchange_end_s; /* of the exchange before `first`, if there is one */
    double exchanges_s;                      /* spent in all so far */
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

static inline double later(double a, double b) {
    return a > b ? a : b;
}

/* ---- opening ------------------------------------------------------------------------------- */

static double *lanes_of_numbers(const struct run *run, bool *complete) {
    double *numbers = calloc(run->simulator->lane_count, sizeof *numbers);
    *complete = *complete && numbers != NULL;
    return numbers;
}

static void close_run(void *state) {
    struct run *run = state;
    if (run == NULL) {
        return;
    }
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        free(run->clock[stream]);
    }
    for (int kind = 0; kind < MEASURED; kind++) {
        free(run->busy[kind]);
    }
    free(run->idle);
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
    bool complete = true;
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        run->clock[stream] = lanes_of_numbers(run, &complete);
    }
    for (int kind = 0; kind < MEASURED; kind++) {
        run->busy[kind] = lanes_of_numbers(run, &complete);
    }
    run->idle = lanes_of_numbers(run, &complete);
    run->noise = calloc(simulator->lane_count, sizeof *run->noise);
    run->latest = calloc(gw_run_blocks(simulator), sizeof *run->latest);
    run->ends = calloc(simulator->slot_count + 1, simulator->lane_count * sizeof *run->ends);
    if (!complete || run->noise == NULL || run->latest == NULL || run->ends == NULL) {
        close_run(run);
        return gw_fail_memory(error, "simulating");
    }
    *out = run;
    return GW_OK;
}

static void reset(struct run *run, uint64_t repetition) {
    const struct gw_simulator *simulator = run->simulator;
    size_t bytes = simulator->lane_count * sizeof(double);
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        memset(run->clock[stream], 0, bytes);
    }
    for (int kind = 0; kind < MEASURED; kind++) {
        memset(run->busy[kind], 0, bytes);
    }
    memset(run->idle, 0, bytes);
    run->exchanges_s = 0;
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
    struct gw_span span = {.lane = lane,
                           .stream = operation->stream,
                           .activity = activity,
                           .group = operation->group,
                           .label = operation->label,
                           .elements = operation->elements,
                           .bytes = operation->bytes,
                           .start_s = run->start_s + start_s,
                           .end_s = run->start_s + end_s};
    if (run->status == GW_OK) {
        run->status = gw_timeline_add(run->timeline, span, run->error);
    }
}

/* When the stream and all that the operation waits for have ended. */
static void find_starts(const struct run *run, size_t index, struct block *block) {
    const struct gw_simulator *simulator = run->simulator;
    const struct gw_schedule *schedule = simulator->schedule;
    const struct gw_operation *operation = &schedule->operations[index];
    memcpy(block->starts, run->clock[operation->stream] + block->first,
           block->count * sizeof *block->starts);
    for (size_t d = 0; d < operation->dependency_count; d++) {
        size_t before = schedule->dependencies[operation->first_dependency + d];
        if (schedule->operations[before].stream == operation->stream) {
            continue; /* the clock is as late */
        }
        const double *ends =
            run->ends + simulator->slots[before] * simulator->lane_count + block->first;
        for (size_t i = 0; i < block->count; i++) {
            block->starts[i] = later(block->starts[i], ends[i]);
        }
    }
}

/* Nothing stays nothing, however slow. */
static inline double stretched(double seconds, double factor) {
    return factor > 0 ? seconds * factor : 0;
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
            block->ends[i] = stretched(block->ends[i], block->factors[i]);
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
    double *clock = run->clock[stream] + block->first;
    double *idle = run->idle + block->first;
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
    if ((int)kind < MEASURED) {
        double *busy = run->busy[kind] + block->first;
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
        latest = later(latest, block->starts[i]);
    }
    return latest;
}

/* A collective starts when its last worker has arrived, and ends for all at once. */
static void exchange(struct run *run, size_t index) {
    const struct gw_simulator *simulator = run->simulator;
    double factor =
        gw_noise_factor(&simulator->simulation.network_noise, run->network_noise, index);
    run->exchange_start_s = 0;
    for (size_t block = 0; block < gw_run_blocks(simulator); block++) {
        run->exchange_start_s = later(run->exchange_start_s, run->latest[block]);
    }
    run->exchange_end_s = run->exchange_start_s + stretched(simulator->seconds[index], factor);
    run->exchanges_s += run->exchange_end_s - run->exchange_start_s;
}

static void leave_exchange(struct run *run, size_t index, struct block *block) {
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
        record(run, block->first + i, index, GW_EXCHANGE, run->exchange_start_s,
               run->exchange_end_s);
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
               schedule->operations[run->end].kind != GW_EXCHANGE) {
            run->end++;
        }
        gw_parallel(blocks, threads, run_block, run);
        if (run->end == schedule->operation_count) {
            return;
        }
        exchange(run, run->end);
    }
}

/* ---- measuring ----------------------------------------------------------------------------- */

/* Over workers. Equal values have that mean exactly, and lanes may be of one worker or of many. */
static double mean_of(const struct run *run, const double *values) {
    const struct gw_simulator *simulator = run->simulator;
    struct gw_sum sum = {0};
    for (size_t lane = 0; lane < simulator->lane_count; lane++) {
        gw_sum_add(&sum, values[lane] - values[0], (double)simulator->lanes[lane].workers);
    }
    return values[0] + (sum.high + sum.low) / (double)simulator->simulation.workers;
}

/*
 * The compute stream idles before an operation only for something on the communication stream, and
 * the other way round: whichever stream's clock is ahead has been busy without a gap since the
 * other's. So all that the compute stream idled between operations is exposed communication, and so
 * is what the communication stream has left at the end.
 */
static void measure(struct run *run, struct gw_measure *out) {
    const double *compute_s = run->clock[GW_STREAM_COMPUTE];
    const double *communication_s = run->clock[GW_STREAM_COMMUNICATION];
    double end_s = 0;
    for (size_t lane = 0; lane < run->simulator->lane_count; lane++) {
        run->idle[lane] += later(communication_s[lane] - compute_s[lane], 0);
        end_s = later(end_s, later(compute_s[lane], communication_s[lane]));
    }
    struct gw_breakdown parts = {.forward_s = mean_of(run, run->busy[GW_FORWARD]),
                                 .backward_s = mean_of(run, run->busy[GW_BACKWARD]),
                                 .compress_s = mean_of(run, run->busy[GW_COMPRESS]),
                                 .exposed_comm_s = mean_of(run, run->idle)};
    *out =
        (struct gw_measure){.iteration_s = end_s, .breakdown = parts, .comm_s = run->exchanges_s};
    gw_measure_other(out);
}

static enum gw_status iterate(void *state, uint64_t repetition, size_t threads,
                              struct gw_timeline *timeline, double start_s, struct gw_measure *out,
                              struct gw_error *error) {
    struct run *run = state;
    reset(run, repetition);
    run->timeline = timeline;
    run->start_s = start_s;
    run->error = error;
    run_stretches(run, timeline == NULL ? threads : 1);
    measure(run, out);
    if (run->status != GW_OK || timeline == NULL) {
        return run->status;
    }
    return gw_timeline_add_iteration(timeline, start_s, start_s + out->iteration_s, error);
}

const struct gw_runner gw_runner_clocks = {
    .open = open_run, .iterate = iterate, .close = close_run};
