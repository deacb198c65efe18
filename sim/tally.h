/* What lanes spend an iteration on, in seconds; private to this room. */
#ifndef GW_SIM_TALLY_H
#define GW_SIM_TALLY_H

#include "sim/simulator.h"

enum { GW_TALLIED = GW_WAIT }; /* forward, backward and compress, which stand before it */

/* Per lane, but for exchanges_s, which all spend. */
struct gw_tally {
    double *clock[GW_STREAM_COUNT]; /* when the stream's last operation ended */
    double *busy[GW_TALLIED];       /* time spent in such operations */
    double *idle;                   /* that the compute stream waited between operations */
    double exchanges_s;
};

/* All 0. */
enum gw_status gw_tally_open(struct gw_tally *out, size_t lane_count, struct gw_arena *arena,
                             struct gw_error *error);
void gw_tally_reset(struct gw_tally *tally, size_t lane_count);

/* Once all lanes are done: adds to what they idled what their exchanges have left at the end. */
void gw_tally_measure(struct gw_tally *tally, const struct gw_simulator *simulator,
                      struct gw_measure *out);

/* Sets other_s to what the other parts leave of the iteration, but for the rounding of sums. */
void gw_measure_other(struct gw_measure *measure);

/* The operation on a lane's stream as a timeline shows it. */
struct gw_span gw_span_of(const struct gw_operation *operation, size_t lane,
                          enum gw_activity activity, double start_s, double end_s);

static inline double gw_later(double a, double b) {
    return a > b ? a : b;
}

/* 0 s stay 0 s also where the factor is infinite. */
static inline double gw_stretched(double seconds, double factor) {
    return factor > 0 ? seconds * factor : 0;
}

#endif
