#include "sim/simulator.h"

#include <stdlib.h>
#include <string.h>

#include "sim/run.h"

/* ---- opening ------------------------------------------------------------------------------- */

static enum gw_status prepare(struct gw_simulator *simulator, const struct gw_cluster *cluster,
                              struct gw_result *result, struct gw_error *error) {
    const struct gw_schedule *schedule = simulator->schedule;
    simulator->seconds = calloc(schedule->operation_count + 1, sizeof *simulator->seconds);
    simulator->slots = calloc(schedule->operation_count + 1, sizeof *simulator->slots);
    if (simulator->seconds == NULL || simulator->slots == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    GW_TRY(gw_lanes_open(&simulator->simulation, &simulator->lanes, &simulator->lane_count, error));
    GW_TRY(gw_slots_assign(schedule, simulator->slots, &simulator->slot_count, error));
    return gw_operation_costs(schedule, cluster, &simulator->simulation, simulator->seconds, result,
                              error);
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
    simulator->simulation = *simulation;
    enum gw_status status = prepare(simulator, cluster, result, error);
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
    free(simulator);
}

enum gw_status gw_simulator_timeline(const struct gw_simulator *simulator, struct gw_timeline *out,
                                     struct gw_error *error) {
    GW_TRY(gw_timeline_create(out, simulator->lane_count, error));
    memcpy(out->lanes, simulator->lanes, simulator->lane_count * sizeof *out->lanes);
    return GW_OK;
}

/* ---- repetitions --------------------------------------------------------------------------- */

/* Runners that share the iterations: number r takes r, r + runner_count, and so on. */
struct team {
    size_t runner_count, iterations;
    size_t threads; /* that a runner may use itself */
    struct gw_run **runners;
    struct gw_timeline *timeline;
    struct gw_measure *measures;
    enum gw_status status; /* of recording; only a runner that is alone can fail */
    struct gw_error *error;
};

static void run_share(size_t number, void *context) {
    struct team *team = context;
    double start_s = 0;
    for (size_t i = number; i < team->iterations && team->status == GW_OK;
         i += team->runner_count) {
        struct gw_measure *measure = &team->measures[i];
        enum gw_status status = gw_run_iterate(team->runners[number], i, team->threads,
                                               team->timeline, start_s, measure, team->error);
        if (status != GW_OK) {
            team->status = status;
        }
        start_s += measure->iteration_s;
    }
}

/* Many lanes are shared among threads; few are repeated by each, where there are repetitions. */
static void choose_runners(const struct gw_simulator *simulator, struct team *team) {
    size_t threads = simulator->simulation.threads > 0 ? simulator->simulation.threads : 1;
    size_t most = team->iterations < threads ? team->iterations : threads;
    bool alone = team->timeline != NULL || most < 2 || gw_run_blocks(simulator) / threads >= 4;
    team->runner_count = alone ? 1 : most;
    team->threads = alone ? threads : 1;
}

enum gw_status gw_simulator_run(const struct gw_simulator *simulator, size_t iterations,
                                struct gw_timeline *timeline, struct gw_measure *measures,
                                struct gw_error *error) {
    struct team team = {
        .iterations = iterations, .timeline = timeline, .measures = measures, .error = error};
    choose_runners(simulator, &team);
    team.runners = calloc(team.runner_count, sizeof(struct gw_run *));
    enum gw_status status = team.runners == NULL ? gw_fail_memory(error, "simulating") : GW_OK;
    for (size_t r = 0; r < team.runner_count && status == GW_OK; r++) {
        status = gw_run_open(&team.runners[r], simulator, error);
    }
    if (status == GW_OK) {
        gw_parallel(team.runner_count, team.runner_count, run_share, &team);
        status = team.status;
    }
    for (size_t r = 0; r < team.runner_count && team.runners != NULL; r++) {
        gw_run_close(team.runners[r]);
    }
    free(team.runners);
    return status;
}
