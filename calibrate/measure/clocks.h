/* One time for all ranks: that of rank 0's clock; private to this room. */
#ifndef GW_CALIBRATE_CLOCKS_H
#define GW_CALIBRATE_CLOCKS_H

#include "core/clock.h"
#include "transport/transport.h"

/*
 * One time for all ranks: that of rank 0's clock.
 *
 * Ranks whose hosts share a boot share their monotonic clock. Other ranks ask rank 0 for its time
 * and take the middle of the shortest of many round trips (Cristian, "Probabilistic clock
 * synchronization", 1989): the error is at most half of the difference of the two ways. Clocks also
 * run at different rates, of some 10^-6: 10 us apart after 10 s. A line through answers between
 * measurements accounts for that (Hunold and Carpen-Amarie, "Reproducible MPI benchmarking is still
 * not as easy as you think", IEEE TPDS 2016).
 */
enum { GW_CLOCK_ANSWERS = 16 };

struct gw_clocks {
    const struct gw_clock *own;         /* this rank's */
    bool shared;                        /* every rank reads the same clock */
    size_t asked;                       /* number of answers; the last GW_CLOCK_ANSWERS are kept, in
                                         * a ring */
    double at_s[GW_CLOCK_ANSWERS];      /* this rank's clock at the query ... */
    double ahead_s[GW_CLOCK_ANSWERS];   /* ... and by how much rank 0's was ahead of it */
    double reference_s, offset_s, rate; /* the line: offset_s + rate * (own time - reference_s) */
};

/* Collective over the ranks that will ask. Clocks that a test gives are never shared. */
enum gw_status gw_clocks_open(struct gw_communicator *communicator, const struct gw_clock *own,
                              struct gw_clocks *out, struct gw_error *error);

/* Asks rank 0 again, unless the clock is shared. Collective over a communicator with the rank 0 of
 * all other calls. */
enum gw_status gw_clocks_ask(struct gw_clocks *clocks, struct gw_communicator *communicator,
                             struct gw_error *error);

/* Converts a time of this rank's clock to the common time, and back. */
double gw_clocks_common_s(const struct gw_clocks *clocks, double own_s);
double gw_clocks_from_common_s(const struct gw_clocks *clocks, double common_s);

#endif
