/*
 * Timing a subject, such as a collective, a compressor or a message, with a clock that is given;
 * private to this room. A subject is run by one rank for itself (gw_time_alone) or by all ranks in
 * blocks of repeats that begin together (gw_time_block).
 */
#ifndef GW_CALIBRATE_TIMING_H
#define GW_CALIBRATE_TIMING_H

#include "calibrate/calibrate.h"
#include "calibrate/measure/clocks.h"
#include "core/arena.h"

/* ---- subjects ---------------------------------------------------------------------------------
 */

enum { GW_MAX_ASKED = 2 };

/* A subject that is measured at many sizes, from the smallest to the largest. */
struct gw_subject {
    const char *name;     /* of the collective or compressor */
    const char *size_key; /* key of sizes in the cluster file: "bytes", "elements" */
    size_t smallest, largest;
    /* Larger sizes, ascending, that jobs use, measured if there is time for them; 0: none. */
    size_t asked[GW_MAX_ASKED];
    /* The largest size below `larger` that costs about as much as `smaller`, if the cost jumps
     * between the two, or 0; NULL: no jumps. That size is measured too. */
    size_t (*before_step)(const void *context, size_t smaller, size_t larger);
    /* Prepares the size of the following repeats; or NULL. */
    enum gw_status (*prepare)(void *context, size_t size, struct gw_error *error);
    gw_action *run;
    void (*restore)(void *context); /* after each repeat, and not timed; or NULL */
    /* The time of the last run, of a subject that is `separate` and times itself. NULL: the
     * clock's. */
    double (*took_s)(void *context);
    void *context;
    bool separate;  /* ranks run it independently: the slowest one's time counts */
    double idle_s;  /* sleep before each repeat, for a thread that waits before it in execution */
    double evict_s; /* time of `restore` for cold caches, at any size */
    bool sorts;     /* its curve may be n log2 n */
    bool ends_straight; /* as for data on a network: it has no late rise */
    /* Repeats of smaller sizes are rows of runs, as many as have this size together; 0: one. */
    size_t row_size;
};

/* The number of runs of a row. */
static inline double gw_runs(size_t row) {
    return row > 0 ? (double)row : 1;
}

/* ---- repeats ----------------------------------------------------------------------------------
 */

/* Times several repeats on this rank, independently of others: `most` of them, or fewer once
 * longest_s has passed, but at least `fewest`. seconds: [most]. */
struct gw_repeats {
    size_t fewest, most;
    double longest_s;
};
enum gw_status gw_time_alone(const struct gw_clock *clock, const struct gw_subject *subject,
                             struct gw_repeats repeats, double *seconds, size_t *count,
                             struct gw_error *error);

/* The cost of reading the clock, and its smallest step; below 0: it went back. */
struct gw_clock_cost {
    double mean_s, median_s, step_s;
};
void gw_time_clock(const struct gw_clock *clock, struct gw_clock_cost *out);

enum { GW_LARGEST_BLOCK = 64 };

/* State shared by ranks that measure together. */
struct gw_timer {
    struct gw_communicator *communicator;
    struct gw_clocks *clocks; /* rank 0 of the communicator has the common clock */
    double lead_s;            /* from the agreement to the first start; adapts; 0 at first */
};

/* Repeats without communication in between. */
struct gw_block {
    size_t count;                     /* at most GW_LARGEST_BLOCK */
    size_t row;                       /* consecutive runs of a repeat; 0: one */
    double window_s;                  /* from start to start, if a repeat is done by then */
    double seconds[GW_LARGEST_BLOCK]; /* of a run of each repeat, equal on every rank */
    size_t late;   /* repeats whose ranks began further apart than a tenth of the repeat's time */
    double skew_s; /* of all repeats together: from when the first rank except rank 0, which may be
                    * a root, was done until the last was; each at most the run's time */
    double took_s; /* the whole block, from the agreement on, on this rank */
};

/*
 * The subject must be prepared. Collective; all ranks give the same count and window.
 *
 * A repeat begins at a time that all ranks have agreed on, each by its own clock, and lasts from
 * when the last rank is ready for it to when the last one is done. The usual way - a barrier, and
 * the longest time of any rank - measures something else: ranks leave a barrier one after the
 * other, as far apart as a short collective takes, and the first waits for the others within the
 * timed interval (Hoefler, Schneider and Lumsdaine, "Accurately measuring collective operations at
 * massive scale", IPDPS 2008; Hunold and Carpen-Amarie, "Reproducible MPI benchmarking is still not
 * as easy as you think", IEEE TPDS 2016). It is also the time that schedules need: an exchange
 * starts when the last worker is ready. A rank that comes late, because something else kept it
 * busy, does not lengthen it; a rank that is ready and does not get its core does, as in a
 * pipeline: if it counted from when it runs, a broadcast that has arrived by then would be free.
 */
enum gw_status gw_time_block(struct gw_timer *timer, const struct gw_subject *subject,
                             struct gw_block *block, struct gw_error *error);

#endif
