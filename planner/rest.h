/* What is ahead at least: bounds on sums of costs over groups; private to this room. */
#ifndef GW_PLANNER_REST_H
#define GW_PLANNER_REST_H

#include "planner/planner.h"

/*
 * For each position p = 0..tensors (tensors that are ready), times that no way of grouping the
 * tensors after it falls below: of their compression together, and of their exchange. `elements`
 * [tensors + 1] are those before each position.
 */
void gw_rest_compress_s(const struct gw_planning *planning, const uint64_t *elements,
                        double *least_s);
void gw_rest_exchange_s(const struct gw_planning *planning, const uint64_t *elements,
                        double *least_s);

#endif
