#include "sim/simulator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/interference.h"
#include "sim/messages.h"
#include "sim/run.h"
#include "sim/selecting.h"

/* ---- opening ------------------------------------------------------------------------------- */

/* The collective that is exchanged first, or NULL. */
static const char *first_exchange(const struct gw_schedule *schedule) {
    for (size_t i = 0; i < schedule->operation_count; i++) {
        if (schedule->operations[i].kind == GW_EXCHANGE) {
            return schedule->operations[i].method;
        }
    }
    return NULL;
}

static void note(struct gw_result *result, const char *text) {
    if (result != NULL) {
        gw_result_note(result, text);
    }
}

static enum gw_status find_network(struct gw_simulator *simulator, struct gw_result *result,
                                   struct gw_error *error) {
    const struct gw_simulation *simulation = &simulator->simulation;
    const struct gw_cluster *cluster = simulator->cluster;
    struct gw_network *network = &simulator->network;
    char derivation[GW_DERIVATION_SIZE];
    if (simulation->level == GW_LEVEL_CURVES) {
        return GW_OK;
    }
    if (cluster->network == NULL) {
        GW_TRY(gw_cluster_derive_network(cluster, first_exchange(simulator->schedule), network,
                                         derivation, error));
        note(result, derivation);
    } else {
        *network = *cluster->network;
    }
    if (network->between_assumed && gw_cluster_nodes(cluster, simulation->workers) > 1) {
        note(result, "network between nodes not measured: taken to be as within a node");
    }
    if (simulation->nodes_per_switch > 0) {
        network->nodes_per_switch = simulation->nodes_per_switch;
    }
    if (simulation->oversubscription > 0) {
        network->oversubscription = simulation->oversubscription;
    }
    if (simulation->oversubscription > 1 && network->nodes_per_switch == 0) {
        return gw_fail(error, GW_BAD_INPUT,
                       "oversubscription: expected a number of nodes per switch as well, found "
                       "none");
    }
    return GW_OK;
}

/* In messages, a worker stands for all if that changes nothing, and otherwise for itself. */
static enum gw_status open_lanes(struct gw_simulator *simulator, struct gw_error *error) {
    struct gw_simulation seen = simulator->simulation;
    if (seen.level == GW_LEVEL_MESSAGES) {
        bool collapse = false;
        GW_TRY(gw_messages_collapse(simulator, &collapse, error));
        seen.every_worker = !collapse;
    }
    return gw_lanes_open(&seen, &simulator->lanes, &simulator->lane_count, error);
}

/* Steps of messages wait for processors and links; how compression delays them is not measured. */
static enum gw_status open_interference(struct gw_simulator *simulator, struct gw_result *result,
                                        struct gw_error *error) {
    const struct gw_simulation *simulation = &simulator->simulation;
    if (!simulation->interference) {
        return GW_OK;
    }
    if (simulation->level == GW_LEVEL_MESSAGES) {
        return gw_fail(error, GW_BAD_INPUT,
                       "interference: expected exchanges by curves, got messages: overlap factors "
                       "are of whole collectives");
    }
    return gw_interference_open(&simulator->interference, simulator->schedule, simulator->cluster,
                                simulation->workers, result, error);
}

static enum gw_status prepare(struct gw_simulator *simulator, struct gw_result *result,
                              struct gw_error *error) {
    const struct gw_schedule *schedule = simulator->schedule;
    simulator->seconds = calloc(schedule->operation_count + 1, sizeof *simulator->seconds);
    simulator->slots = calloc(schedule->operation_count + 1, sizeof *simulator->slots);
    if (simulator->seconds == NULL || simulator->slots == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    GW_TRY(find_network(simulator, result, error));
    GW_TRY(open_lanes(simulator, error));
    GW_TRY(gw_slots_assign(schedule, simulator->slots, &simulator->slot_count, error));
    GW_TRY(open_interference(simulator, result, error));
    return gw_operation_costs(simulator, result, error);
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
    simulator->cluster = cluster;
    simulator->simulation = *simulation;
    enum gw_status status = prepare(simulator, result, error);
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
    free(simulator->lanes);
    free(simulator->seconds);
    free(simulator->slots);
    gw_prices_free(&simulator->prices);
    gw_interference_close(&simulator->interference);
    free(simulator);
}

enum gw_status gw_simulator_timeline(const struct gw_simulator *simulator, struct gw_timeline *out,
                                     struct gw_error *error) {
    GW_TRY(gw_timeline_create(out, simulator->lane_count, error));
    memcpy(out->lanes, simulator->lanes, simulator->lane_count * sizeof *out->lanes);
    return GW_OK;
}

void gw_measure_other(struct gw_measure *measure) {
    struct gw_breakdown *parts = &measure->breakdown;
    double end_s = measure->iteration_s;
    double other_s =
        end_s - parts->forward_s - parts->backward_s - parts->compress_s - parts->exposed_comm_s;
    parts->other_s = fabs(other_s) < 1e-12 * end_s ? 0 : other_s;
}

/* ---- repetitions --------------------------------------------------------------------------- */

/* One of those that share the iterations. */
struct member {
    struct gw_selecting *selecting; /* NULL: iterations do not differ in what is selected */
    void *state;
    enum gw_status status;
    struct gw_error error;
};

/* Member number m takes iterations m, m + count, and so on. */
struct team {
    const struct gw_runner *runner;
    size_t count, iterations;
    size_t threads; /* that a member may use itself */
    struct member *members;
    struct gw_timeline *timeline;
    struct gw_measure *measures;
};

static void run_share(size_t number, void *context) {
    struct team *team = context;
    struct member *member = &team->members[number];
    double start_s = 0;
    for (size_t i = number; i < team->iterations && member->status == GW_OK; i += team->count) {
        struct gw_measure *measure = &team->measures[i];
        if (member->selecting != NULL) {
            gw_selecting_take(member->selecting, i);
        }
        member->status = team->runner->iterate(member->state, i, team->threads, team->timeline,
                                               start_s, measure, &member->error);
        start_s += measure->iteration_s;
    }
}

/* Many lanes are shared among threads; few are repeated by each, which takes a state for each. */
static void choose_members(const struct gw_simulator *simulator, struct team *team) {
    const struct gw_simulation *simulation = &simulator->simulation;
    bool messages = simulation->level == GW_LEVEL_MESSAGES;
    size_t cores = gw_cores();
    size_t threads = simulation->threads < cores ? simulation->threads : cores;
    threads = threads < 1 ? 1 : threads;
    size_t most = team->iterations < threads ? team->iterations : threads;
    bool many = !messages && !simulation->interference && gw_run_blocks(simulator) >= 2 * threads;
    bool alone = team->timeline != NULL || most < 2 || many;
    team->runner = messages                   ? &gw_runner_messages
                   : simulation->interference ? &gw_runner_interference
                                              : &gw_runner_clocks;
    team->count = alone ? 1 : most;
    team->threads = alone ? threads : 1;
}

static enum gw_status open_member(struct member *member, const struct gw_runner *runner,
                                  const struct gw_simulator *simulator, struct gw_error *error) {
    if (simulator->simulation.selected != NULL) {
        GW_TRY(gw_selecting_open(&member->selecting, simulator, error));
        simulator = gw_selecting_simulator(member->selecting);
    }
    return runner->open(&member->state, simulator, error);
}

static enum gw_status run_team(struct team *team, const struct gw_simulator *simulator,
                               struct gw_error *error) {
    for (size_t m = 0; m < team->count; m++) {
        GW_TRY(open_member(&team->members[m], team->runner, simulator, error));
    }
    gw_parallel(team->count, team->count, run_share, team);
    for (size_t m = 0; m < team->count; m++) {
        const struct member *member = &team->members[m];
        if (member->status != GW_OK) {
            return gw_fail(error, member->status, "%s", member->error.message);
        }
    }
    return GW_OK;
}

enum gw_status gw_simulator_run(const struct gw_simulator *simulator, size_t iterations,
                                struct gw_timeline *timeline, struct gw_measure *measures,
                                struct gw_error *error) {
    struct team team = {.iterations = iterations, .timeline = timeline, .measures = measures};
    choose_members(simulator, &team);
    team.members = calloc(team.count, sizeof *team.members);
    if (team.members == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    enum gw_status status = run_team(&team, simulator, error);
    for (size_t m = 0; m < team.count; m++) {
        team.runner->close(team.members[m].state);
        gw_selecting_close(team.members[m].selecting);
    }
    free(team.members);
    return status;
}
