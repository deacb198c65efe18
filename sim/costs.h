/* What each operation of a schedule costs on a cluster; private to this room. */
#ifndef GW_SIM_COSTS_H
#define GW_SIM_COSTS_H

#include "algorithms/schedule.h"

/* Fills seconds[operation] for `workers` workers; notes derived curves in `result`, if not NULL. */
enum gw_status gw_operation_costs(const struct gw_schedule *schedule,
                                  const struct gw_cluster *cluster, size_t workers, double *seconds,
                                  struct gw_result *result, struct gw_error *error);

#endif
