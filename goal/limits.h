/* Times that a run can keep. */
#ifndef GW_GOAL_LIMITS_H
#define GW_GOAL_LIMITS_H

#include "goal/goal.h"

/*
 * What an operation or a message costs is a sum of two times; added to a time at which something
 * happens it is less than 2^64. So as long as none of these times is longer than this - and every
 * event's is looked at - no sum wraps.
 */
static const uint64_t GW_GOAL_LONGEST_NS = UINT64_C(1) << 62;

/* Fails if a parameter, a calculation, or what the parameters charge for bytes takes longer. */
enum gw_status gw_goal_check_times(const struct gw_goal *goal, const struct gw_loggops *parameters,
                                   const char *path, struct gw_error *error);

/* Say that an operation, or a message of it, comes later, or that a rank ends later. */
enum gw_status gw_goal_fail_late(const char *path, uint32_t operation, struct gw_error *error);
enum gw_status gw_goal_fail_late_rank(const char *path, uint32_t rank, struct gw_error *error);

#endif
