/* Receives that wait for their message, and messages that came before their receive. */
#ifndef GW_GOAL_MATCHING_H
#define GW_GOAL_MATCHING_H

#include "goal/goal.h"

static const uint32_t GW_UNMATCHED = UINT32_MAX;

struct gw_matching;

/* With room for as many receives as can be posted at once at the start. */
enum gw_status gw_matching_open(struct gw_matching **out, const struct gw_goal *goal,
                                struct gw_error *error);
void gw_matching_close(struct gw_matching *matching);

/*
 * The receive for a message that arrives, or the message for a receive that is posted, which
 * thereby leave; or GW_UNMATCHED: then the operation stays here until it is found. A message goes
 * by the index of its send. Operations must have started: their `waits` is their rank; that of one
 * that stays here is in use until it is found, as is its size.
 */
enum gw_status gw_match(struct gw_matching *matching, uint32_t operation, uint32_t *found,
                        struct gw_error *error);

/* Asks early for the memory that matching this operation will read. */
void gw_match_soon(const struct gw_matching *matching, uint32_t operation);

/* The operation that it will probably be matched with, once that memory has come; or GW_UNMATCHED.
 */
uint32_t gw_match_guess(const struct gw_matching *matching, uint32_t operation);

#endif
