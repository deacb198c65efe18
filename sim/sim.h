/* The simulator: runs a schedule for P workers in virtual time and yields a timeline. */
#ifndef GW_SIM_SIM_H
#define GW_SIM_SIM_H

#include "algorithms/schedule.h"
#include "core/core.h"
#include "traces/traces.h"

struct gw_simulation {
    size_t workers;
    const double *slowdown; /* per worker: factor on compute times (2: half as fast); NULL: all 1 */
    double compute_noise;   /* standard deviation of the logarithm of each compute time; 0: none */
    uint64_t seed;
    bool every_worker; /* a lane for every worker, even if several behave alike */
};

struct gw_simulator;

/*
 * Looks up what the schedule's operations cost on the cluster. Workers that behave alike share a
 * lane. Notes about derived curves go to `result` (may be NULL).
 */
enum gw_status gw_simulator_open(struct gw_simulator **out, const struct gw_schedule *schedule,
                                 const struct gw_cluster *cluster,
                                 const struct gw_simulation *simulation, struct gw_result *result,
                                 struct gw_error *error);

/* A timeline with the simulator's lanes. */
enum gw_status gw_simulator_timeline(const struct gw_simulator *simulator, struct gw_timeline *out,
                                     struct gw_error *error);

/* Runs one iteration, beginning at `start_s`, and appends it to the timeline. */
enum gw_status gw_simulator_iterate(struct gw_simulator *simulator, double start_s,
                                    struct gw_timeline *timeline, struct gw_error *error);

void gw_simulator_close(struct gw_simulator *simulator);

#endif
