/* One iteration at work; private to this room. */
#ifndef GW_SIM_RUN_H
#define GW_SIM_RUN_H

#include "sim/simulator.h"

/* The state of an iteration, used again for the next one. */
struct gw_run;

enum gw_status gw_run_open(struct gw_run **out, const struct gw_simulator *simulator,
                           struct gw_error *error);
void gw_run_close(struct gw_run *run);

/* Lanes are worked on in blocks: as many threads as blocks can be of use. */
size_t gw_run_blocks(const struct gw_simulator *simulator);

/*
 * Runs repetition number `repetition` and measures it. Its clock starts at 0, so that rounding does
 * not grow with iterations; spans in `timeline` (or NULL; then one thread) are moved by `start_s`.
 */
enum gw_status gw_run_iterate(struct gw_run *run, uint64_t repetition, size_t threads,
                              struct gw_timeline *timeline, double start_s, struct gw_measure *out,
                              struct gw_error *error);

#endif
