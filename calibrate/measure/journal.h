/* The journal of a calibration; private to this room. */
#ifndef GW_CALIBRATE_JOURNAL_H
#define GW_CALIBRATE_JOURNAL_H

#include "calibrate/measure/points.h"
#include "calibrate/measure/timing.h"

/*
 * The measurements of a calibration so far, in a file beside its result, so that an interrupted
 * calibration can continue. Only rank 0 writes it.
 *
 * JSON lines: a title; when they are chosen, the sizes that are left out; and for each block of
 * repeats the point, its times, and the time since the beginning:
 *
 *     {"schema":"gradweave/calibration-partial@4","points":495,"request":"9c..","hosts":"e3.."}
 *     {"left_out":"allgather","workers":4,"size":16777216}
 *     {"chosen":true}
 *     {"of":"allgather","workers":4,"size":1024,"late":0,"skew_s":1e-5,"at_s":7.2,
 *      "seconds":[0.000121,0.000119]}
 *
 * Each line is written at once. From the first line on that is not whole, everything is measured
 * again.
 */
struct gw_journal {
    char *path;      /* NULL: no journal */
    int descriptor;  /* -1: not open */
    bool chosen;     /* the sizes to leave out were chosen before the interruption */
    double at_s;     /* time spent before the interruption */
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

#endif
