/*
 * Measuring subjects - collectives, compressors, messages - at sizes, with a clock that is given;
 * private to this room.
 *
 * One loop times everything: a subject is run by one rank for itself (gw_time_alone) or by all
 * ranks in blocks of repeats that begin together (gw_time_block). A point
 * is a subject at one size; it gets blocks until its median is known (gw_time_point), or a block at
 * a time in rounds over many points, for as long as there is time (gw_measure_points).
 */
#ifndef GW_CALIBRATE_MEASURE_H
#define GW_CALIBRATE_MEASURE_H

#include "calibrate/calibrate.h"
#include "core/arena.h"

static inline size_t gw_lesser(size_t a, size_t b) {
    return a < b ? a : b;
}

static inline size_t gw_greater(size_t a, size_t b) {
    return a > b ? a : b;
}

/* ---- clocks -------------------------------------------------------------------------------- */

/*
 * One time for all ranks: that of rank 0's clock.
 *
 * Ranks whose hosts share a boot share their monotonic clock: nothing to find out. Elsewhere a rank
 * asks rank 0 for its time and takes the middle of the shortest of many round trips (Cristian,
 * "Probabilistic clock synchronization", 1989): off by half of the difference of the two ways at
 * most. Clocks also run at different rates, of some 10^-6: 10 us apart after 10 s. Asked again
 * between measurements, a line through the answers accounts for that (Hunold and Carpen-Amarie,
 * "Reproducible MPI benchmarking is still not as easy as you think", IEEE TPDS 2016).
 */
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

/* ---- subjects ------------------------------------------------------------------------------ */

enum { GW_MOST_ASKED = 2 };

/* What is measured at many sizes, from the smallest to the largest. */
struct gw_subject {
    const char *name;     /* of the collective or compressor */
    const char *size_key; /* what sizes are in the cluster file: "bytes", "elements" */
    size_t smallest, largest;
    /* Larger ones, ascending, that jobs ask for, measured where there is time for them; 0: none. */
    size_t asked[GW_MOST_ASKED];
    /*
     * The largest size below `larger` that costs about as `smaller` does, where between the two
     * the cost jumps, or 0; NULL: it never does. That size is measured as well.
     */
    size_t (*before_step)(const void *context, size_t smaller, size_t larger);
    /* For the size of the repeats that follow; or NULL. */
    enum gw_status (*prepare)(void *context, size_t size, struct gw_error *error);
    gw_action *run;
    void (*restore)(void *context); /* after each repeat, and not timed; or NULL */
    /* Of one that is `separate` and times itself: what the last run took. NULL: the clock says. */
    double (*took_s)(void *context);
    void *context;
    bool separate;  /* ranks run it without each other: the slowest one's time counts */
    double idle_s;  /* slept before each repeat, by a thread that in execution comes from waiting */
    double evict_s; /* that it takes `restore` to leave caches cold, whatever the size */
    bool sorts;     /* its curve may be one of n log2 n */
    bool ends_straight; /* as what a network carries: it has no late rise */
    /* Repeats of smaller sizes are rows of runs, as many as have this size together; 0: one. */
    size_t row_size;
};

/* What a row of so many runs counts for. */
static inline double gw_runs(size_t row) {
    return row > 0 ? (double)row : 1;
}

/* ---- repeats ------------------------------------------------------------------------------- */

/*
 * What each of several repeats takes this rank, which no other one waits for: `most` of them, or
 * fewer once longest_s has passed, but no fewer than `fewest`. seconds: [most].
 */
struct gw_repeats {
    size_t fewest, most;
    double longest_s;
};
enum gw_status gw_time_alone(const struct gw_clock *clock, const struct gw_subject *subject,
                             struct gw_repeats repeats, double *seconds, size_t *count,
                             struct gw_error *error);

/* What reading the clock takes, and its smallest step; below 0: it went back. */
struct gw_clock_cost {
    double mean_s, median_s, step_s;
};
void gw_time_clock(const struct gw_clock *clock, struct gw_clock_cost *out);

enum { GW_LARGEST_BLOCK = 64 };

/* What ranks that measure together share. */
struct gw_timer {
    struct gw_communicator *communicator;
    struct gw_clocks *clocks; /* rank 0 of the communicator has the common clock */
    double lead_s;            /* from the agreement to the first start; adapts; 0 at first */
};

/* Repeats that follow each other without a word in between. */
struct gw_block {
    size_t count;                     /* at most GW_LARGEST_BLOCK */
    size_t row;                       /* runs of a repeat, one right behind the other; 0: one */
    double window_s;                  /* from start to start, if a repeat is done by then */
    double seconds[GW_LARGEST_BLOCK]; /* of a run of each repeat, the same on every rank */
    size_t late;   /* repeats whose ranks began further apart than a tenth of the repeat's time */
    double skew_s; /* of all repeats together: for how long before the last rank was done the first
                      one was, but for rank 0, which may be a root; each at most the run's time */
    double took_s; /* the whole block, from the agreement on, on this rank */
};

/*
 * The subject has been prepared. Collective; all ranks give the same count and window.
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
enum gw_status gw_time_block(struct gw_timer *timer, const struct gw_subject *subject,
                             struct gw_block *block, struct gw_error *error);

/* ---- pools --------------------------------------------------------------------------------- */

/*
 * Large buffers that measurements go through round and round.
 *
 * Each repeat works on another part, because a pipeline does not send or compress the same bytes
 * twice in a row either: caches must not flatter the measurement. A pool holds what gradients hold:
 * some processors write zeros over zeros for less.
 */
struct gw_pool {
    void *data;               /* of zeros at first, all of them in memory */
    struct gw_device *device; /* whose memory it is; NULL: the host's */
    size_t bytes;
    size_t position; /* of the next part */
};

enum gw_status gw_pool_open(size_t bytes, struct gw_device *device, struct gw_pool *out,
                            struct gw_error *error);
void gw_pool_close(struct gw_pool *pool);

/*
 * Normal values, other ones on each rank, which are drawn for the first `tile` bytes and repeated:
 * drawing a value takes longer than sending it.
 */
enum gw_status gw_pool_fill(struct gw_pool *pool, size_t tile, int rank, struct gw_error *error);

/* The next part of `bytes`, no more than the pool has; it begins at a cache line, as tensors do. */
void *gw_pool_next(struct gw_pool *pool, size_t bytes);

/* Reads so much of it, as far as there is so much: caches then hold nothing else. */
void gw_pool_evict(const struct gw_pool *pool, size_t bytes);

/* What compressors and aggregators go through: gradients, and residuals, zero between repeats. */
struct gw_vector_pools {
    struct gw_pool gradient, residual;
};

/* So many bytes, and what is left of their last cache line. */
size_t gw_whole_lines(size_t bytes);

/* To compress so many of the values, with the threshold that about density * elements exceed. */
struct gw_task gw_pool_task(size_t elements, double density, struct gw_workspace *workspace);

/* ---- points -------------------------------------------------------------------------------- */

/* What becomes one curve. */
struct gw_series {
    struct gw_subject subject;
    int workers;     /* the ranks 0 .. workers - 1 measure it */
    bool of_fewer;   /* a collective of fewer ranks than there are, whose own is needed more */
    bool together;   /* of what is separate: what it takes while all ranks run it, at few sizes */
    bool aggregates; /* an aggregator; of what is separate all others are compressors */
    /* Of a kernel at another density: its own name, and what densities these are; or NULL. */
    const char *denser_of;
    double densities[2];
};

/*
 * The last size from `smaller` on, and below `larger`, before the table of a sketch for this share
 * of them becomes one that caches feel: of 1.25 MiB or twice an even larger one; 0: there is none.
 */
size_t gw_size_before_step(double density, size_t smaller, size_t larger);

/*
 * Makes a series of a kernel at this density one of the second, so many times as much, 0.25 at
 * most; false: that is hardly another.
 */
bool gw_series_make_denser(struct gw_series *series, double density, double times,
                           struct gw_arena *arena);

/*
 * Where the time follows from how many are asked for, and of the search in sketches; and about as
 * many as thresholds let through that do not keep up with a training. Of even more selecting takes
 * less than a line from the first density says: most vectors have one then, and branches are
 * foreseen.
 */
enum { GW_DENSER_TIMES = 16, GW_OVERSHOT_TIMES = 64 };

/* What is to be measured, as it comes together. The caller frees the items. */
struct gw_series_list {
    struct gw_series *items;
    size_t count, capacity;
};
enum gw_status gw_series_list_add(struct gw_series_list *list, struct gw_series series,
                                  struct gw_error *error);

enum gw_point_state {
    GW_POINT_OPEN,
    GW_POINT_PRECISE,
    GW_POINT_CAPPED,      /* measured for as long as a point may be */
    GW_POINT_OUT_OF_TIME, /* the time for all of them is over */
    GW_POINT_OUT_OF_REPEATS,
    GW_POINT_LEFT_OUT, /* too large for the time there is */
};

struct gw_point {
    size_t series, size;
    size_t row; /* runs of a repeat; 0: one */
    bool asked; /* one of the subject's `asked` */
    enum gw_point_state state;
    double *seconds; /* [count], of a run of each repeat, in the order of measuring */
    size_t count, capacity, late;
    double skew_s;  /* of all repeats together, as a block's */
    size_t visits;  /* in which they were measured, each at another moment */
    double cost_s;  /* of a repeat, with everything around it; 0: not known */
    double usual_s; /* what a run takes, as far as is known */
    double spent_s; /* in its repeats */
    double error;   /* half the interval of the median over the median; INFINITY at first */
    bool warm;      /* this process has run it */
};

struct gw_points {
    struct gw_series *series; /* the caller's */
    size_t series_count;
    size_t count, capacity;
    struct gw_point *items; /* those of a series next to each other, sizes ascending */
};

/* When a point is known well enough, or given up. */
struct gw_stop_rule {
    double precision;
    double max_s_per_point;
    size_t fewest_visits;
    uint64_t seed; /* of the bootstrap */
};

enum {
    GW_FEWEST_REPEATS = 15,
    GW_FEWEST_LONG_REPEATS = 5, /* which take more than 5 ms each */
    GW_MOST_REPEATS = 2000,
    GW_FEWEST_VISITS = 5, /* of a curve's point: one moment knows nothing of drift */
    GW_FEWEST_SIZES = 5,
    GW_FAR_DEVIATIONS = 3 /* from so many on a repeat counts as an outlier */
};

/*
 * Each series at `per_factor_four` sizes to a factor of four, from its smallest to its largest:
 * multiples of 8, the smallest and a largest within the subject's among them.
 */
enum gw_status gw_points_open(struct gw_series *series, size_t series_count, size_t per_factor_four,
                              struct gw_points *out, struct gw_error *error);
/* Or one by one, series after series and size after size. */
enum gw_status gw_points_add(struct gw_points *points, size_t series, size_t size,
                             struct gw_error *error);
/* Also after a failure. */
void gw_points_free(struct gw_points *points);

/* The point of a series at a size, or NULL. */
struct gw_point *gw_points_find(const struct gw_points *points, const char *name, size_t workers,
                                size_t size);

/* Keeps the repeats and says, in the point's state, whether there have to be more. */
enum gw_status gw_point_add(struct gw_point *point, const struct gw_block *block,
                            const struct gw_stop_rule *rule, struct gw_error *error);

struct gw_measurement {
    double size; /* bytes or elements */
    struct gw_summary summary;
    bool precise;           /* false: stopped by ... */
    const char *stopped_by; /* ... "max-time" of its own, "time" for everything, or "repeats" */
    size_t outliers;        /* repeats that far from the median; they count */
    size_t late;            /* repeats to which the ranks did not come together; they count */
    double skew_s;          /* the mean of the repeats' (struct gw_block) */
};

/* What is known of a point that has repeats; the same on all ranks that have them. */
enum gw_status gw_point_measurement(const struct gw_point *point, const struct gw_stop_rule *rule,
                                    struct gw_measurement *out, struct gw_error *error);

/*
 * Sorts the values and summarises them, the median with its interval by the bootstrap
 * (core/median.h): the same on all ranks that have the same values, seed and stream.
 */
enum gw_status gw_summarise_repeats(double *values, size_t count, uint64_t seed, uint64_t stream,
                                    struct gw_summary *out, struct gw_error *error);

/*
 * Blocks of one point, without a window, until the rule closes it. The subject takes around_s for a
 * repeat beyond what it says. Every rank comes to the same repeats.
 */
enum gw_status gw_time_point(struct gw_timer *timer, const struct gw_subject *subject,
                             double around_s, const struct gw_stop_rule *rule,
                             struct gw_point *point, struct gw_error *error);

/* ---- rounds -------------------------------------------------------------------------------- */

struct gw_visit {
    size_t point, repeats;
};

/*
 * Chooses the visits of a round that takes no more than `left_s`, in random order: all points that
 * are open if there is time for them, otherwise those without five visits first and then those
 * whose medians are known worst. Points of fewer ranks that had two visits wait until all others
 * had five. A visit is about `visit_s` long, but at least one repeat; a point
 * without any repeats is visited whatever is left. `out` has room for all points.
 */
enum gw_status gw_choose_round(const struct gw_points *points, double left_s, double visit_s,
                               double precision, struct gw_random *random, struct gw_visit *out,
                               size_t *count, struct gw_error *error);

/*
 * Whether a size is too large to be measured at all: one repeat of it would take longer than
 * `share_s`, judging by the two sizes before it, of which one may have been disturbed. The first
 * five sizes of a series never are.
 */
bool gw_is_too_large(const struct gw_points *points, size_t point, double share_s);

/*
 * Whether an asked size is too large, though it is worth more than many repeats of small ones: by
 * the largest size of its series that was tried out, to warm up and GW_ASKED_REPEATS would take
 * more than a seventh of the time.
 */
enum { GW_ASKED_REPEATS = 2 };
bool gw_is_asked_too_large(const struct gw_points *points, size_t which, double time_s);

/* What a series' largest size may cost for each repeat if all of them are to fit in the time. */
double gw_largest_share_s(size_t series_count, double time_s);

/* ---- a journal ----------------------------------------------------------------------------- */

/*
 * What a calibration has measured so far, in a file beside the one to come, so that it can go on
 * after an interruption. Rank 0 alone writes it.
 *
 * JSON lines: what is being measured; then, behind its frame (core/rows.h), for each block of
 * repeats the point, its times, and the time since the beginning; and once it is known, which sizes
 * are left out:
 *
 *     {"schema":"gradweave/calibration-partial@3","points":495,"request":"9c..","hosts":"e3.."}
 *     {"left_out":"allgather","workers":4,"size":16777216}
 *     {"chosen":true}
 *     {"of":"allgather","workers":4,"size":1024,"late":0,"skew_s":1e-5,"at_s":7.2,
 *      "seconds":[0.000121,0.000119]}
 *
 * Each line is written at once. From the first line on that is not as it was written, all is
 * measured again.
 */
struct gw_journal {
    char *path;     /* NULL: none is kept */
    int descriptor; /* -1: not open */
    bool chosen;    /* the sizes to leave out were known before the interruption */
    double at_s;    /* the time that had been spent by then */
    uint64_t rows;
    double synced_s; /* when it was last written to the disk */
};

/* What of a calibration must be the same for its journal to be continued. */
struct gw_journal_title {
    uint64_t request, hosts; /* fingerprints */
    size_t point_count;
};

/*
 * Begins a journal at `path`, or goes on with the one that is there and fills the points with what
 * it holds. GW_BAD_INPUT if there is one with measurements and `resume` is false, if it is another
 * calibration's, or if one is running that writes it. With `resume` and no journal it begins one;
 * without, it begins anew in place of one that came to no measurement.
 */
enum gw_status gw_journal_open(const char *path, const struct gw_journal_title *title, bool resume,
                               struct gw_points *points, const struct gw_stop_rule *rule,
                               struct gw_journal *out, struct gw_error *error);

enum gw_status gw_journal_put_chosen(struct gw_journal *journal, const struct gw_points *points,
                                     struct gw_error *error);
enum gw_status gw_journal_put_block(struct gw_journal *journal, const struct gw_points *points,
                                    size_t point, const struct gw_block *block, double at_s,
                                    struct gw_error *error);

/* The file stays. */
void gw_journal_close(struct gw_journal *journal);

/* ---- numbers of workers -------------------------------------------------------------------- */

enum { GW_MOST_WORKER_COUNTS = 40 };

/*
 * On how many ranks collectives are measured: powers of two, three times powers of two, and all of
 * the job's, each as a communicator of the first so many. And one, for compressors, and as many as
 * take turns alike (gw_sharing_find).
 */
static inline bool gw_is_measured(int workers) {
    int odd = workers;
    while (odd % 2 == 0) {
        odd /= 2;
    }
    return odd == 1 || odd == 3;
}

struct gw_worker_counts {
    struct gw_communicator *world;
    size_t count;
    int workers[GW_MOST_WORKER_COUNTS]; /* ascending; from 1 where compressors are measured */
    /* Of the ranks below `workers`; the last is the world itself. */
    struct gw_communicator communicators[GW_MOST_WORKER_COUNTS];
    /* The same for memory of GPUs, beside the world; NULL: there are none. */
    struct gw_communicator *gpu_world;
    struct gw_communicator gpu_communicators[GW_MOST_WORKER_COUNTS];
};

/* The communicator of the first workers[which], which this rank is among ... */
static inline struct gw_communicator *gw_worker_counts_hosts(struct gw_worker_counts *counts,
                                                             size_t which) {
    return counts->workers[which] == counts->world->size ? counts->world
                                                         : &counts->communicators[which];
}

/* ... and the one that data travels by: for memory of GPUs, where there is one for that. */
static inline struct gw_communicator *gw_worker_counts_data(struct gw_worker_counts *counts,
                                                            size_t which) {
    if (counts->gpu_world == NULL) {
        return gw_worker_counts_hosts(counts, which);
    }
    return counts->workers[which] == counts->world->size ? counts->gpu_world
                                                         : &counts->gpu_communicators[which];
}

/* ---- a survey ------------------------------------------------------------------------------ */

/* Told before each point how much of a subject is done. */
struct gw_report {
    void (*tell)(void *context, double share, const char *what);
    void *context;
    double offset, scale; /* a subject's share of the whole: from offset to offset + scale */
};

/* What measuring the points of curves needs, for the first time or again. */
struct gw_survey {
    struct gw_arena arena;
    struct gw_vector_pools vectors;
    struct gw_communicator *communicator;
    struct gw_worker_counts worker_counts;
    struct gw_sharing sharing; /* of processors; none of GPUs */
    int sharers;               /* the first so many compress at once; 0: nobody compresses */
    struct gw_clocks clocks;
    struct gw_series_list list; /* of the curves that were asked for */
    struct gw_points points;    /* none at first: the caller chooses them */
    struct gw_stop_rule rule;
};

/* Collective. The survey is to be closed also after a failure. */
enum gw_status gw_survey_open(struct gw_communicator *communicator,
                              const struct gw_calibration *calibration, struct gw_survey *out,
                              struct gw_error *error);
void gw_survey_close(struct gw_survey *survey);

/*
 * Adds the collectives asked for, for each number of workers; the compressors asked for, on one
 * rank that is alone, and then on several at once, which share a machine's cores. On GPUs
 * each rank has its own, and all compress at once; the time is the GPU's.
 */
enum gw_status gw_survey_add_collectives(struct gw_survey *survey,
                                         const struct gw_calibration *calibration,
                                         struct gw_error *error);
enum gw_status gw_survey_add_compressors(struct gw_survey *survey,
                                         const struct gw_calibration *calibration,
                                         struct gw_error *error);

/*
 * Adds what is done with what exchanges bring (methods/methods.h), if that was asked for: on one
 * rank that is alone, and what all do at the same time also on several at once. Not on GPUs.
 */
enum gw_status gw_survey_add_aggregators(struct gw_survey *survey,
                                         const struct gw_calibration *calibration,
                                         struct gw_error *error);

/*
 * Measures all points within time_s. Every point that is not left out gets a repeat.
 *
 * Rank 0 decides what is measured next and says so before each block of repeats: its clock, its
 * random numbers, its points and its journal are the only ones that count, and no rank can come to
 * another decision. Each number of workers has its turn: while its ranks measure, the others rest.
 *
 * First each point is run a few times, from small sizes to large ones, to warm up and to learn what
 * it costs; sizes that would take more than their share of the time are left out. Then points are
 * visited in rounds, each in a new random order, for a block of repeats at a time, until all
 * medians are known or the time is over. What drifts slowly then touches all sizes alike and shows
 * as spread, where repeats of one size after the other would make a slope of it. What the journal
 * held before is not measured again.
 */
enum gw_status gw_measure_points(struct gw_survey *survey, double time_s,
                                 struct gw_journal *journal, const struct gw_report *report,
                                 struct gw_error *error);

/* ---- compressors --------------------------------------------------------------------------- */

/* One selection from task->u, and how many were selected. */
struct gw_selecting {
    enum gw_status (*select)(void *context, const struct gw_task *task, size_t *count,
                             struct gw_error *error);
    void *context;
};

/*
 * Lets a compressor that has a state select from task->u again and again, until it has warmed up
 * (core/warm_up.h), or has had `longest_s`. Counts task->iteration on.
 */
enum gw_status gw_warm_up_compressor(const struct gw_compressor *compressor, struct gw_task *task,
                                     const struct gw_selecting *selecting,
                                     const struct gw_clock *clock, double longest_s,
                                     struct gw_error *error);

/* ---- what else is measured ----------------------------------------------------------------- */

/* LogGP parameters, of one pair of ranks within a node and one between nodes, as far as there are.
 */
enum gw_status gw_calibrate_network(struct gw_communicator *communicator,
                                    const struct gw_calibration *calibration,
                                    const struct gw_report *report, struct gw_cluster *cluster,
                                    struct gw_error *error);

/* How much compression and collectives that run at once slow each other. */
enum gw_status gw_calibrate_overlap(struct gw_communicator *communicator,
                                    const struct gw_calibration *calibration,
                                    const struct gw_report *report, struct gw_cluster *cluster,
                                    struct gw_error *error);

#endif
