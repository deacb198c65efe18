/* Repetitions whose exchanges are messages on links; private to this room. */
#ifndef GW_SIM_MESSAGES_H
#define GW_SIM_MESSAGES_H

#include "sim/simulator.h"

/* The simulator has lanes for one of all workers, or for each (gw_messages_collapse). */
extern const struct gw_runner gw_runner_messages;

/*
 * Whether one worker stands for all: workers are equal, each exchange has them take the same steps,
 * and nobody shares a link. The answer is then that of simulating each of them, to the bit.
 */
enum gw_status gw_messages_collapse(const struct gw_simulator *simulator, bool *out,
                                    struct gw_error *error);

/* Steps that ranks have begun, and messages that have come, in all repetitions of this state. */
uint64_t gw_messages_events(const void *state);

#endif
