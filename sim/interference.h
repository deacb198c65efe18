/*
 * Compression and exchanges that run at once slow each other; private to this room.
 *
 * While a compute operation and the exchange of its worker's communication stream both run, the
 * one proceeds at 1 / compute and the other at 1 / communication of its usual pace, by the
 * cluster's overlap factors. An exchange goes at the pace of its slowest worker.
 */
#ifndef GW_SIM_INTERFERENCE_H
#define GW_SIM_INTERFERENCE_H

#include "sim/simulator.h"

/*
 * Fails if the cluster has no factors for what the schedule does at once, or if the schedule has
 * anything but exchanges and a server's updates on the communication stream, or those elsewhere.
 * What was taken from elsewhere is noted in `result` (may be NULL).
 */
enum gw_status gw_interference_open(struct gw_interference *out, const struct gw_schedule *schedule,
                                    const struct gw_cluster *cluster, size_t workers,
                                    struct gw_result *result, struct gw_error *error);
void gw_interference_close(struct gw_interference *interference);

/* Exchanges of other bytes than before: fills their factors again. */
void gw_interference_again(struct gw_interference *interference,
                           const struct gw_schedule *schedule);

/* Runs repetitions by the ends of operations, whose pace changes as others begin and end. */
extern const struct gw_runner gw_runner_interference;

#endif
