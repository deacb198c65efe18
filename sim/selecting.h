/*
 * A simulator of its own for each thread where iterations differ in how many elements were
 * selected, and so in the bytes of exchanges; private to this room.
 */
#ifndef GW_SIM_SELECTING_H
#define GW_SIM_SELECTING_H

#include "sim/simulator.h"

struct gw_selecting;

/* `of` lives longer. */
enum gw_status gw_selecting_open(struct gw_selecting **out, const struct gw_simulator *of,
                                 struct gw_error *error);
const struct gw_simulator *gw_selecting_simulator(const struct gw_selecting *selecting);

/* Gives exchanges the bytes and times of an iteration: O(operations). */
void gw_selecting_take(struct gw_selecting *selecting, uint64_t iteration);

void gw_selecting_close(struct gw_selecting *selecting);

#endif
