/*
 * The third interpreter of schedules: what sim runs, written as GOAL for others to run. What a
 * worker computes is on its processor 0; its messages are on processor 1, so that they overlap.
 */
#include <math.h>
#include <stdlib.h>

#include "collectives/collectives.h"
#include "goal/goal.h"
#include "sim/exchanges.h"
#include "sim/simulator.h"

enum { COMPUTE_CPU = 0, MESSAGE_CPU = 1 };

/* Labels of what has to end, 0 for none: an operation, or a step's send and its receive. */
struct ends {
    uint32_t first, second;
};

struct export {
    const struct gw_simulator *simulator;
    const struct gw_exchanges *exchanges;
    struct gw_goal_writer *writer;
    struct ends *ends; /* per operation of the schedule, of the rank at work */
    struct ends streams[GW_STREAM_COUNT];
};

static void require(struct export *export, uint32_t label, struct ends ends) {
    if (ends.first > 0) {
        gw_goal_write_requires(export->writer, label, ends.first);
    }
    if (ends.second > 0) {
        gw_goal_write_requires(export->writer, label, ends.second);
    }
}

/* The operation waits for its stream, and for what it depends on in other streams. */
static void require_all(struct export *export, uint32_t label, size_t index) {
    const struct gw_schedule *schedule = export->simulator->schedule;
    const struct gw_operation *operation = &schedule->operations[index];
    require(export, label, export->streams[operation->stream]);
    for (size_t d = 0; d < operation->dependency_count; d++) {
        size_t before = schedule->dependencies[operation->first_dependency + d];
        if (schedule->operations[before].stream != operation->stream) {
            require(export, label, export->ends[before]);
        }
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
                                        .cpu = MESSAGE_CPU};
    return gw_goal_write_operation(export->writer, &message);
}

/* A rank's steps of an exchange, each after the one before it; its number is the tag. */
static struct ends write_steps(struct export *export, uint32_t rank, uint32_t number,
                               struct ends before) {
    const struct gw_exchange *exchange = &export->exchanges->list[number];
    uint32_t steps = gw_exchange_steps(exchange, rank);
    for (uint32_t i = 0; i < steps; i++) {
        struct gw_step step;
        struct ends ends = {0};
        exchange->collective->step(&exchange->call, rank, i, &step);
        if (step.to != GW_NOBODY) {
            ends.first = write_message(export, GW_GOAL_SEND, step.to, step.send_bytes, number);
            require(export, ends.first, before);
        }
        if (step.from != GW_NOBODY) {
            ends.second =
                write_message(export, GW_GOAL_RECEIVE, step.from, step.receive_bytes, number);
            require(export, ends.second, before);
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
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        export->streams[stream] = (struct ends){0};
    }
    for (size_t i = 0; i < simulator->schedule->operation_count; i++) {
        const struct gw_operation *operation = &simulator->schedule->operations[i];
        bool exchange = operation->kind == GW_EXCHANGE;
        double seconds = exchange ? 0 : simulator->seconds[i] * slowdown;
        struct ends ends = {
            .first = write_calculation(export, seconds, exchange ? MESSAGE_CPU : COMPUTE_CPU)};
        require_all(export, ends.first, i);
        if (exchange) {
            ends = write_steps(export, worker, exchanges++, ends);
        }
        export->ends[i] = ends;
        export->streams[operation->stream] = ends;
    }
}

static void write_server(struct export *export, uint32_t server) {
    struct ends ends = {0};
    for (uint32_t number = 0; number < export->exchanges->count; number++) {
        if (server < export->exchanges->list[number].ranks) {
            ends = write_steps(export, server, number, ends);
        }
    }
}

static enum gw_status write_ranks(struct export *export, struct gw_error *error) {
    uint32_t workers = (uint32_t) export->simulator->simulation.workers;
    for (uint32_t rank = 0; rank < export->exchanges->ranks; rank++) {
        GW_TRY(gw_goal_write_rank(export->writer, rank, error));
        if (rank < workers) {
            write_worker(export, rank);
        } else {
            write_server(export, rank);
        }
    }
    return GW_OK;
}

static enum gw_status write_file(struct export *export, const char *path, struct gw_error *error) {
    export->ends = calloc(export->simulator->schedule->operation_count + 1, sizeof *export->ends);
    if (export->ends == NULL) {
        return gw_fail_memory(error, "exporting a schedule");
    }
    enum gw_status status =
        gw_goal_writer_open(&export->writer, path, export->exchanges->ranks, error);
    if (status == GW_OK) {
        status = write_ranks(export, error);
        if (status == GW_OK) {
            status = gw_goal_writer_close(export->writer, error);
        } else {
            gw_goal_writer_discard(export->writer);
        }
    }
    free(export->ends);
    return status;
}

enum gw_status gw_simulator_export_goal(const struct gw_simulator *simulator, const char *path,
                                        struct gw_error *error) {
    struct gw_exchanges exchanges = {0};
    struct export export = {.simulator = simulator, .exchanges = &exchanges};
    enum gw_status status =
        gw_exchanges_open(&exchanges, simulator->schedule, &simulator->simulation, error);
    status = status == GW_OK ? write_file(&export, path, error) : status;
    gw_exchanges_close(&exchanges);
    return status;
}
