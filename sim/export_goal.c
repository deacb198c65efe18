/*
 * The third interpreter of schedules: writes a schedule as GOAL. A worker computes on its processor
 * 0 and sends messages on processor 1, so that both overlap.
 *
 * LogGOPSim starts an operation when its own processor is free, even if an operation that it
 * requires on another processor is still running. A dependency between processors is therefore
 * written as two bytes on a network interface of their own: one processor sends a byte to its own
 * rank, then the other one does, for which it waits until the interface is free again. That takes 2
 * o + g, and the byte comes a latency later, which would change the end: so the schedule is for an
 * o, g and O of 0, with their times as calculations, and has no such dependency after the last
 * exchange.
 */
#include <math.h>

#include "goal/goal.h"
#include "sim/traffic.h"

enum { COMPUTE_CPU = 0, MESSAGE_CPU = 1, MESSAGE_NIC = 0, CROSSING_NIC = 1 };

/* Labels of operations that have to end, 0 for none: one, or a step's send and its receive. */
struct ends {
    uint32_t first, second;
};

struct export {
    const struct gw_simulator *simulator;
    uint32_t rank; /* at work */
    const struct gw_exchanges *exchanges;
    struct gw_goal_writer *writer;
    struct ends *ends;    /* per operation of the schedule, of the rank at work */
    struct ends *awaited; /* per dependency of the operation at work */
    const struct gw_loggp *loggp;
    size_t last_exchange; /* of the schedule's operations; SIZE_MAX: there is none */
    struct ends late;     /* on the processor of messages, of what was computed behind that */
    struct ends streams[GW_STREAM_COUNT];
};

static void require_ends(struct export *export, uint32_t label, struct ends ends) {
    if (ends.first > 0) {
        gw_goal_write_requires(export->writer, label, ends.first);
    }
    if (ends.second > 0) {
        gw_goal_write_requires(export->writer, label, ends.second);
    }
}

static uint32_t write_calculation(struct export *export, double seconds, uint8_t cpu) {
    struct gw_goal_operation calculation = {
        .kind = GW_GOAL_CALC, .size = (uint64_t)llround(seconds * 1e9), .cpu = cpu};
    return gw_goal_write_operation(export->writer, &calculation);
}

/* A message of no bytes is written as one byte: LogGOPSim would charge it -1. */
static uint32_t write_message(struct export *export, enum gw_goal_kind kind, uint32_t peer,
                              uint64_t bytes, uint32_t tag) {
    struct gw_goal_operation message = {.kind = (uint8_t)kind,
                                        .size = bytes > 0 ? bytes : 1,
                                        .peer = peer == GW_ANYBODY ? GW_GOAL_ANY : peer,
                                        .tag = tag,
                                        .cpu = MESSAGE_CPU,
                                        .nic = MESSAGE_NIC};
    return gw_goal_write_operation(export->writer, &message);
}

/* A byte from the rank to itself, after `before`. */
static uint32_t write_token(struct export *export, uint8_t cpu, uint8_t nic, struct ends before) {
    struct gw_goal_operation token = {.kind = GW_GOAL_SEND,
                                      .size = 1,
                                      .peer = export->rank,
                                      .tag = (uint32_t) export->exchanges->count,
                                      .cpu = cpu,
                                      .nic = nic};
    uint32_t label = gw_goal_write_operation(export->writer, &token);
    require_ends(export, label, before);
    token.kind = GW_GOAL_RECEIVE;
    (void)gw_goal_write_operation(export->writer, &token);
    return label;
}

/*
 * Writes a byte from processor `from` to itself after `ends`, and one on processor `to` after it,
 * so that operations on `to` can wait for `ends`. Behind messages the first byte takes their
 * interface: they end when they have left it.
 */
static struct ends cross_over(struct export *export, struct ends ends, uint8_t from, uint8_t to) {
    uint8_t nic = from == MESSAGE_CPU ? MESSAGE_NIC : CROSSING_NIC;
    struct ends left = {.first = write_token(export, from, nic, ends)};
    return (struct ends){.first = write_token(export, to, nic, left)};
}

static uint8_t cpu_of(const struct gw_operation *operation) {
    return gw_operation_is_shared(operation) ? MESSAGE_CPU : COMPUTE_CPU;
}

/*
 * Writes the operation's calculation, which waits for its stream and for what it depends on in
 * other streams. Returns its label.
 */
static uint32_t write_start(struct export *export, size_t index, double seconds) {
    const struct gw_schedule *schedule = export->simulator->schedule;
    const struct gw_operation *operation = &schedule->operations[index];
    const size_t *dependencies = schedule->dependencies + operation->first_dependency;
    uint8_t cpu = cpu_of(operation);
    for (size_t d = 0; d < operation->dependency_count; d++) {
        const struct gw_operation *before = &schedule->operations[dependencies[d]];
        struct ends ends = {0};
        if (before->stream != operation->stream) {
            ends = export->ends[dependencies[d]];
        }
        export->awaited[d] = before->stream == operation->stream || cpu_of(before) == cpu
                                 ? ends
                                 : cross_over(export, ends, cpu_of(before), cpu);
    }
    uint32_t label = write_calculation(export, seconds, cpu);
    require_ends(export, label, export->streams[operation->stream]);
    for (size_t d = 0; d < operation->dependency_count; d++) {
        require_ends(export, label, export->awaited[d]);
    }
    return label;
}

/* Writes a calculation on the processor of messages after `before`; below 0.5 ns none. */
static struct ends write_pause(struct export *export, double seconds, struct ends before) {
    if (seconds < 0.5e-9) {
        return before;
    }
    uint32_t label = write_calculation(export, seconds, MESSAGE_CPU);
    require_ends(export, label, before);
    return (struct ends){.first = label};
}

/* Seconds of a step before its latency and the gaps of its bytes, and (receiving_s) after them. */
static double sending_s(const struct export *export, uint64_t bytes) {
    return export->loggp->overhead_s + (double)bytes * export->loggp->overhead_s_per_byte;
}

static double receiving_s(const struct export *export, uint64_t bytes) {
    double bytes_s = (double)bytes * export->loggp->gap_s_per_byte;
    return export->loggp->overhead_s + fmax(0, export->loggp->gap_s - bytes_s);
}

/* Whether the operation waits for the last exchange, and all ranks are alike: otherwise a rank's
 * last message may leave after all of its messages have come. */
static bool waits_for_last(const struct export *export, size_t index) {
    if (!export->exchanges->symmetric) {
        return false;
    }
    const struct gw_schedule *schedule = export->simulator->schedule;
    const struct gw_operation *operation = &schedule->operations[index];
    for (size_t d = 0; d < operation->dependency_count; d++) {
        if (schedule->dependencies[operation->first_dependency + d] == export->last_exchange) {
            return true;
        }
    }
    return false;
}

/*
 * Writes an operation from the first one on that waits for the last exchange: both processors
 * calculate it, each after its own operations, and the later one ends when the operation does. No
 * other operation then waits for both processors.
 */
static struct ends write_late(struct export *export, size_t index, double seconds) {
    const struct gw_operation *operation = &export->simulator->schedule->operations[index];
    if (export->late.first == 0) {
        export->late = export->ends[export->last_exchange];
    }
    export->late = write_pause(export, seconds, export->late);
    uint32_t label = write_calculation(export, seconds, COMPUTE_CPU);
    require_ends(export, label, export->streams[operation->stream]);
    return (struct ends){.first = label};
}

/* Writes a rank's steps of an exchange, one after the other; the exchange's number is the tag. */
static struct ends write_steps(struct export *export, uint32_t rank, uint32_t number,
                               struct ends before) {
    const struct gw_exchange *exchange = &export->exchanges->list[number];
    uint32_t steps = gw_exchange_steps(exchange, rank);
    for (uint32_t i = 0; i < steps; i++) {
        struct gw_step step;
        struct ends ends = {0};
        exchange->collective->step(&exchange->call, rank, i, &step);
        if (step.to != GW_NOBODY) {
            before = write_pause(export, sending_s(export, step.send_bytes), before);
            ends.first = write_message(export, GW_GOAL_SEND, step.to, step.send_bytes, number);
            require_ends(export, ends.first, before);
        }
        if (step.from != GW_NOBODY) {
            ends.second =
                write_message(export, GW_GOAL_RECEIVE, step.from, step.receive_bytes, number);
            require_ends(export, ends.second, before);
            struct ends received = {.first = ends.second};
            ends.second =
                write_pause(export, receiving_s(export, step.receive_bytes), received).first;
        }
        before = ends;
    }
    return before;
}

static void write_worker(struct export *export, uint32_t worker) {
    const struct gw_simulator *simulator = export->simulator;
    const struct gw_simulation *simulation = &simulator->simulation;
    double slowdown = simulation->slowdown == NULL ? 1 : simulation->slowdown[worker];
    uint32_t exchanges = 0;
    export->late = (struct ends){0};
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        export->streams[stream] = (struct ends){0};
    }
    for (size_t i = 0; i < simulator->schedule->operation_count; i++) {
        const struct gw_operation *operation = &simulator->schedule->operations[i];
        bool exchange = operation->kind == GW_EXCHANGE;
        double seconds = gw_operation_is_shared(operation) ? 0 : simulator->seconds[i] * slowdown;
        bool late = cpu_of(operation) == COMPUTE_CPU &&
                    (export->late.first > 0 || waits_for_last(export, i));
        struct ends ends = late ? write_late(export, i, seconds)
                                : (struct ends){.first = write_start(export, i, seconds)};
        if (exchange) {
            bool served = gw_server_aggregates(simulator->schedule, operation);
            ends = write_steps(export, worker, exchanges++, ends);
            ends = write_pause(export, served ? 0 : simulator->seconds[i], ends);
        }
        export->ends[i] = ends;
        export->streams[operation->stream] = ends;
    }
}

/* Writes a server's part in exchanges, and its updates between them. */
static void write_server(struct export *export, uint32_t server) {
    const struct gw_simulator *simulator = export->simulator;
    struct ends ends = {0};
    uint32_t number = 0;
    for (size_t i = 0; i < simulator->schedule->operation_count; i++) {
        const struct gw_operation *operation = &simulator->schedule->operations[i];
        if (operation->kind == GW_EXCHANGE) {
            bool takes_part = server < export->exchanges->list[number].ranks;
            ends = takes_part ? write_steps(export, server, number, ends) : ends;
            if (gw_server_aggregates(simulator->schedule, operation)) {
                ends = write_pause(export, simulator->seconds[i], ends);
            }
            number++;
        } else if (gw_operation_is_shared(operation)) {
            uint32_t label = write_calculation(export, simulator->seconds[i], MESSAGE_CPU);
            require_ends(export, label, ends);
            ends = (struct ends){.first = label};
        }
    }
}

static enum gw_status write_ranks(struct export *export, struct gw_error *error) {
    uint32_t workers = (uint32_t) export->simulator->simulation.workers;
    for (uint32_t rank = 0; rank < export->exchanges->ranks; rank++) {
        GW_TRY(gw_goal_write_rank(export->writer, rank, error));
        export->rank = rank;
        if (rank < workers) {
            write_worker(export, rank);
        } else {
            write_server(export, rank);
        }
    }
    return GW_OK;
}

static enum gw_status write_file(struct export *export, const char *path, const char *loggp,
                                 struct gw_error *error) {
    GW_TRY(gw_goal_writer_open(&export->writer, path, export->exchanges->ranks, error));
    gw_goal_write_loggp(export->writer, loggp);
    enum gw_status status = write_ranks(export, error);
    if (status != GW_OK) {
        gw_goal_writer_discard(export->writer);
        return status;
    }
    return gw_goal_writer_close(export->writer, error);
}

/* LogGOPS charges a message of n bytes n - 1 of them: the first one is a part of the latency. */
static void describe_loggp(const struct gw_loggp *loggp, char out[GW_EXPORT_LOGGP_SIZE]) {
    const double ns = 1e9;
    double latency_ns = round((loggp->latency_s + loggp->gap_s_per_byte) * ns);
    (void)snprintf(out, GW_EXPORT_LOGGP_SIZE, "L=%.0f,o=0,g=0,O=0,G=%.12g", latency_ns,
                   loggp->gap_s_per_byte * ns);
}

static size_t find_last_exchange(const struct gw_schedule *schedule) {
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < schedule->operation_count; i++) {
        last = schedule->operations[i].kind == GW_EXCHANGE ? i : last;
    }
    return last;
}

/* Refuses operations of more than 2^62 ns, before anything is written. */
static enum gw_status check_times(const struct gw_simulator *simulator, struct gw_error *error) {
    const struct gw_simulation *simulation = &simulator->simulation;
    double slowest = 1;
    for (size_t i = 0; simulation->slowdown != NULL && i < simulation->workers; i++) {
        slowest = fmax(slowest, simulation->slowdown[i]);
    }
    for (size_t i = 0; i < simulator->schedule->operation_count; i++) {
        double seconds = simulator->seconds[i] * slowest;
        if (!(seconds * 1e9 <= 0x1p62)) {
            return gw_fail(error, GW_BAD_INPUT,
                           "GOAL: expected operations of at most 2^62 ns (146 years), got %g s",
                           seconds);
        }
    }
    return GW_OK;
}

enum gw_status gw_simulator_export_goal(const struct gw_simulator *simulator, const char *path,
                                        char loggp[GW_EXPORT_LOGGP_SIZE], struct gw_result *notes,
                                        struct gw_error *error) {
    const struct gw_schedule *schedule = simulator->schedule;
    struct gw_arena arena = {0};
    struct gw_exchanges exchanges = {0};
    GW_TRY(check_times(simulator, error));
    describe_loggp(&simulator->network.between, loggp);
    struct export export = {
        .simulator = simulator,
        .loggp = &simulator->network.between,
        .last_exchange = find_last_exchange(schedule),
        .exchanges = &exchanges,
        .ends = gw_arena_zeros(&arena, schedule->operation_count + 1, sizeof *export.ends),
        .awaited = gw_arena_zeros(&arena, schedule->dependency_count + 1, sizeof *export.awaited)};
    enum gw_status status = gw_arena_check(&arena, "exporting a schedule", error);
    status = status == GW_OK ? gw_exchanges_open(&exchanges, simulator, &arena, error) : status;
    if (status == GW_OK && !exchanges.symmetric) {
        gw_result_note(notes, "not all ranks are alike: a processor of LogGOPS's that receives a "
                              "message does not send meanwhile, so this may take longer than by "
                              "--network messages");
    }
    status = status == GW_OK ? write_file(&export, path, loggp, error) : status;
    gw_arena_free(&arena);
    return status;
}
