/* simulate --goal: a GOAL schedule instead of a model. */
#ifndef GW_CLI_SIMULATE_GOAL_H
#define GW_CLI_SIMULATE_GOAL_H

#include "core/core.h"

/* Reads and runs the schedule, and prints when its ranks finish. `loggp` as its option; or NULL. */
enum gw_status gw_simulate_goal(const char *path, const char *loggp, bool json,
                                struct gw_error *error);

#endif
