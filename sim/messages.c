/*
 * Simulates exchanges as messages: every worker goes through the schedule's operations in order,
 * computes for their fixed times, and exchanges by traffic on links. Times are whole picoseconds.
 */
#include <string.h>

#include "sim/traffic.h"

/* ---- the exchanges of a schedule as calls of collectives ------------------------------------- */

static enum gw_status find_collective(const struct gw_simulation *simulation, const char *operation,
                                      const struct gw_collective **out, struct gw_error *error) {
    const char *name = NULL;
    for (size_t i = 0; i < simulation->choice_count; i++) {
        const struct gw_collective_choice *choice = &simulation->choices[i];
        name = strcmp(choice->operation, operation) == 0 ? choice->name : name;
    }
    return gw_collective_find(operation, name, out, error);
}

static struct gw_call call_of(const struct gw_collective *collective, uint64_t bytes,
                              size_t workers) {
    struct gw_call call = {.workers = (uint32_t)workers, .bytes = bytes};
    uint64_t multiple = 4 * (uint64_t)workers;
    if (collective->shares == GW_SHARES && gw_collective_symmetric(collective, call.workers) &&
        bytes % multiple > 0) {
        call.bytes += multiple - bytes % multiple;
    }
    return call;
}

enum gw_status gw_exchanges_open(struct gw_exchanges *out, const struct gw_simulator *simulator,
                                 struct gw_arena *arena, struct gw_error *error) {
    const struct gw_schedule *schedule = simulator->schedule;
    const struct gw_simulation *simulation = &simulator->simulation;
    enum { MOST_WORKERS = 1 << 29 };
    *out = (struct gw_exchanges){.symmetric = true};
    if (simulation->workers > MOST_WORKERS) {
        return gw_fail(error, GW_BAD_INPUT,
                       "workers: expected at most %d where messages are simulated, got %zu",
                       MOST_WORKERS, simulation->workers);
    }
    out->list = gw_arena_zeros(arena, schedule->operation_count + 1, sizeof *out->list);
    if (out->list == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    out->ranks = (uint32_t)simulation->workers;
    for (size_t i = 0; i < schedule->operation_count; i++) {
        const struct gw_operation *operation = &schedule->operations[i];
        if (operation->kind != GW_EXCHANGE) {
            continue;
        }
        struct gw_exchange *exchange = &out->list[out->count++];
        exchange->operation = i;
        GW_TRY(find_collective(simulation, operation->method, &exchange->collective, error));
        exchange->call = call_of(exchange->collective, operation->bytes, simulation->workers);
        exchange->ranks = gw_collective_ranks(exchange->collective, exchange->call.workers);
        out->ranks = exchange->ranks > out->ranks ? exchange->ranks : out->ranks;
        out->symmetric =
            out->symmetric && gw_collective_symmetric(exchange->collective, exchange->call.workers);
    }
    return GW_OK;
}

/* Exchanges of other bytes than before, with the same collectives. */
static void set_bytes(struct gw_exchanges *exchanges, const struct gw_schedule *schedule) {
    for (size_t i = 0; i < exchanges->count; i++) {
        struct gw_exchange *exchange = &exchanges->list[i];
        uint64_t bytes = schedule->operations[exchange->operation].bytes;
        exchange->call = call_of(exchange->collective, bytes, exchange->call.workers);
    }
}

/* ---- lanes ----------------------------------------------------------------------------------- */

/* Progress of a worker, and times that it spent. */
struct worker_lane {
    size_t operation;
    uint32_t exchange; /* that it is in, or comes to next */
    uint64_t clock[GW_STREAM_COUNT];
    uint64_t spent[GW_ACTIVITY_COUNT];
    uint64_t idle; /* that the compute stream waited between operations */
    uint64_t noise;
};

/* Times at which a lane came to an exchange and left it. */
struct lane_visit {
    uint64_t entered, left;
};

struct messages {
    const struct gw_simulator *simulator;
    bool collapsed;
    struct gw_exchanges exchanges;
    struct gw_traffic *traffic;
    uint64_t *last_entered; /* per exchange: when its last worker came to it */
    uint64_t served;        /* when the last server was done */
    uint32_t *next_served;  /* per server: the exchange that it looks at next */
    size_t lane_count;
    struct worker_lane *lanes;
    struct lane_visit *visits; /* lane * exchange_count + exchange */
    uint64_t *ends;            /* slot * lane_count + lane, see assign_slots */

    struct gw_recorder recorder;
};

static inline uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* ---- opening ------------------------------------------------------------------------------- */

static struct gw_links_spec links_of(const struct gw_simulator *simulator, size_t ranks) {
    const struct gw_simulation *simulation = &simulator->simulation;
    return (struct gw_links_spec){.network = &simulator->network,
                                  .ranks = ranks,
                                  .workers = simulation->workers,
                                  .workers_per_node = simulator->cluster->workers_per_node,
                                  .bandwidth = simulation->bandwidth,
                                  .background = simulation->background};
}

enum gw_status gw_messages_collapse(const struct gw_simulator *simulator, bool *out,
                                    struct gw_error *error) {
    const struct gw_simulation *simulation = &simulator->simulation;
    struct gw_links_spec spec = links_of(simulator, simulation->workers);
    struct gw_arena arena = {0};
    struct gw_exchanges exchanges = {0};
    enum gw_status status = gw_exchanges_open(&exchanges, simulator, &arena, error);
    *out = exchanges.symmetric && gw_links_are_symmetric(&spec) && !simulation->every_worker &&
           simulation->compute_noise.kind == GW_NOISE_NONE &&
           simulation->network_noise.kind == GW_NOISE_NONE && simulation->slowdown == NULL;
    gw_arena_free(&arena);
    return status;
}

static void leave_collective(void *context, uint32_t which, uint64_t now);

static enum gw_status open_messages(void **out, const struct gw_simulator *simulator,
                                    struct gw_arena *arena, struct gw_error *error) {
    size_t lanes = simulator->lane_count;
    size_t workers = simulator->simulation.workers;
    struct messages *messages = gw_arena_zeros(arena, 1, sizeof *messages);
    if (messages == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    const struct gw_exchanges *exchanges = &messages->exchanges;
    GW_TRY(gw_exchanges_open(&messages->exchanges, simulator, arena, error));
    struct gw_traffic_spec spec = {.exchanges = exchanges,
                                   .links = links_of(simulator, exchanges->ranks),
                                   .noise = &simulator->simulation.network_noise,
                                   .left = leave_collective,
                                   .context = messages};
    GW_TRY(gw_traffic_open(&messages->traffic, &spec, arena, error));
    messages->simulator = simulator;
    messages->lane_count = lanes;
    messages->collapsed = lanes < workers;
    messages->lanes = gw_arena_zeros(arena, lanes, sizeof *messages->lanes);
    messages->last_entered =
        gw_arena_zeros(arena, exchanges->count + 1, sizeof *messages->last_entered);
    messages->next_served =
        gw_arena_zeros(arena, exchanges->ranks - workers + 1, sizeof *messages->next_served);
    messages->visits =
        gw_arena_zeros(arena, exchanges->count + 1, lanes * sizeof *messages->visits);
    messages->ends =
        gw_arena_zeros(arena, simulator->slot_count + 1, lanes * sizeof *messages->ends);
    *out = messages;
    return gw_arena_check(arena, "opening a simulation", error);
}

static void reset_messages(struct messages *messages, uint64_t repetition) {
    const struct gw_simulator *simulator = messages->simulator;
    uint64_t seed = simulator->simulation.seed;
    if (simulator->simulation.selected != NULL) {
        set_bytes(&messages->exchanges, simulator->schedule);
    }
    gw_traffic_reset(messages->traffic, seed, repetition);
    for (size_t i = 0; i < messages->lane_count; i++) {
        messages->lanes[i] = (struct worker_lane){
            .noise = gw_noise_worker_stream(&simulator->simulation.compute_noise, seed, repetition,
                                            simulator->lanes[i].worker)};
    }
    memset(messages->last_entered, 0, messages->exchanges.count * sizeof *messages->last_entered);
    size_t servers = messages->exchanges.ranks - simulator->simulation.workers;
    memset(messages->next_served, 0, servers * sizeof *messages->next_served);
    messages->served = 0;
}

/* ---- operations of workers ----------------------------------------------------------------- */

static void record_activity(struct messages *messages, size_t lane, size_t index,
                            enum gw_activity activity, uint64_t start, uint64_t end) {
    const struct gw_operation *operation = &messages->simulator->schedule->operations[index];
    messages->lanes[lane].spent[activity] += end - start;
    gw_record(&messages->recorder, operation, lane, activity, gw_seconds(start), gw_seconds(end));
}

/* Time at which the stream and all dependencies of the operation have ended. */
static uint64_t start_of(const struct messages *messages, size_t lane, size_t index) {
    const struct gw_simulator *simulator = messages->simulator;
    const struct gw_schedule *schedule = simulator->schedule;
    const struct gw_operation *operation = &schedule->operations[index];
    uint64_t start = messages->lanes[lane].clock[operation->stream];
    for (size_t d = 0; d < operation->dependency_count; d++) {
        size_t before = schedule->dependencies[operation->first_dependency + d];
        if (schedule->operations[before].stream != operation->stream) {
            start = later(start,
                          messages->ends[simulator->slots[before] * messages->lane_count + lane]);
        }
    }
    return start;
}

/* Moves the stream's clock over an operation, and keeps its end for those that wait for it. */
static void advance_lane(struct messages *messages, size_t lane, size_t index, uint64_t start,
                         uint64_t end) {
    const struct gw_simulator *simulator = messages->simulator;
    enum gw_stream stream = simulator->schedule->operations[index].stream;
    struct worker_lane *state = &messages->lanes[lane];
    if (stream == GW_STREAM_COMPUTE) {
        state->idle += start - state->clock[stream];
    }
    state->clock[stream] = end;
    if (simulator->slots[index] != GW_NO_SLOT) {
        messages->ends[simulator->slots[index] * messages->lane_count + lane] = end;
    }
}

static void compute_operation(struct messages *messages, size_t lane, size_t index) {
    const struct gw_simulator *simulator = messages->simulator;
    const struct gw_simulation *simulation = &simulator->simulation;
    double seconds = simulator->seconds[index];
    if (simulation->slowdown != NULL) {
        seconds *= simulation->slowdown[simulator->lanes[lane].worker];
    }
    if (seconds > 0) {
        double factor =
            gw_noise_factor(&simulation->compute_noise, messages->lanes[lane].noise, index);
        seconds = factor > 0 ? seconds * factor : 0;
    }
    uint64_t start = start_of(messages, lane, index);
    uint64_t end = gw_plus_ps(start, gw_picoseconds(seconds));
    advance_lane(messages, lane, index, start, end);
    record_activity(messages, lane, index, simulator->schedule->operations[index].kind, start, end);
}

static struct lane_visit *visit_of(const struct messages *messages, size_t lane) {
    return &messages->visits[lane * messages->exchanges.count + messages->lanes[lane].exchange];
}

/* Has the worker aggregate the data of its messages, which have come, and leave the exchange. */
static void leave_exchange(struct messages *messages, size_t lane, uint64_t come) {
    struct worker_lane *state = &messages->lanes[lane];
    struct lane_visit *visit = visit_of(messages, lane);
    const struct gw_simulator *simulator = messages->simulator;
    const struct gw_operation *operation = &simulator->schedule->operations[state->operation];
    bool served = gw_server_aggregates(simulator->schedule, operation);
    double aggregation_s = served ? 0 : simulator->seconds[state->operation];
    uint64_t now = gw_plus_ps(come, gw_picoseconds(aggregation_s));
    visit->left = now;
    advance_lane(messages, lane, state->operation++, visit->entered, now);
    state->exchange++;
}

/* Has the worker enter its next exchange; one that stands for all workers leaves it at once. */
static void enter_exchange(struct messages *messages, size_t lane) {
    const struct worker_lane *state = &messages->lanes[lane];
    uint64_t now = start_of(messages, lane, state->operation);
    uint64_t *last = &messages->last_entered[state->exchange];
    visit_of(messages, lane)->entered = now;
    *last = later(*last, now);
    if (messages->collapsed) {
        leave_exchange(messages, lane, gw_traffic_alone(messages->traffic, state->exchange, now));
    } else {
        gw_traffic_enter(messages->traffic, (uint32_t)lane, state->exchange, now);
    }
}

/* Takes the worker into its next exchange, or to the end. */
static void go_on(struct messages *messages, size_t lane) {
    const struct gw_schedule *schedule = messages->simulator->schedule;
    struct worker_lane *state = &messages->lanes[lane];
    while (state->operation < schedule->operation_count) {
        const struct gw_operation *operation = &schedule->operations[state->operation];
        if (operation->kind != GW_EXCHANGE) {
            if (gw_operation_is_shared(operation)) {
                uint64_t now = start_of(messages, lane, state->operation);
                advance_lane(messages, lane, state->operation++, now,
                             now); /* of the next exchange */
            } else {
                compute_operation(messages, lane, state->operation++);
            }
            continue;
        }
        enter_exchange(messages, lane);
        if (!messages->collapsed) {
            return;
        }
    }
}

/* Time for which a server aggregates and updates before it takes part in the exchange. */
static uint64_t work_before(const struct messages *messages, uint32_t exchange) {
    const struct gw_simulator *simulator = messages->simulator;
    const struct gw_operation *operations = simulator->schedule->operations;
    uint64_t work = 0;
    size_t i = messages->exchanges.list[exchange].operation;
    while (i-- > 0 && operations[i].kind == GW_UPDATE && gw_operation_is_shared(&operations[i])) {
        work = gw_plus_ps(work, gw_picoseconds(simulator->seconds[i]));
    }
    bool aggregates = i < SIZE_MAX && gw_server_aggregates(simulator->schedule, &operations[i]);
    return aggregates ? gw_plus_ps(work, gw_picoseconds(simulator->seconds[i])) : work;
}

/* Servers take part in those exchanges that have servers, as soon as they can. */
static void serve_server(struct messages *messages, uint32_t server, uint64_t now) {
    uint32_t *next = &messages->next_served[server - messages->simulator->simulation.workers];
    while (*next < messages->exchanges.count && messages->exchanges.list[*next].ranks <= server) {
        (*next)++;
    }
    if (*next < messages->exchanges.count) {
        uint64_t done = gw_plus_ps(now, work_before(messages, *next));
        gw_traffic_enter(messages->traffic, server, (*next)++, done);
    }
}

static void leave_collective(void *context, uint32_t which, uint64_t now) {
    struct messages *messages = context;
    if (which >= messages->simulator->simulation.workers) {
        messages->served = later(messages->served, now);
        serve_server(messages, which, now);
        return;
    }
    leave_exchange(messages, which, now);
    go_on(messages, which);
}

/* ---- an iteration -------------------------------------------------------------------------- */

static void start_all(struct messages *messages) {
    uint32_t workers = (uint32_t)messages->simulator->simulation.workers;
    for (uint32_t lane = 0; lane < messages->lane_count; lane++) {
        go_on(messages, lane);
    }
    for (uint32_t server = workers; server < messages->exchanges.ranks; server++) {
        serve_server(messages, server, 0);
    }
}

/* Refuses an iteration that reaches GW_LATEST_PS, at which times are cut off. */
static enum gw_status check_times(const struct messages *messages) {
    uint64_t end = messages->served;
    for (size_t lane = 0; lane < messages->lane_count; lane++) {
        const struct worker_lane *state = &messages->lanes[lane];
        end = later(end,
                    later(state->clock[GW_STREAM_COMPUTE], state->clock[GW_STREAM_COMMUNICATION]));
    }
    return end < GW_LATEST_PS
               ? GW_OK
               : gw_fail(messages->recorder.error, GW_BAD_INPUT,
                         "simulation: expected messages that take at most 2^62 ps (53 days) in an "
                         "iteration, got a longer one");
}

/* Records exchanges; workers in one wait until the last worker has come to it. */
static void record_exchanges(struct messages *messages) {
    for (size_t lane = 0; lane < messages->lane_count; lane++) {
        for (size_t i = 0; i < messages->exchanges.count; i++) {
            const struct gw_exchange *exchange = &messages->exchanges.list[i];
            const struct lane_visit *visit =
                &messages->visits[lane * messages->exchanges.count + i];
            uint64_t last = messages->last_entered[i];
            uint64_t begun = last < visit->left ? later(last, visit->entered) : visit->left;
            if (begun > visit->entered) {
                record_activity(messages, lane, exchange->operation, GW_WAIT, visit->entered,
                                begun);
            }
            if (visit->left > begun || begun == visit->entered) {
                record_activity(messages, lane, exchange->operation, GW_EXCHANGE, begun,
                                visit->left);
            }
        }
    }
}

static void measure_messages(struct messages *messages, struct gw_measure *out) {
    double spent_s[GW_ACTIVITY_COUNT] = {0};
    double idle_s = 0;
    uint64_t end = messages->served;
    for (size_t lane = 0; lane < messages->lane_count; lane++) {
        const struct worker_lane *state = &messages->lanes[lane];
        uint64_t compute_end = state->clock[GW_STREAM_COMPUTE];
        uint64_t lane_end = later(compute_end, state->clock[GW_STREAM_COMMUNICATION]);
        end = later(end, lane_end);
        for (int kind = 0; kind < GW_ACTIVITY_COUNT; kind++) {
            spent_s[kind] += gw_seconds(state->spent[kind]) / (double)messages->lane_count;
        }
        idle_s += gw_seconds(state->idle + lane_end - compute_end) / (double)messages->lane_count;
    }
    struct gw_breakdown parts = {.forward_s = spent_s[GW_FORWARD],
                                 .backward_s = spent_s[GW_BACKWARD],
                                 .compress_s = spent_s[GW_COMPRESS],
                                 .exposed_comm_s = idle_s};
    *out = (struct gw_measure){
        .iteration_s = gw_seconds(end), .breakdown = parts, .comm_s = spent_s[GW_EXCHANGE]};
    gw_measure_other(out);
}

static enum gw_status iterate_messages(void *state, uint64_t repetition, size_t threads,
                                       struct gw_timeline *timeline, double start_s,
                                       struct gw_measure *out, struct gw_error *error) {
    (void)threads;
    struct messages *messages = state;
    messages->recorder =
        (struct gw_recorder){.timeline = timeline, .start_s = start_s, .error = error};
    reset_messages(messages, repetition);
    start_all(messages);
    GW_TRY(gw_traffic_run(messages->traffic, error));
    GW_TRY(check_times(messages));
    record_exchanges(messages);
    measure_messages(messages, out);
    return gw_record_iteration(&messages->recorder, out);
}

const struct gw_runner gw_runner_messages = {.open = open_messages, .iterate = iterate_messages};
