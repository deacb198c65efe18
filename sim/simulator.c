#include "sim/simulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lanes ----------------------------------------------------------------------------------- */

struct unlike {
    double slowdown;
    size_t worker;
};

static int compare_unlike(const void *left, const void *right) {
    const struct unlike *a = left;
    const struct unlike *b = right;
    if (a->slowdown != b->slowdown) {
        return a->slowdown < b->slowdown ? -1 : 1;
    }
    return a->worker < b->worker ? -1 : 1;
}

static int compare_lanes(const void *left, const void *right) {
    const struct gw_lane *a = left;
    const struct gw_lane *b = right;
    return a->worker < b->worker ? -1 : 1;
}

/* Makes lane 0 of all workers as slow as worker 0, and a lane of each other slowdown. */
static void group_unlike(struct unlike *unlike, size_t unlike_count, size_t workers,
                         struct gw_lane *lanes, size_t *count) {
    qsort(unlike, unlike_count, sizeof *unlike, compare_unlike);
    lanes[0] = (struct gw_lane){.worker = 0, .workers = workers - unlike_count};
    *count = 1;
    for (size_t i = 0; i < unlike_count; i++) {
        if (i == 0 || unlike[i].slowdown != unlike[i - 1].slowdown) {
            lanes[(*count)++] = (struct gw_lane){.worker = unlike[i].worker};
        }
        lanes[*count - 1].workers++;
    }
    qsort(lanes, *count, sizeof *lanes, compare_lanes);
}

static enum gw_status group_by_slowdown(const struct gw_simulation *simulation,
                                        struct gw_arena *arena, struct gw_lane **lanes,
                                        size_t *count, struct gw_error *error) {
    const double *slowdown = simulation->slowdown;
    size_t unlike_count = 0;
    for (size_t worker = 1; slowdown != NULL && worker < simulation->workers; worker++) {
        unlike_count += slowdown[worker] != slowdown[0];
    }
    struct unlike *unlike = calloc(unlike_count + 1, sizeof *unlike);
    *lanes = gw_arena_zeros(arena, unlike_count + 1, sizeof **lanes);
    if (unlike == NULL || *lanes == NULL) {
        free(unlike);
        return gw_fail_memory(error, "opening a simulation");
    }
    size_t found = 0;
    for (size_t worker = 1; found < unlike_count; worker++) {
        if (slowdown[worker] != slowdown[0]) {
            unlike[found++] = (struct unlike){.slowdown = slowdown[worker], .worker = worker};
        }
    }
    group_unlike(unlike, unlike_count, simulation->workers, *lanes, count);
    free(unlike);
    return GW_OK;
}

enum gw_status gw_simulation_check_lanes(size_t workers, struct gw_error *error) {
    return workers <= GW_MAX_LANES
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "workers: expected at most %d where they are not alike, got %zu",
                         GW_MAX_LANES, workers);
}

/*
 * Makes lanes for workers that take turns, machine by machine: the first machine, which may have
 * the leader; the second, which stands for all other full ones; and the last if it is not full.
 */
static enum gw_status group_by_machine(const struct gw_simulation *simulation, size_t ranks,
                                       struct gw_arena *arena, struct gw_lane **lanes,
                                       size_t *count, struct gw_error *error) {
    size_t full = simulation->workers / ranks;
    size_t alike = full > 2 ? full - 1 : 1;
    *count = simulation->workers - (alike - 1) * ranks;
    *lanes = gw_arena_zeros(arena, *count, sizeof **lanes);
    if (*lanes == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    for (size_t i = 0; i < *count; i++) {
        bool second = i / ranks == 1;
        size_t left_out = i < 2 * ranks ? 0 : (alike - 1) * ranks;
        (*lanes)[i] = (struct gw_lane){.worker = i + left_out, .workers = second ? alike : 1};
    }
    return GW_OK;
}

/* Makes lanes for the workers: one for each slowdown, or for each worker if every_worker is set or
 * compute times have noise. O(P + K log K) for K workers that differ from the first. */
static enum gw_status group_workers(const struct gw_simulation *simulation, struct gw_arena *arena,
                                    struct gw_lane **lanes, size_t *count, struct gw_error *error) {
    if (!simulation->every_worker && simulation->compute_noise.kind == GW_NOISE_NONE) {
        return group_by_slowdown(simulation, arena, lanes, count, error);
    }
    GW_TRY(gw_simulation_check_lanes(simulation->workers, error));
    *count = simulation->workers;
    *lanes = gw_arena_zeros(arena, *count, sizeof **lanes);
    if (*lanes == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    for (size_t worker = 0; worker < *count; worker++) {
        (*lanes)[worker] = (struct gw_lane){.worker = worker, .workers = 1};
    }
    return GW_OK;
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* last_use[operation] is the last one of another stream that waits for it, or 0: none does. */
static enum gw_status find_last_uses(const struct gw_schedule *schedule, size_t *last_use,
                                     struct gw_error *error) {
    for (size_t i = 0; i < schedule->operation_count; i++) {
        const struct gw_operation *operation = &schedule->operations[i];
        for (size_t d = 0; d < operation->dependency_count; d++) {
            size_t before = schedule->dependencies[operation->first_dependency + d];
            if (before >= i) {
                return gw_fail(error, GW_FAILED,
                               "simulation: operation %zu: expected it to depend on operations "
                               "before it, got %zu: the schedule waits for itself",
                               i, before);
            }
            if (schedule->operations[before].stream != operation->stream) {
                last_use[before] = i;
            }
        }
    }
    return GW_OK;
}

/* Stack of slots whose ends no operation waits for any more. */
struct free_slots {
    size_t count;
    size_t *slots;
};

/* Frees the slots that operation i is the last to use, each once, even if it is named twice. */
static void free_used_up(const struct gw_schedule *schedule, size_t i, size_t *last_use,
                         const size_t *slots, struct free_slots *stack) {
    const struct gw_operation *operation = &schedule->operations[i];
    for (size_t d = 0; d < operation->dependency_count; d++) {
        size_t before = schedule->dependencies[operation->first_dependency + d];
        if (last_use[before] == i) {
            stack->slots[stack->count++] = slots[before];
            last_use[before] = 0;
        }
    }
}

/*
 * Assigns slots for the ends of operations that another stream waits for; on its own stream the
 * clock says when the last one ended. An end is kept from the operation to the last one that waits
 * for it, so there are as many slots as ends are kept at a time. Fails if an operation depends on
 * one that does not stand before it.
 */
static enum gw_status assign_slots(struct gw_simulator *simulator, struct gw_error *error) {
    const struct gw_schedule *schedule = simulator->schedule;
    size_t count = schedule->operation_count;
    size_t *last_use = gw_arena_zeros(&simulator->arena, count + 1, sizeof *last_use);
    struct free_slots stack = {
        .slots = gw_arena_zeros(&simulator->arena, count + 1, sizeof *stack.slots)};
    GW_TRY(gw_arena_check(&simulator->arena, "opening a simulation", error));
    GW_TRY(find_last_uses(schedule, last_use, error));
    for (size_t i = 0; i < count; i++) {
        bool awaited = last_use[i] > 0;
        free_used_up(schedule, i, last_use, simulator->slots, &stack);
        simulator->slots[i] = !awaited          ? GW_NO_SLOT
                              : stack.count > 0 ? stack.slots[--stack.count]
                                                : simulator->slot_count++;
    }
    return GW_OK;
}

/* ---- opening ------------------------------------------------------------------------------- */

static void note_result(struct gw_result *result, const char *text) {
    if (result != NULL) {
        gw_result_warn(result, text);
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
        const struct gw_schedule *schedule = simulator->schedule;
        size_t first = 0;
        while (first < schedule->operation_count &&
               schedule->operations[first].kind != GW_EXCHANGE) {
            first++;
        }
        const char *collective =
            first < schedule->operation_count ? schedule->operations[first].method : NULL;
        GW_TRY(gw_cluster_derive_network(cluster, collective, network, derivation, error));
        note_result(result, derivation);
    } else {
        *network = *cluster->network;
    }
    if (network->between_assumed && gw_cluster_nodes(cluster, simulation->workers) > 1) {
        note_result(result, "network between nodes not measured: taken to be as within a node");
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

/* Makes lanes; with messages one for all workers if that changes no times, else one for each. */
static enum gw_status open_lanes(struct gw_simulator *simulator, struct gw_error *error) {
    struct gw_simulation seen = simulator->simulation;
    if (seen.level == GW_LEVEL_MESSAGES) {
        bool collapse = false;
        GW_TRY(gw_messages_collapse(simulator, &collapse, error));
        seen.every_worker = !collapse;
    }
    if (simulator->interference.shares) {
        seen.every_worker = seen.every_worker || seen.slowdown != NULL;
        if (!seen.every_worker && seen.compute_noise.kind == GW_NOISE_NONE) {
            return group_by_machine(&seen, simulator->cluster->sharing.ranks, &simulator->arena,
                                    &simulator->lanes, &simulator->lane_count, error);
        }
    }
    return group_workers(&seen, &simulator->arena, &simulator->lanes, &simulator->lane_count,
                         error);
}

double gw_simulator_turns_left_out(const struct gw_simulator *simulator) {
    const struct gw_simulation *simulation = &simulator->simulation;
    const struct gw_sharing *sharing = &simulator->cluster->sharing;
    size_t workers = simulation->workers;
    bool counted = simulator->interference.shares || simulation->timed_compression;
    return counted || !gw_schedule_compresses(simulator->schedule)
               ? 1
               : gw_sharing_turns(sharing, workers < sharing->ranks ? workers : sharing->ranks);
}

bool gw_simulator_counts_overlap(const struct gw_simulator *simulator) {
    return simulator->interference.complete;
}

/* Opens interference, or notes that turns are left out; refuses it with messages. */
static enum gw_status open_interference(struct gw_simulator *simulator, struct gw_result *result,
                                        struct gw_error *error) {
    const struct gw_simulation *simulation = &simulator->simulation;
    const struct gw_sharing *sharing = &simulator->cluster->sharing;
    if (gw_simulator_turns_left_out(simulator) > 1) {
        size_t workers = simulation->workers;
        char text[GW_RESULT_NOTE_SIZE];
        (void)snprintf(text, sizeof text,
                       "%zu workers of a machine share %zu processors: compression takes longer "
                       "than one worker's cost, which is not counted here",
                       workers < sharing->ranks ? workers : sharing->ranks, sharing->processors);
        note_result(result, text);
    }
    if (!simulation->interference) {
        return GW_OK;
    }
    if (simulation->level == GW_LEVEL_MESSAGES) {
        return gw_fail(error, GW_BAD_INPUT,
                       "interference: expected exchanges by curves, got messages: overlap factors "
                       "are of whole collectives");
    }
    return gw_interference_open(simulator, result, error);
}

static enum gw_status prepare_iterations(struct gw_simulator *simulator, struct gw_result *result,
                                         struct gw_error *error) {
    size_t count = simulator->schedule->operation_count + 1;
    simulator->seconds = gw_arena_zeros(&simulator->arena, count, sizeof *simulator->seconds);
    simulator->slots = gw_arena_zeros(&simulator->arena, count, sizeof *simulator->slots);
    simulator->legs = gw_arena_zeros(&simulator->arena, count, sizeof *simulator->legs);
    simulator->kernels = gw_arena_zeros(&simulator->arena, count, sizeof *simulator->kernels);
    simulator->congested = gw_arena_zeros(&simulator->arena, simulator->costs_count * GW_MAX_LEGS,
                                          sizeof *simulator->congested);
    GW_TRY(gw_arena_check(&simulator->arena, "opening a simulation", error));
    gw_interference_find_sharing(simulator);
    GW_TRY(gw_operation_sources(simulator, error));
    GW_TRY(find_network(simulator, result, error));
    GW_TRY(open_lanes(simulator, error));
    GW_TRY(assign_slots(simulator, error));
    GW_TRY(open_interference(simulator, result, error));
    return gw_operation_costs(simulator, result, error);
}

enum gw_status gw_simulator_open(struct gw_simulator **out, const struct gw_schedule *schedule,
                                 const struct gw_costs *costs,
                                 const struct gw_simulation *simulation, struct gw_result *result,
                                 struct gw_error *error) {
    struct gw_simulator *simulator = calloc(1, sizeof *simulator);
    if (simulator == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    simulator->schedule = schedule;
    simulator->costs_count = schedule->way_count == 0 ? 1 : schedule->way_count;
    simulator->costs = costs;
    simulator->cluster = costs->cluster;
    simulator->simulation = *simulation;
    enum gw_status status = prepare_iterations(simulator, result, error);
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
    for (size_t i = 0; simulator->congested != NULL && i < simulator->costs_count * GW_MAX_LEGS;
         i++) {
        gw_curve_free(&simulator->congested[i]);
    }
    gw_arena_free(&simulator->arena);
    free(simulator);
}

enum gw_status gw_simulator_timeline(const struct gw_simulator *simulator, struct gw_timeline *out,
                                     struct gw_error *error) {
    GW_TRY(gw_timeline_create(out, simulator->lane_count, error));
    memcpy(out->lanes, simulator->lanes, simulator->lane_count * sizeof *out->lanes);
    return GW_OK;
}

/* ---- iterations that differ in how many elements were selected ------------------------------- */

/* Copies of the structs that an iteration changes; their other members are the original's. */
struct selecting_run {
    struct gw_simulator simulator;
    struct gw_schedule schedule;
};

static void *copy_of(struct gw_arena *arena, const void *list, size_t count, size_t size) {
    void *copy = gw_arena_zeros(arena, count + 1, size);
    return copy == NULL || count == 0 ? copy : memcpy(copy, list, count * size);
}

/* `of` lives longer. */
static enum gw_status open_selecting(struct selecting_run *out, const struct gw_simulator *of,
                                     struct gw_arena *arena, struct gw_error *error) {
    struct gw_schedule *schedule = &out->schedule;
    struct gw_simulator *simulator = &out->simulator;
    struct gw_slowing **slowing = &simulator->interference.slowing;
    double **crowding = &simulator->interference.crowding;
    size_t operations = of->schedule->operation_count;
    size_t factors = operations * of->interference.class_count;
    *schedule = *of->schedule;
    *simulator = *of;
    simulator->schedule = schedule;
    schedule->operations =
        copy_of(arena, schedule->operations, operations, sizeof *schedule->operations);
    schedule->groups =
        copy_of(arena, schedule->groups, schedule->group_count, sizeof *schedule->groups);
    simulator->seconds = copy_of(arena, of->seconds, operations, sizeof *simulator->seconds);
    *slowing = copy_of(arena, *slowing, factors, sizeof **slowing);
    if (*crowding != NULL) {
        *crowding = copy_of(arena, *crowding, operations, sizeof **crowding);
    }
    return gw_arena_check(arena, "simulating", error);
}

/* Gives exchanges the bytes and times of an iteration: O(operations). */
static void select_elements(struct selecting_run *selecting, uint64_t iteration) {
    const struct gw_simulation *simulation = &selecting->simulator.simulation;
    size_t first = (size_t)(iteration % simulation->selected_count);
    gw_schedule_select(&selecting->schedule,
                       simulation->selected + first * selecting->schedule.group_count);
    gw_operation_costs_again(&selecting->simulator);
    if (simulation->interference) {
        gw_interference_again(&selecting->simulator);
    }
}

/* ---- repetitions --------------------------------------------------------------------------- */

/* State of a thread that computes a share of the iterations. */
struct member {
    struct gw_arena arena;
    struct selecting_run *selecting; /* NULL: iterations do not differ in what is selected */
    void *state;                     /* of its runner */
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
            select_elements(member->selecting, i);
        }
        member->status = team->runner->iterate(member->state, i, team->threads, team->timeline,
                                               start_s, measure, &member->error);
        start_s += measure->iteration_s;
    }
}

/* Chooses whether threads share the lanes, if there are many, or the iterations, with a state for
 * each thread. */
static void choose_members(const struct gw_simulator *simulator, struct team *team) {
    const struct gw_simulation *simulation = &simulator->simulation;
    bool messages = simulation->level == GW_LEVEL_MESSAGES;
    size_t cores = gw_cores();
    size_t threads = simulation->threads < cores ? simulation->threads : cores;
    threads = threads < 1 ? 1 : threads;
    size_t most = team->iterations < threads ? team->iterations : threads;
    bool many =
        !messages && !simulation->interference && gw_clocks_blocks(simulator) >= 2 * threads;
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
        member->selecting = gw_arena_zeros(&member->arena, 1, sizeof *member->selecting);
        if (member->selecting == NULL) {
            return gw_fail_memory(error, "simulating");
        }
        GW_TRY(open_selecting(member->selecting, simulator, &member->arena, error));
        simulator = &member->selecting->simulator;
    }
    return runner->open(&member->state, simulator, &member->arena, error);
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
        gw_arena_free(&team.members[m].arena);
    }
    free(team.members);
    return status;
}
