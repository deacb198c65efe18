/*
 * Measurements of subjects - collectives, compressors, messages - at sizes, with a given clock;
 * private to this room.
 *
 * One loop times everything: one rank runs a subject by itself (gw_time_alone), or all ranks run it
 * in blocks of repeats that begin together (gw_time_block). A point is a subject at one size. It
 * gets blocks until its median is precise (gw_time_point), or a block at a time in rounds over many
 * points, for as long as there is time (gw_measure_points).
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

/* ---- subjects ------------------------------------------------------------------------------ */

enum { GW_MOST_ASKED = 2 };

/* A subject that is measured at many sizes, from the smallest to the largest. */
struct gw_subject {
    const char *name;     /* of the collective or compressor */
    const char *size_key; /* key of sizes in the cluster file: "bytes", "elements" */
    size_t smallest, largest;
    /* Larger sizes, ascending, that jobs use, measured if there is time for them; 0: none. */
    size_t asked[GW_MOST_ASKED];
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

/* ---- repeats ------------------------------------------------------------------------------- */

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

/* ---- pools --------------------------------------------------------------------------------- */

/*
 * Large buffers that measurements go through again and again.
 *
 * Each repeat works on another part, as a pipeline does not send or compress the same bytes twice
 * in a row: caches must not shorten the measurement. A pool holds values like those of gradients:
 * some processors write zeros over zeros faster.
 */
struct gw_pool {
    void *data;               /* zeros at first, all of them in memory */
    struct gw_device *device; /* the memory's; NULL: the host's */
    size_t bytes;
    size_t position; /* of the next part */
};

enum gw_status gw_pool_open(size_t bytes, struct gw_device *device, struct gw_pool *out,
                            struct gw_error *error);
void gw_pool_close(struct gw_pool *pool);

/* Fills a pool with normal values, different on each rank, which are drawn for the first `tile`
 * bytes and repeated: drawing a value takes longer than sending it. */
enum gw_status gw_pool_fill(struct gw_pool *pool, size_t tile, int rank, struct gw_error *error);

/* The next part of `bytes`, at most the pool's; it begins at a cache line, as tensors do. */
void *gw_pool_next(struct gw_pool *pool, size_t bytes);

/* Reads up to `bytes` of the pool, which then fill the caches. */
void gw_pool_evict(const struct gw_pool *pool, size_t bytes);

/* Vectors of compressors and aggregators: gradients, and residuals, zero between repeats. */
struct gw_vector_pools {
    struct gw_pool gradient, residual;
};

/* Rounds bytes up to whole cache lines. */
size_t gw_whole_lines(size_t bytes);

/* The task of compressing these values, with the threshold that about density * elements exceed. */
struct gw_task gw_pool_task(size_t elements, double density, struct gw_workspace *workspace);

/* ---- points -------------------------------------------------------------------------------- */

/* The points of one curve. */
struct gw_series {
    struct gw_subject subject;
    int workers;     /* the ranks 0 .. workers - 1 measure it */
    bool of_fewer;   /* a collective of a part of the ranks; that of all ranks has priority */
    bool together;   /* of separate subjects: measured on concurrent ranks, at few sizes */
    bool aggregates; /* an aggregator; other separate subjects are compressors */
    /* The kernel's own name, of a series at another density, and the two densities; or NULL. */
    const char *denser_of;
    double densities[2];
};

/* The last size from `smaller` on, and below `larger`, before the table of a sketch for this share
 * of elements outgrows caches: 1.25 MiB or a power of two times it; 0: there is none. */
size_t gw_size_before_step(double density, size_t smaller, size_t larger);

/* Makes a series of a kernel at this density one of the second, `times` as large, at most 0.25;
 * false: the second would hardly differ. */
bool gw_series_make_denser(struct gw_series *series, double density, double times,
                           struct gw_arena *arena);

/*
 * The second densities: for kernels whose time follows the number of wanted elements, and for the
 * search in sketches; and for thresholds that lag behind a training. Beyond that, selecting takes
 * less than a line from the first density predicts: most vectors have a selected element then, and
 * branches are predicted.
 */
enum { GW_DENSER_TIMES = 16, GW_OVERSHOT_TIMES = 64 };

/* The series of a survey. The caller frees the items. */
struct gw_series_list {
    struct gw_series *items;
    size_t count, capacity;
};
enum gw_status gw_series_list_add(struct gw_series_list *list, struct gw_series series,
                                  struct gw_error *error);

enum gw_point_state {
    GW_POINT_OPEN,
    GW_POINT_PRECISE,
    GW_POINT_CAPPED,      /* measured for the maximum time of a point */
    GW_POINT_OUT_OF_TIME, /* the time for all points is over */
    GW_POINT_OUT_OF_REPEATS,
    GW_POINT_LEFT_OUT, /* too large for the available time */
};

struct gw_point {
    size_t series, size;
    size_t row; /* runs of a repeat; 0: one */
    bool asked; /* one of the subject's `asked` */
    enum gw_point_state state;
    double *seconds; /* [count], of a run of each repeat, in the order of measuring */
    size_t count, capacity, late;
    double skew_s;  /* of all repeats together, as a block's */
    size_t visits;  /* number of separate times at which it was measured */
    double cost_s;  /* of a repeat, with everything around it; 0: unknown */
    double usual_s; /* estimate of a run's time */
    double spent_s; /* in its repeats */
    double error;   /* half the interval of the median over the median; INFINITY at first */
    bool warm;      /* this process has run it */
};

struct gw_points {
    struct gw_series *series; /* the caller's */
    size_t series_count;
    size_t count, capacity;
    struct gw_point *items; /* those of a series are adjacent, sizes ascending */
};

/* The rule by which a point is precise enough, or given up. */
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
    GW_FEWEST_VISITS = 5, /* of a curve's point: a single visit does not show drift */
    GW_FEWEST_SIZES = 5,
    GW_FAR_DEVIATIONS = 3 /* a repeat this far off counts as an outlier */
};

/* Lists the sizes of each series, `per_factor_four` of them to a factor of four: multiples of 8,
 * including the subject's smallest and a largest one. */
enum gw_status gw_points_open(struct gw_series *series, size_t series_count, size_t per_factor_four,
                              struct gw_points *out, struct gw_error *error);
/* Adds points one by one, in the order of series and sizes. */
enum gw_status gw_points_add(struct gw_points *points, size_t series, size_t size,
                             struct gw_error *error);
/* Also after a failure. */
void gw_points_free(struct gw_points *points);

/* The point of a series at a size, or NULL. */
struct gw_point *gw_points_find(const struct gw_points *points, const char *name, size_t workers,
                                size_t size);

/* Appends the repeats, and updates the point's state, which says whether more are needed. */
enum gw_status gw_point_add(struct gw_point *point, const struct gw_block *block,
                            const struct gw_stop_rule *rule, struct gw_error *error);

struct gw_measurement {
    double size; /* bytes or elements */
    struct gw_summary summary;
    bool precise;           /* false: stopped by ... */
    const char *stopped_by; /* ... "max-time" of its own, "time" for everything, or "repeats" */
    size_t outliers;        /* repeats that far from the median; they count */
    size_t late;            /* repeats whose ranks did not begin together; they count */
    double skew_s;          /* the mean of the repeats' (struct gw_block) */
};

/* Summarises a point that has repeats; equal on all ranks that have them. */
enum gw_status gw_point_measurement(const struct gw_point *point, const struct gw_stop_rule *rule,
                                    struct gw_measurement *out, struct gw_error *error);

/* Sorts and summarises the values, the median with its interval by the bootstrap (core/median.h):
 * equal on all ranks with the same values, seed and stream. */
enum gw_status gw_summarise_repeats(double *values, size_t count, uint64_t seed, uint64_t stream,
                                    struct gw_summary *out, struct gw_error *error);

/* Measures blocks of one point, without a window, until the rule closes it. The subject takes
 * around_s for a repeat beyond the time that it reports. Every rank gets the same repeats. */
enum gw_status gw_time_point(struct gw_timer *timer, const struct gw_subject *subject,
                             double around_s, const struct gw_stop_rule *rule,
                             struct gw_point *point, struct gw_error *error);

/* ---- rounds -------------------------------------------------------------------------------- */

struct gw_visit {
    size_t point, repeats;
};

/*
 * Chooses the visits of a round that takes at most `left_s`, in random order: all open points if
 * there is time for them, otherwise those with fewer than five visits first and then those with the
 * least precise medians. Points of fewer ranks with two visits wait until all others have five. A
 * visit takes about `visit_s`, and at least one repeat; a point without any repeats is always
 * visited. `out` must hold all points.
 */
enum gw_status gw_choose_round(const struct gw_points *points, double left_s, double visit_s,
                               double precision, struct gw_random *random, struct gw_visit *out,
                               size_t *count, struct gw_error *error);

/*
 * True if a size is too large to be measured: one repeat of it would take longer than `share_s`,
 * estimated from the two sizes before it, of which one may have been disturbed. False for the first
 * five sizes of a series.
 */
bool gw_is_too_large(const struct gw_points *points, size_t point, double share_s);

/*
 * True if an asked size is too large, although it is worth more than many repeats of small ones: by
 * the largest size of its series that was tried, warming up and GW_ASKED_REPEATS would take more
 * than a seventh of the time.
 */
enum { GW_ASKED_REPEATS = 2 };
bool gw_is_asked_too_large(const struct gw_points *points, size_t which, double time_s);

/* The largest cost of a repeat of a series' largest size with which all sizes fit in the time. */
double gw_largest_share_s(size_t series_count, double time_s);

/* ---- a journal ----------------------------------------------------------------------------- */

/*
 * The measurements of a calibration so far, in a file beside its result, so that an interrupted
 * calibration can continue. Only rank 0 writes it.
 *
 * JSON lines: a title; then, after its frame (core/rows.h), for each block of repeats the point,
 * its times, and the time since the beginning; and, when they are chosen, the sizes that are left
 * out:
 *
 *     {"schema":"gradweave/calibration-partial@3","points":495,"request":"9c..","hosts":"e3.."}
 *     {"left_out":"allgather","workers":4,"size":16777216}
 *     {"chosen":true}
 *     {"of":"allgather","workers":4,"size":1024,"late":0,"skew_s":1e-5,"at_s":7.2,
 *      "seconds":[0.000121,0.000119]}
 *
 * Each line is written at once. From the first damaged line on, everything is measured again.
 */
struct gw_journal {
    char *path;     /* NULL: no journal */
    int descriptor; /* -1: not open */
    bool chosen;    /* the sizes to leave out were chosen before the interruption */
    double at_s;    /* time spent before the interruption */
    uint64_t rows;
    double synced_s; /* when it was last written to the disk */
};

/* The parts of a calibration that must be equal for its journal to be continued. */
struct gw_journal_title {
    uint64_t request, hosts; /* fingerprints */
    size_t point_count;
};

/*
 * Begins a journal at `path`, or continues an existing one and fills the points with its
 * measurements. GW_BAD_INPUT if there is one with measurements and `resume` is false, if it is
 * another calibration's, or if a running calibration writes it. With `resume` and no journal,
 * begins one; without, replaces one that has no measurement.
 */
enum gw_status gw_journal_open(const char *path, const struct gw_journal_title *title, bool resume,
                               struct gw_points *points, const struct gw_stop_rule *rule,
                               struct gw_journal *out, struct gw_error *error);

enum gw_status gw_journal_put_chosen(struct gw_journal *journal, const struct gw_points *points,
                                     struct gw_error *error);
enum gw_status gw_journal_put_block(struct gw_journal *journal, const struct gw_points *points,
                                    size_t point, const struct gw_block *block, double at_s,
                                    struct gw_error *error);

/* Keeps the file. */
void gw_journal_close(struct gw_journal *journal);

/* ---- numbers of workers -------------------------------------------------------------------- */

enum { GW_MOST_WORKER_COUNTS = 40 };

/*
 * The numbers of ranks that collectives are measured on: powers of two, three times powers of two,
 * and all ranks of the job, each as a communicator of the first ranks. Compressors add one, and the
 * number that take equal time slices (gw_sharing_find).
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
    int workers[GW_MOST_WORKER_COUNTS]; /* ascending; from 1 if compressors are measured */
    /* Those of the ranks below `workers`; the last is the world itself. */
    struct gw_communicator communicators[GW_MOST_WORKER_COUNTS];
    /* The same for memory of GPUs, besides the world; NULL without GPUs. */
    struct gw_communicator *gpu_world;
    struct gw_communicator gpu_communicators[GW_MOST_WORKER_COUNTS];
};

/* The communicator of the first workers[which] ranks, for a rank among them ... */
static inline struct gw_communicator *gw_worker_counts_hosts(struct gw_worker_counts *counts,
                                                             size_t which) {
    return counts->workers[which] == counts->world->size ? counts->world
                                                         : &counts->communicators[which];
}

/* ... and the one for data: for memory of GPUs, if there is one. */
static inline struct gw_communicator *gw_worker_counts_data(struct gw_worker_counts *counts,
                                                            size_t which) {
    if (counts->gpu_world == NULL) {
        return gw_worker_counts_hosts(counts, which);
    }
    return counts->workers[which] == counts->world->size ? counts->gpu_world
                                                         : &counts->gpu_communicators[which];
}

/* ---- a survey ------------------------------------------------------------------------------ */

/* Reports progress before each point. */
struct gw_report {
    void (*on_progress)(void *context, double share, const char *what);
    void *context;
    double offset, scale; /* a subject's share of the whole: from offset to offset + scale */
};

/* The state of measuring the points of curves, for the first time or again. */
struct gw_survey {
    struct gw_arena arena;
    struct gw_vector_pools vectors;
    struct gw_communicator *communicator;
    struct gw_worker_counts worker_counts;
    struct gw_sharing sharing; /* of processors; unused with GPUs */
    int sharers;               /* the number of ranks that compress at once; 0: none */
    struct gw_clocks clocks;
    struct gw_series_list list; /* of the wanted curves */
    struct gw_points points;    /* none at first: the caller chooses them */
    struct gw_stop_rule rule;
};

/* Collective. Close the survey after a failure too. */
enum gw_status gw_survey_open(struct gw_communicator *communicator,
                              const struct gw_calibration *calibration, struct gw_survey *out,
                              struct gw_error *error);
void gw_survey_close(struct gw_survey *survey);

/*
 * Adds the wanted collectives, for each number of workers; and the wanted compressors, on one rank
 * alone, and then on several at once, which share a machine's cores. On GPUs each rank has its own,
 * and all compress at once; the time is the GPU's.
 */
enum gw_status gw_survey_add_collectives(struct gw_survey *survey,
                                         const struct gw_calibration *calibration,
                                         struct gw_error *error);
enum gw_status gw_survey_add_compressors(struct gw_survey *survey,
                                         const struct gw_calibration *calibration,
                                         struct gw_error *error);

/* Adds the work on received data (methods/methods.h), if wanted: on one rank alone, and, for work
 * that all ranks do at the same time, on several at once. Not on GPUs. */
enum gw_status gw_survey_add_aggregators(struct gw_survey *survey,
                                         const struct gw_calibration *calibration,
                                         struct gw_error *error);

/*
 * Measures all points within time_s. Every point that is not left out gets a repeat.
 *
 * Rank 0 decides what is measured next and tells the others before each block of repeats: only its
 * clock, random numbers, points and journal count, so ranks cannot decide differently. Each number
 * of workers has its turn: while its ranks measure, the others wait.
 *
 * First each point is run a few times, from small sizes to large ones, to warm up and to learn its
 * cost; sizes that would take more than their share of the time are left out. Then points are
 * visited in rounds, each in a new random order, for a block of repeats at a time, until all
 * medians are precise or the time is over. Slow drift then affects all sizes alike and shows as
 * spread; with one size after the other it would show as a slope. Points with repeats in the
 * journal keep them.
 */
enum gw_status gw_measure_points(struct gw_survey *survey, double time_s,
                                 struct gw_journal *journal, const struct gw_report *report,
                                 struct gw_error *error);

/* ---- compressors --------------------------------------------------------------------------- */

/* One selection from task->u, and its count. */
struct gw_selecting {
    enum gw_status (*select)(void *context, const struct gw_task *task, size_t *count,
                             struct gw_error *error);
    void *context;
};

/* Lets a compressor with a state select from task->u repeatedly, until it has warmed up
 * (core/warm_up.h), or for `longest_s`. Advances task->iteration. */
enum gw_status gw_warm_up_compressor(const struct gw_compressor *compressor, struct gw_task *task,
                                     const struct gw_selecting *selecting,
                                     const struct gw_clock *clock, double longest_s,
                                     struct gw_error *error);

/* ---- other measurements ------------------------------------------------------------------- */

/* LogGP parameters, of one pair of ranks within a node and one between nodes, if there are such. */
enum gw_status gw_calibrate_network(struct gw_communicator *communicator,
                                    const struct gw_calibration *calibration,
                                    const struct gw_report *report, struct gw_cluster *cluster,
                                    struct gw_error *error);

/* Overlap factors: how much concurrent compression and collectives slow each other. */
enum gw_status gw_calibrate_overlap(struct gw_communicator *communicator,
                                    const struct gw_calibration *calibration,
                                    const struct gw_report *report, struct gw_cluster *cluster,
                                    struct gw_error *error);

#endif
