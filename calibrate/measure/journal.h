/*
 * What a calibration has measured so far, in a file beside the one to come, so that it can go on
 * after an interruption; private to this room. Rank 0 alone writes it.
 *
 * JSON lines: what is being measured; then for each block of repeats the point, its times, and
 * the time since the beginning; and once it is known, which sizes are left out:
 *
 *     {"schema":"gradweave/calibration-partial@1","points":495,"request":"9c..","hosts":"e3.."}
 *     {"left_out":"allgather","workers":4,"size":16777216}
 *     {"chosen":true}
 *     {"of":"allgather","workers":4,"size":1024,"late":0,"at_s":7.2,"seconds":[0.000121,0.000119]}
 *
 * Each line is written at once. What follows the last whole line that makes sense was cut off.
 */
#ifndef GW_CALIBRATE_JOURNAL_H
#define GW_CALIBRATE_JOURNAL_H

#include "calibrate/measure/measure.h"

struct gw_journal {
    char *path;     /* NULL: none is kept */
    int descriptor; /* -1: not open */
    bool chosen;    /* the sizes to leave out were known before the interruption */
    double at_s;    /* the time that had been spent by then */
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
enum gw_status gw_journal_put_repeats(struct gw_journal *journal, const struct gw_points *points,
                                      size_t point, const double *seconds, size_t count,
                                      size_t late, double at_s, struct gw_error *error);

/* The file stays. */
void gw_journal_close(struct gw_journal *journal);

#endif
