#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/costs.h"
#include "sim/event_queue.h"
#include "sim/sim.h"

static const size_t ALL_LANES = SIZE_MAX;

/* A stream of one lane: which of its operations is next, and whether it is running one. */
struct stream_state {
    size_t next; /* position in the stream's list */
    bool busy;
};

struct gw_simulator {
    const struct gw_schedule *schedule;
    double compute_noise;
    struct gw_random *random;
    size_t lane_count;
    struct gw_lane *lanes;
    double *slowdown; /* per lane */
    double *seconds;  /* per operation */

    /*
     * The schedule turned over: each stream's operations in
     * order, and who waits for an operation.
     */
    size_t *stream_operations[GW_STREAM_COUNT];
    size_t stream_length[GW_STREAM_COUNT];
    size_t *first_dependent, *dependents;

    /* The state of an iteration. Tables are lane-major: lane * operation_count + operation. */
    struct stream_state *streams; /* lane * GW_STREAM_COUNT + stream */
    size_t *missing;              /* dependencies that have not ended */
    double *arrived_s;            /* exchanges: when the lane entered */
    size_t *arrivals;             /* per operation: lanes that have entered */
    size_t left;                  /* operations of all lanes that have not ended */
    struct gw_event_queue queue;
};

/* ---- opening ------------------------------------------------------------------------------- */

/* Workers of equal speed share a lane, unless each is to be seen or noise tells them apart. */
static enum gw_status open_lanes(struct gw_simulator *simulator,
                                 const struct gw_simulation *simulation, struct gw_error *error) {
    bool apart = simulation->every_worker || simulation->compute_noise > 0;
    size_t capacity = apart || simulation->slowdown != NULL ? simulation->workers : 1;
    simulator->lanes = calloc(capacity, sizeof *simulator->lanes);
    simulator->slowdown = calloc(capacity, sizeof *simulator->slowdown);
    if (simulator->lanes == NULL || simulator->slowdown == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    if (capacity == 1) {
        simulator->lanes[0] = (struct gw_lane){.worker = 0, .workers = simulation->workers};
        simulator->slowdown[0] = simulation->slowdown == NULL ? 1 : simulation->slowdown[0];
        simulator->lane_count = 1;
        return GW_OK;
    }
    for (size_t worker = 0; worker < simulation->workers; worker++) {
        double slowdown = simulation->slowdown == NULL ? 1 : simulation->slowdown[worker];
        size_t lane = apart ? simulator->lane_count : 0;
        while (lane < simulator->lane_count && simulator->slowdown[lane] != slowdown) {
            lane++;
        }
        if (lane == simulator->lane_count) {
            simulator->lanes[lane].worker = worker;
            simulator->slowdown[lane] = slowdown;
            simulator->lane_count++;
        }
        simulator->lanes[lane].workers++;
    }
    return GW_OK;
}

static enum gw_status turn_over(struct gw_simulator *simulator, struct gw_error *error) {
    const struct gw_schedule *schedule = simulator->schedule;
    size_t count = schedule->operation_count;
    simulator->first_dependent = calloc(count + 2, sizeof *simulator->first_dependent);
    simulator->dependents = calloc(schedule->dependency_count + 1, sizeof *simulator->dependents);
    if (simulator->first_dependent == NULL || simulator->dependents == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        simulator->stream_operations[stream] = calloc(count + 1, sizeof(size_t));
        if (simulator->stream_operations[stream] == NULL) {
            return gw_fail_memory(error, "opening a simulation");
        }
    }
    for (size_t i = 0; i < count; i++) {
        enum gw_stream stream = schedule->operations[i].stream;
        simulator->stream_operations[stream][simulator->stream_length[stream]++] = i;
    }
    /* Counting sort of dependencies by the operation they name. */
    size_t *next = simulator->first_dependent + 1;
    for (size_t i = 0; i < schedule->dependency_count; i++) {
        next[schedule->dependencies[i] + 1]++;
    }
    for (size_t i = 0; i < count; i++) {
        next[i + 1] += next[i];
    }
    for (size_t i = 0; i < count; i++) {
        const struct gw_operation *operation = &schedule->operations[i];
        for (size_t d = 0; d < operation->dependency_count; d++) {
            size_t before = schedule->dependencies[operation->first_dependency + d];
            simulator->dependents[next[before]++] = i;
        }
    }
    return GW_OK;
}

static enum gw_status open_state(struct gw_simulator *simulator, struct gw_error *error) {
    size_t cells = simulator->lane_count * simulator->schedule->operation_count + 1;
    simulator->streams =
        calloc(simulator->lane_count * GW_STREAM_COUNT, sizeof *simulator->streams);
    simulator->missing = calloc(cells, sizeof *simulator->missing);
    simulator->arrived_s = calloc(cells, sizeof *simulator->arrived_s);
    simulator->arrivals = calloc(simulator->schedule->operation_count, sizeof *simulator->arrivals);
    simulator->seconds = calloc(simulator->schedule->operation_count, sizeof *simulator->seconds);
    if (simulator->streams == NULL || simulator->missing == NULL || simulator->arrived_s == NULL ||
        simulator->arrivals == NULL || simulator->seconds == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    return GW_OK;
}

enum gw_status gw_simulator_open(struct gw_simulator **out, const struct gw_schedule *schedule,
                                 const struct gw_cluster *cluster,
                                 const struct gw_simulation *simulation, struct gw_result *result,
                                 struct gw_error *error) {
    struct gw_simulator *simulator = calloc(1, sizeof *simulator);
    if (simulator == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    simulator->schedule = schedule;
    simulator->compute_noise = simulation->compute_noise;
    enum gw_status status = gw_random_open(&simulator->random, simulation->seed, 0, error);
    if (status == GW_OK) {
        status = open_lanes(simulator, simulation, error);
    }
    if (status == GW_OK) {
        status = turn_over(simulator, error);
    }
    if (status == GW_OK) {
        status = open_state(simulator, error);
    }
    if (status == GW_OK) {
        status = gw_operation_costs(schedule, cluster, simulation->workers, simulator->seconds,
                                    result, error);
    }
    if (status != GW_OK) {
        gw_simulator_close(simulator);
        return status;
    }
    *out = simulator;
    return GW_OK;
}

void gw_simulator_close(struct gw_simulator *simulator) {
    if (simulator == NULL) {
        return;
    }
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        free(simulator->stream_operations[stream]);
    }
    free(simulator->first_dependent);
    free(simulator->dependents);
    free(simulator->lanes);
    free(simulator->slowdown);
    free(simulator->seconds);
    free(simulator->streams);
    free(simulator->missing);
    free(simulator->arrived_s);
    free(simulator->arrivals);
    gw_event_queue_free(&simulator->queue);
    gw_random_close(simulator->random);
    free(simulator);
}

enum gw_status gw_simulator_timeline(const struct gw_simulator *simulator, struct gw_timeline *out,
                                     struct gw_error *error) {
    GW_TRY(gw_timeline_create(out, simulator->lane_count, error));
    memcpy(out->lanes, simulator->lanes, simulator->lane_count * sizeof *out->lanes);
    return GW_OK;
}

/* ---- running an iteration ------------------------------------------------------------------ */

/* One iteration at work. Its clock starts at 0, so that rounding does not grow with iterations. */
struct run {
    struct gw_simulator *simulator;
    struct gw_timeline *timeline;
    struct gw_error *error;
    double start_s, now_s;
};

static enum gw_status record(struct run *run, size_t lane, size_t index, enum gw_activity activity,
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
    return gw_timeline_add(run->timeline, span, run->error);
}

static size_t cell(const struct gw_simulator *simulator, size_t lane, size_t operation) {
    return lane * simulator->schedule->operation_count + operation;
}

/* A collective starts when its last worker has arrived, and ends for all at once. */
static enum gw_status enter_exchange(struct run *run, size_t lane, size_t index) {
    struct gw_simulator *simulator = run->simulator;
    simulator->arrived_s[cell(simulator, lane, index)] = run->now_s;
    if (++simulator->arrivals[index] < simulator->lane_count) {
        return GW_OK;
    }
    struct gw_event end = {
        .time_s = run->now_s + simulator->seconds[index], .lane = ALL_LANES, .operation = index};
    return gw_event_push(&simulator->queue, end, run->error);
}

static enum gw_status enter_compute(struct run *run, size_t lane, size_t index) {
    struct gw_simulator *simulator = run->simulator;
    double seconds = simulator->seconds[index] * simulator->slowdown[lane] *
                     gw_random_noise(simulator->random, simulator->compute_noise);
    double end_s = run->now_s + seconds;
    GW_TRY(
        record(run, lane, index, simulator->schedule->operations[index].kind, run->now_s, end_s));
    struct gw_event end = {.time_s = end_s, .lane = lane, .operation = index};
    return gw_event_push(&simulator->queue, end, run->error);
}

/* Starts the stream's next operation if the stream is free and nothing it depends on is missing. */
static enum gw_status start_next(struct run *run, size_t lane, enum gw_stream stream) {
    struct gw_simulator *simulator = run->simulator;
    struct stream_state *state = &simulator->streams[lane * GW_STREAM_COUNT + stream];
    if (state->busy || state->next == simulator->stream_length[stream]) {
        return GW_OK;
    }
    size_t index = simulator->stream_operations[stream][state->next];
    if (simulator->missing[cell(simulator, lane, index)] > 0) {
        return GW_OK;
    }
    state->busy = true;
    state->next++;
    return simulator->schedule->operations[index].kind == GW_EXCHANGE
               ? enter_exchange(run, lane, index)
               : enter_compute(run, lane, index);
}

static enum gw_status end_operation(struct run *run, size_t lane, size_t index) {
    struct gw_simulator *simulator = run->simulator;
    const struct gw_operation *operations = simulator->schedule->operations;
    simulator->left--;
    simulator->streams[lane * GW_STREAM_COUNT + operations[index].stream].busy = false;
    GW_TRY(start_next(run, lane, operations[index].stream));
    for (size_t d = simulator->first_dependent[index]; d < simulator->first_dependent[index + 1];
         d++) {
        size_t dependent = simulator->dependents[d];
        if (--simulator->missing[cell(simulator, lane, dependent)] == 0) {
            GW_TRY(start_next(run, lane, operations[dependent].stream));
        }
    }
    return GW_OK;
}

static enum gw_status end_exchange(struct run *run, size_t index) {
    struct gw_simulator *simulator = run->simulator;
    double start_s = 0;
    for (size_t lane = 0; lane < simulator->lane_count; lane++) {
        start_s = fmax(start_s, simulator->arrived_s[cell(simulator, lane, index)]);
    }
    for (size_t lane = 0; lane < simulator->lane_count; lane++) {
        double arrived_s = simulator->arrived_s[cell(simulator, lane, index)];
        if (arrived_s < start_s) {
            GW_TRY(record(run, lane, index, GW_WAIT, arrived_s, start_s));
        }
        GW_TRY(record(run, lane, index, GW_EXCHANGE, start_s, run->now_s));
    }
    for (size_t lane = 0; lane < simulator->lane_count; lane++) {
        GW_TRY(end_operation(run, lane, index));
    }
    return GW_OK;
}

static void reset(struct gw_simulator *simulator) {
    size_t count = simulator->schedule->operation_count;
    memset(simulator->streams, 0,
           simulator->lane_count * GW_STREAM_COUNT * sizeof *simulator->streams);
    memset(simulator->arrivals, 0, count * sizeof *simulator->arrivals);
    for (size_t lane = 0; lane < simulator->lane_count; lane++) {
        for (size_t i = 0; i < count; i++) {
            simulator->missing[cell(simulator, lane, i)] =
                simulator->schedule->operations[i].dependency_count;
        }
    }
    simulator->left = simulator->lane_count * count;
    simulator->queue.count = 0;
    simulator->queue.next_sequence = 0;
}

enum gw_status gw_simulator_iterate(struct gw_simulator *simulator, double start_s,
                                    struct gw_timeline *timeline, struct gw_error *error) {
    struct run run = {
        .simulator = simulator, .timeline = timeline, .error = error, .start_s = start_s};
    reset(simulator);
    for (size_t lane = 0; lane < simulator->lane_count; lane++) {
        for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
            GW_TRY(start_next(&run, lane, (enum gw_stream)stream));
        }
    }
    struct gw_event event;
    while (gw_event_pop(&simulator->queue, &event)) {
        run.now_s = event.time_s;
        GW_TRY(event.lane == ALL_LANES ? end_exchange(&run, event.operation)
                                       : end_operation(&run, event.lane, event.operation));
    }
    if (simulator->left > 0) {
        return gw_fail(error, GW_FAILED,
                       "simulation: %zu operations never start: the schedule waits for itself",
                       simulator->left);
    }
    return gw_timeline_add_iteration(timeline, start_s, start_s + run.now_s, error);
}
