/* What the planner and its search for the optimum share with policies; private to this room. */
#ifndef GW_PLANNER_POLICIES_H
#define GW_PLANNER_POLICIES_H

#include "planner/planner.h"

/*
 * Walks the tensors in ready order and closes a group as soon as it holds at least the limit:
 * `first` for the first group, `others` for those after it. `unit` is what one element counts.
 */
void gw_close_at(const struct gw_model *model, uint64_t unit, uint64_t first, uint64_t others,
                 bool *ends);

/* The groups that end with the marked tensors, the last of which must be tensor 0; the caller frees
 * them. NULL if memory ran out. */
struct gw_group *gw_groups_ended(const bool *ends, size_t tensor_count, size_t *group_count);

#endif
