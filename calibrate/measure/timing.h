/*
 * Timing what all ranks do together; private to this room.
 *
 * A repeat begins at a moment that all ranks have agreed on, each by its own clock, and takes from
 * when the last rank is ready for it to when the last one is done. The usual way - a barrier, and
 * the longest time of any rank - measures something else: ranks leave a barrier one after the
 * other, as far apart as a short collective takes, and who leaves first waits for the others inside
 * of what is timed (Hoefler, Schneider and Lumsdaine, "Accurately measuring collective operations
 * at massive scale", IPDPS 2008; Hunold and Carpen-Amarie, "Reproducible MPI benchmarking is still
 * not as easy as you think", IEEE TPDS 2016). It is also the time that schedules ask for: an
 * exchange starts when the last worker is ready. A rank that comes late, because something else
 * kept it busy, does not lengthen it; a rank that is ready and does not get its core does, as it
 * would in a pipeline: were it to count from when it runs, a broadcast that has arrived by then
 * would be free.
 */
#ifndef GW_CALIBRATE_TIMING_H
#define GW_CALIBRATE_TIMING_H

#include "calibrate/measure/clocks.h"
#include "calibrate/measure/measurement.h"

enum { GW_LARGEST_BLOCK = 64 };

struct gw_timer {
    struct gw_communicator *communicator;
    struct gw_clocks *clocks; /* rank 0 of the communicator has the common clock */
    double lead_s;            /* from the agreement to the first start; adapts; 0 at first */
};

/* Repeats that follow each other without a word in between. */
struct gw_block {
    size_t count;                     /* at most GW_LARGEST_BLOCK */
    double window_s;                  /* from start to start, if a repeat is done by then */
    double seconds[GW_LARGEST_BLOCK]; /* of each repeat, the same on every rank */
    size_t late;   /* repeats whose ranks began further apart than a tenth of the repeat's time */
    double took_s; /* the whole block, from the agreement on, on this rank */
};

/* The subject has been prepared. Collective; all ranks give the same count and window. */
enum gw_status gw_time_block(struct gw_timer *timer, const struct gw_subject *subject,
                             struct gw_block *block, struct gw_error *error);

#endif
