/*
 * How a collective's cost grows with the number of workers: a law for its startup and one for its
 * time per byte, found on the numbers that were measured, for those that were not.
 */
#ifndef GW_TRACES_GROWTH_H
#define GW_TRACES_GROWTH_H

#include "traces/cluster.h"
#include "traces/growth_law.h"

enum { GW_GROWTH_MOST = 32 }; /* measured numbers of workers that are looked at */

/* A measured number of workers: its curve, and the straight line that is nearest to that. */
struct gw_growth_sample {
    size_t workers;
    const struct gw_curve *curve;
    double startup, slope; /* seconds, seconds per byte */
    double held_out_error; /* relative, of the curve at sizes left out, 0 to 1; 0: not known */
};

struct gw_growth {
    const char *collective;
    size_t count; /* of measured numbers of workers above 1, ascending; laws need two */
    struct gw_growth_sample samples[GW_GROWTH_MOST];
    struct gw_growth_law startup, slope;
    /*
     * |predicted - measured| / measured, over sizes, of each measured number of workers when it is
     * predicted from the others: in the mean, and of the largest.
     */
    double left_out_error, largest_left_out_error;
};

/*
 * Every pair of laws predicts each measured number of workers from the others. Of those whose error
 * is within one standard error of the least (Breiman et al. 1984) the one with fewest terms is
 * taken; then the usual algorithms' laws; then the least error. With fewer than two measured
 * numbers there is no law.
 */
enum gw_status gw_growth_find(const struct gw_cluster *cluster, const char *collective,
                              struct gw_growth *out, struct gw_error *error);

/*
 * The curve for `workers` > 1, the caller's: what the laws say, times what the nearest measured
 * numbers of workers on both sides took in terms of them, size by size; beyond the ends what the
 * last one took. Between two measured ones it stays between their times. growth->count >= 2.
 */
enum gw_status gw_growth_curve(const struct gw_growth *growth, size_t workers, struct gw_curve *out,
                               struct gw_error *error);

/*
 * By how much that curve may be off, relative: the error of those left out; beyond the largest that
 * of the largest, for each step in log P as wide as the last one between measured numbers. Not less
 * than the largest of the samples' held_out_error, nor than 1%: the laws were chosen by the error
 * of those left out, which so comes out too small.
 */
double gw_growth_uncertainty(const struct gw_growth *growth, size_t workers);

#endif
