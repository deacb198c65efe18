/*
 * One time for all ranks: that of rank 0's clock; private to this room.
 *
 * Ranks whose hosts share a boot share their monotonic clock: nothing to find out. Elsewhere a rank
 * asks rank 0 for its time and takes the middle of the shortest of many round trips (Cristian,
 * "Probabilistic clock synchronization", 1989): off by half of the difference of the two ways at
 * most. Clocks also run at different rates, of some 10^-6: 10 us apart after 10 s. Asked again
 * between measurements, a line through the answers accounts for that (Hunold and Carpen-Amarie,
 * "Reproducible MPI benchmarking is still not as easy as you think", IEEE TPDS 2016).
 */
#ifndef GW_CALIBRATE_CLOCKS_H
#define GW_CALIBRATE_CLOCKS_H

#include "core/core.h"
#include "transport/transport.h"

enum { GW_CLOCK_ANSWERS = 16 };

struct gw_clocks {
    const struct gw_clock *own;         /* this rank's */
    bool shared;                        /* every rank reads the same clock */
    size_t asked;                       /* the last GW_CLOCK_ANSWERS answers are kept, in a ring */
    double at_s[GW_CLOCK_ANSWERS];      /* this rank's clock when it asked ... */
    double ahead_s[GW_CLOCK_ANSWERS];   /* ... and how far rank 0's was ahead of it */
    double reference_s, offset_s, rate; /* the line: offset_s + rate * (own time - reference_s) */
};

/* Collective over the ranks that will ask. Clocks that a test gives are never shared. */
enum gw_status gw_clocks_open(struct gw_communicator *communicator, const struct gw_clock *own,
                              struct gw_clocks *out, struct gw_error *error);

/*
 * Asks rank 0 once more, unless the clock is shared. Collective over a communicator whose rank 0 is
 * that of all the other calls.
 */
enum gw_status gw_clocks_ask(struct gw_clocks *clocks, struct gw_communicator *communicator,
                             struct gw_error *error);

/* A moment of this rank's clock in the time of all, and back. */
double gw_clocks_common_s(const struct gw_clocks *clocks, double own_s);
double gw_clocks_from_common_s(const struct gw_clocks *clocks, double common_s);

#endif
