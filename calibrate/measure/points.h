/*
 * The points of cost curves: a subject at one size each, measured until its median is known;
 * private to this room. A point gets blocks until then (gw_time_point), or a block at a time in
 * rounds over many points, for as long as there is time (gw_measure_points).
 */
#ifndef GW_CALIBRATE_POINTS_H
#define GW_CALIBRATE_POINTS_H

#include "calibrate/measure/timing.h"

static inline size_t gw_lesser(size_t a, size_t b) {
    return a < b ? a : b;
}

static inline size_t gw_greater(size_t a, size_t b) {
    return a > b ? a : b;
}

/* ---- series and points ------------------------------------------------------------------------
 */

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

/* Makes a series of a kernel at the usual rank, 4, one of the second, which other ranks' times lie
 * between or beyond on a line: 16. */
extern const char *const gw_second_rank; /* a compressor's name */
bool gw_series_make_ranked(struct gw_series *series, struct gw_arena *arena);

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

struct gw_measured_point {
    size_t series, size;
    size_t row;  /* runs of a repeat; 0: one */
    bool spread; /* one of five that cover a range of eight sizes or more: tried out first */
    bool asked;  /* one of the subject's `asked` */
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
    struct gw_measured_point *items; /* those of a series are adjacent, sizes ascending */
};

/* The rule by which a point is precise enough, or given up. */
struct gw_stop_rule {
    double precision;
    double max_s_per_point;
    size_t fewest_visits;
    uint64_t seed; /* of the bootstrap */
};

enum {
    GW_MIN_REPEATS = 15,
    GW_MIN_LONG_REPEATS = 5, /* which take more than 5 ms each */
    GW_MAX_REPEATS = 2000,
    GW_MIN_VISITS = 5, /* of a curve's point: a single visit does not show drift */
    GW_MIN_SIZES = 5,
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
struct gw_measured_point *gw_points_find(const struct gw_points *points, const char *name,
                                         size_t workers, size_t size);

/* Appends the repeats, and updates the point's state, which says whether more are needed. */
enum gw_status gw_point_add(struct gw_measured_point *point, const struct gw_block *block,
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
enum gw_status gw_point_measurement(const struct gw_measured_point *point,
                                    const struct gw_stop_rule *rule, struct gw_measurement *out,
                                    struct gw_error *error);

/* Sorts and summarises the values, the median with its interval by the bootstrap (core/median.h):
 * equal on all ranks with the same values, seed and stream. */
enum gw_status gw_summarise_repeats(double *values, size_t count, uint64_t seed, uint64_t stream,
                                    struct gw_summary *out, struct gw_error *error);

/* Measures blocks of one point, without a window, until the rule closes it. The subject takes
 * around_s for a repeat beyond the time that it reports. Every rank gets the same repeats. */
enum gw_status gw_time_point(struct gw_timer *timer, const struct gw_subject *subject,
                             double around_s, const struct gw_stop_rule *rule,
                             struct gw_measured_point *point, struct gw_error *error);

/* ---- rounds -----------------------------------------------------------------------------------
 */

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

/* The largest smaller size of its series that was tried out, or NULL. */
const struct gw_measured_point *gw_tried_below(const struct gw_points *points, size_t which);

/*
 * True if a size is too large to be measured: one repeat of it would take longer than `share_s`,
 * estimated from the two sizes tried below it. False for spread sizes without two below, or that
 * are measured in rows, and for others until five of the series were tried.
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

#endif
