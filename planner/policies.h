/* The policies, one file each, and what they share; private to this room. */
#ifndef GW_PLANNER_POLICIES_H
#define GW_PLANNER_POLICIES_H

#include "planner/planner.h"

extern const struct gw_policy gw_policy_per_tensor;
extern const struct gw_policy gw_policy_single;
extern const struct gw_policy gw_policy_threshold;
extern const struct gw_policy gw_policy_bucket;
extern const struct gw_policy gw_policy_ddp;
extern const struct gw_policy gw_policy_mg_wfbp;
extern const struct gw_policy gw_policy_omgs;

/*
 * Walks the tensors in ready order and closes a group as soon as it holds at least the limit:
 * `first` for the first group, `others` for those after it. `unit` is what one element counts.
 */
void gw_close_at(const struct gw_model *model, uint64_t unit, uint64_t first, uint64_t others,
                 bool *ends);

#endif
