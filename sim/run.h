/* Repetitions by clocks; private to this room. */
#ifndef GW_SIM_RUN_H
#define GW_SIM_RUN_H

#include "sim/simulator.h"

/* Each repetition's clock starts at 0, so that rounding does not grow with iterations. */
extern const struct gw_runner gw_runner_clocks;

/* Lanes are worked on in blocks: as many threads as blocks can be of use. */
size_t gw_run_blocks(const struct gw_simulator *simulator);

#endif
