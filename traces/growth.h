/*
 * Growth of a collective's cost with the number of workers: a law for its startup and one for its
 * time per byte, fitted to measured numbers of workers to predict others.
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

/* A law; with one term second = first, and the second coefficient is 0. */
struct gw_growth_law {
    enum gw_growth_term first, second;
    double coefficients[2]; /* seconds (startup) or seconds per byte, >= 0 */
};

/*
 * The usual algorithm of a collective in MPI libraries (Thakur et al. 2005); its growth is used if
 * measurements do not decide.
 */
struct gw_growth_usual {
    const char *collective, *algorithm;
    enum gw_growth_term startup, slope;
};

/* Finds the usual algorithm; for unknown collectives, that of an allgather. */
const struct gw_growth_usual *gw_growth_usual(const char *collective);

/* Returns the ratio of the term at `workers` to that at `measured`, both > 1. */
double gw_growth_term_ratio(enum gw_growth_term term, size_t workers, size_t measured);

enum { GW_GROWTH_NAME_SIZE = 48 };
/* Writes the law's name, "P-1" or "log2 P + P-1". Returns `name`. */
const char *gw_growth_law_name(const struct gw_growth_law *law, char name[GW_GROWTH_NAME_SIZE]);

/* ---- growth ---------------------------------------------------------------------------------- */

enum { GW_GROWTH_MAX_SAMPLES = 32 }; /* measured numbers of workers that are looked at */

/* A measured number of workers: its curve, and the straight line nearest to it. */
struct gw_growth_sample {
    size_t workers;
    const struct gw_curve *curve;
    double startup, slope; /* seconds, seconds per byte */
    double held_out_error; /* relative, of the curve at sizes left out, 0 to 1; 0: not known */
};

struct gw_growth {
    const char *collective;
    size_t count; /* of measured numbers of workers above 1, ascending; laws need two */
    struct gw_growth_sample samples[GW_GROWTH_MAX_SAMPLES];
    struct gw_growth_law startup, slope;
    /* Mean over sizes of |predicted - measured| / measured, when each measured number of workers is
     * predicted from the others: its mean, and that of the largest number. */
    double left_out_error, largest_left_out_error;
};

/* Returns the growth of a collective; NULL: it was not measured among two workers or more. */
const struct gw_growth *gw_cluster_growth(const struct gw_cluster *cluster, const char *collective);

/*
 * Predicts the curve for `workers` > 1, the caller's: the laws' times, scaled by the ratio of time
 * to law at the nearest measured numbers on both sides, or at the last one beyond the ends; between
 * two measured numbers, between their times. growth->count >= 2.
 */
enum gw_status gw_growth_curve(const struct gw_growth *growth, size_t workers, struct gw_curve *out,
                               struct gw_error *error);

/*
 * Returns that curve's relative uncertainty: the left-out error; beyond the largest measured number
 * that number's error, for each step in log P as wide as the last one between measured numbers. At
 * least the largest held_out_error of the samples and 1%, since the laws were chosen by the
 * left-out error, which is therefore too small.
 */
double gw_growth_uncertainty(const struct gw_growth *growth, size_t workers);

#endif
