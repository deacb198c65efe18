/* Laws of growth in the number of workers P: sums of one or two terms; private to this room. */
#ifndef GW_TRACES_GROWTH_LAW_H
#define GW_TRACES_GROWTH_LAW_H

#include <stdbool.h>
#include <stddef.h>

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

/* Seconds, or seconds per byte, at `workers`. */
double gw_growth_law_at(const struct gw_growth_law *law, size_t workers);

/* How many terms it is made of: 1 or 2. */
size_t gw_growth_law_terms(const struct gw_growth_law *law);

/*
 * Sets the coefficients by least squares of the values (>= 0) relative to themselves; none comes
 * out negative. A value far below the others counts as a tenth of their mean.
 */
void gw_growth_law_fit(struct gw_growth_law *law, const size_t *workers, const double *values,
                       size_t count);

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

#endif
