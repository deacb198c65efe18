/* What a run says of a schedule that it cannot run to its end; private to this room. */
#ifndef GW_GOAL_FAILURES_H
#define GW_GOAL_FAILURES_H

#include "goal/goal.h"

/* ---- times that a run can keep --------------------------------------------------------------- */

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

/* ---- operations that wait for ever ----------------------------------------------------------- */

/* An operation's state, in bits. */
enum {
    FREE = 1,    /* in the queue, or beyond; its `waits` is now its rank */
    STARTED = 2, /* a send: its events in the queue are now its message's */
    ENDED = 4,
    ARRIVED = 8,   /* a send: its message */
    QUEUED_UP = 16 /* it is, or was, the next in order for a resource */
};

/* Fails if an operation has not ended, or a message has not been received. */
enum gw_status gw_goal_check_ended(const struct gw_goal *goal, const char *path,
                                   struct gw_error *error);

#endif
