/*
 * How a collective's cost grows with the number of workers: a law for its startup and one for its
 * time per byte, found on the numbers that were measured, for those that were not.
 */
#ifndef GW_TRACES_GROWTH_H
#define GW_TRACES_GROWTH_H

#include "traces/cluster.h"

/* ---- laws: sums of one or two terms in the number of workers P ------------------------------- */

enum gw_growth_term {
    GW_GROWTH_CONSTANT, /* 1 */
    GW_GROWTH_LOG,      /* log2 P */
    GW_GROWTH_ROUNDS,   /* ceil(log2 P) */
    GW_GROWTH_STEPS,    /* P - 1 */
    GW_GROWTH_SHARE,    /* (P - 1) / P */
    GW_GROWTH_TERMS
};

/* One term: second = first, and no coefficient of its own. */
struct gw_growth_law {
    enum gw_growth_term first, second;
    double coefficients[2]; /* seconds (startup) or seconds per byte, >= 0 */
};

/*
 * The algorithm that usually carries out a collective, among those that MPI libraries use (Thakur
 * et al. 2005): how it grows is what stands where measurements do not decide.
 */
struct gw_growth_usual {
    const char *collective, *algorithm;
    enum gw_growth_term startup, slope;
};

/* Of a collective that is not known: that of an allgather. */
const struct gw_growth_usual *gw_growth_usual(const char *collective);

/* How much more the term is at `workers` than at `measured`, both > 1. */
double gw_growth_term_ratio(enum gw_growth_term term, size_t workers, size_t measured);

enum { GW_GROWTH_NAME_SIZE = 48 };
/* "P-1", "log2 P + P-1". */
const char *gw_growth_law_name(const struct gw_growth_law *law, char name[GW_GROWTH_NAME_SIZE]);

/* ---- growth ---------------------------------------------------------------------------------- */

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

/* Finds those of all the cluster's collectives that have laws, for whoever looks them up. */
enum gw_status gw_cluster_find_growth(struct gw_cluster *cluster, struct gw_error *error);

/* The one that was found so, or one that is found now and put into `scratch`. */
enum gw_status gw_cluster_growth(const struct gw_cluster *cluster, const char *collective,
                                 struct gw_growth *scratch, const struct gw_growth **out,
                                 struct gw_error *error);

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
