/* The optimal plan where one number per position is enough; private to this room. */
#ifndef GW_PLANNER_OPTIMAL_DENSE_H
#define GW_PLANNER_OPTIMAL_DENSE_H

#include "planner/planner.h"

/* Whether nothing is compressed and an exchange takes alpha + beta * bytes. */
bool gw_optimal_is_dense(const struct gw_planning *planning);

/*
 * Marks the optimal plan for such an exchange, as policies mark theirs; *least_s, in seconds and
 * without the update, is what no plan falls below. O(tensors).
 */
enum gw_status gw_optimal_dense(const struct gw_planning *planning, bool *ends, double *least_s,
                                struct gw_error *error);

#endif
