/* What an operation has been through in a run, and what waits for ever when the run is over. */
#ifndef GW_GOAL_WAITING_H
#define GW_GOAL_WAITING_H

#include "goal/goal.h"

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
