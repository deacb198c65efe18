/* Networks, factors and exported schedules that tests of the simulator share. */
#ifndef GW_TESTS_SIM_SCENES_H
#define GW_TESTS_SIM_SCENES_H

#include "goal/goal.h"
#include "tests/sim/schedules.h"
#include "tests/sim/simulate.h"

/* ---- factors ------------------------------------------------------------------------------- */

static inline struct gw_overlap *new_overlap(size_t workers) {
    struct gw_overlap *overlap = calloc(1, sizeof *overlap);
    assert_non_null(overlap);
    overlap->workers = workers;
    return overlap;
}

/* Adds factors of one size, which are then those of all sizes. */
static inline void add_factors(struct gw_overlap *overlap, const char *collective,
                               const char *compute, double of_compute, double of_communication) {
    const struct gw_overlap_point point = {
        .bytes = 1,
        .compute = {of_compute, of_compute, of_compute},
        .communication = {of_communication, of_communication, of_communication}};
    assert_ok(gw_overlap_add(overlap, collective, compute, point, NULL));
}

/* Factors of 1: interference that slows nothing. */
static inline void set_no_slowing(struct gw_cluster *cluster, size_t workers) {
    struct gw_overlap *overlap = new_overlap(workers);
    add_factors(overlap, "allgather", "topk", 1, 1);
    gw_cluster_set_overlap(cluster, overlap);
}

/* ---- messages ------------------------------------------------------------------------------ */

/* One switch, whose messages take so long and each byte besides, and cost nobody time of his own.
 */
static inline struct gw_network flat_network(double latency_s, double byte_s) {
    const struct gw_loggp loggp = {.latency_s = latency_s, .gap_s_per_byte = byte_s};
    return (struct gw_network){.within = loggp, .between = loggp, .oversubscription = 1};
}

/* A schedule that is still empty, among workers on such a network, by one collective algorithm. */
struct message_scene {
    struct gw_network network;
    struct gw_cluster cluster;
    struct gw_schedule schedule;
    struct gw_simulation simulation;
    struct gw_collective_choice choice;
};

static inline void make_message_scene(struct message_scene *scene, const char *operation,
                                      const char *name, size_t workers, double latency_s,
                                      double byte_s) {
    *scene = (struct message_scene){.choice = {.operation = operation, .name = name},
                                    .network = flat_network(latency_s, byte_s)};
    scene->cluster = (struct gw_cluster){
        .name = "scene", .workers = workers, .workers_per_node = 1, .network = &scene->network};
    scene->simulation = (struct gw_simulation){.workers = workers,
                                               .level = GW_LEVEL_MESSAGES,
                                               .choice_count = 1,
                                               .choices = &scene->choice};
}

static inline double message_scene_s(const struct message_scene *scene) {
    struct gw_measure measure;
    run_simulation(&scene->schedule, &scene->cluster, &scene->simulation, 1, NULL, &measure);
    return measure.iteration_s;
}

/* ---- schedules as GOAL --------------------------------------------------------------------- */

/* Exports a schedule and reads it back; `notes` may have what was noted. */
static inline struct gw_goal exported_goal(const struct gw_schedule *schedule,
                                           const struct gw_cluster *cluster,
                                           const struct gw_simulation *simulation, const char *path,
                                           struct gw_result *notes) {
    char loggp[GW_EXPORT_LOGGP_SIZE];
    struct simulation_run run;
    struct gw_error error = {0};
    struct gw_goal goal = {0};
    open_simulator(&run, schedule, cluster, simulation);
    if (gw_simulator_export_goal(run.simulator, path, loggp, notes, &error) != GW_OK ||
        gw_goal_read(path, &goal, &error) != GW_OK) {
        fail_msg("%s", error.message);
    }
    close_run(&run);
    return goal;
}

/* When the last rank finishes, with LogGOPS parameters in nanoseconds; uses the schedule up. */
static inline double goal_finish_ns(struct gw_goal *goal, uint64_t latency, uint64_t per_byte) {
    const struct gw_loggops parameters = {.L = latency, .G = per_byte, .S = UINT64_MAX};
    struct gw_goal_result result;
    struct gw_error error = {0};
    uint64_t last = 0;
    if (gw_goal_run(goal, &parameters, NULL, &result, &error) != GW_OK) {
        fail_msg("%s", error.message);
    }
    for (uint32_t rank = 0; rank < goal->rank_count; rank++) {
        last = result.finish_ns[rank] > last ? result.finish_ns[rank] : last;
    }
    free(result.finish_ns);
    gw_goal_free(goal);
    return (double)last;
}

#endif
