#include "traces/growth_law.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double term_at(enum gw_growth_term term, size_t workers) {
    double p = (double)workers;
    switch (term) {
    case GW_GROWTH_LOG:
        return log2(p);
    case GW_GROWTH_ROUNDS:
        return ceil(log2(p));
    case GW_GROWTH_STEPS:
        return p - 1;
    case GW_GROWTH_SHARE:
        return (p - 1) / p;
    default:
        return 1;
    }
}

double gw_growth_law_at(const struct gw_growth_law *law, size_t workers) {
    return law->coefficients[0] * term_at(law->first, workers) +
           law->coefficients[1] * term_at(law->second, workers);
}

size_t gw_growth_law_terms(const struct gw_growth_law *law) {
    return law->first == law->second ? 1 : 2;
}

const char *gw_growth_law_name(const struct gw_growth_law *law, char name[GW_GROWTH_NAME_SIZE]) {
    static const char *const names[GW_GROWTH_TERMS] = {"constant", "log2 P", "ceil(log2 P)", "P-1",
                                                       "(P-1)/P"};
    bool two = law->coefficients[0] > 0 && law->coefficients[1] > 0;
    bool second = !two && law->coefficients[1] > 0;
    (void)snprintf(name, GW_GROWTH_NAME_SIZE, "%s%s%s", names[second ? law->second : law->first],
                   two ? " + " : "", two ? names[law->second] : "");
    return name;
}

/* ---- the usual algorithms ------------------------------------------------------------------ */

/*
 * A ring has P - 1 steps, in each of which a worker passes on a whole contribution (allgather) or a
 * P-th of the vector, twice (allreduce). A server exchanges a message with each of the others.
 */
static const struct gw_growth_usual usual[] = {
    {"allgather", "ring algorithm", GW_GROWTH_STEPS, GW_GROWTH_STEPS},
    {"allgatherv", "ring algorithm", GW_GROWTH_STEPS, GW_GROWTH_STEPS},
    {"allreduce", "ring algorithm", GW_GROWTH_STEPS, GW_GROWTH_SHARE},
    {"broadcast", "binomial tree", GW_GROWTH_LOG, GW_GROWTH_LOG},
    {"reduce", "binomial tree", GW_GROWTH_LOG, GW_GROWTH_LOG},
    {"gather", "linear algorithm", GW_GROWTH_STEPS, GW_GROWTH_STEPS},
    {"scatter", "linear algorithm", GW_GROWTH_STEPS, GW_GROWTH_STEPS},
    {"sendrecv", "single message", GW_GROWTH_CONSTANT, GW_GROWTH_CONSTANT}};

const struct gw_growth_usual *gw_growth_usual(const char *collective) {
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        if (strcmp(usual[i].collective, collective) == 0) {
            return &usual[i];
        }
    }
    return &usual[0];
}

double gw_growth_term_ratio(enum gw_growth_term term, size_t workers, size_t measured) {
    const struct gw_growth_law law = {term, term, {1, 0}};
    return gw_growth_law_at(&law, workers) / gw_growth_law_at(&law, measured);
}

/* ---- fitting ------------------------------------------------------------------------------- */

/* Sums over the samples of products of the terms a, b and the value t, all relative to the value.
 */
struct moments {
    double aa, ab, bb, at, bt;
};

static struct moments add_up(const struct gw_growth_law *law, const size_t *workers,
                             const double *values, size_t count) {
    double mean = 0;
    for (size_t i = 0; i < count; i++) {
        mean += values[i] / (double)count;
    }
    struct moments sums = {0};
    for (size_t i = 0; i < count && mean > 0; i++) {
        double scale = fmax(values[i], 0.1 * mean);
        double a = term_at(law->first, workers[i]) / scale;
        double b = term_at(law->second, workers[i]) / scale;
        double t = values[i] / scale;
        sums.aa += a * a;
        sums.ab += a * b;
        sums.bb += b * b;
        sums.at += a * t;
        sums.bt += b * t;
    }
    return sums;
}

void gw_growth_law_fit(struct gw_growth_law *law, const size_t *workers, const double *values,
                       size_t count) {
    struct moments sums = add_up(law, workers, values, count);
    double *c = law->coefficients;
    c[0] = sums.aa > 0 ? sums.at / sums.aa : 0;
    c[1] = 0;
    double determinant = sums.aa * sums.bb - sums.ab * sums.ab;
    if (gw_growth_law_terms(law) < 2 || determinant <= 1e-9 * sums.aa * sums.bb) {
        return;
    }
    double first = (sums.at * sums.bb - sums.bt * sums.ab) / determinant;
    double second = (sums.bt * sums.aa - sums.at * sums.ab) / determinant;
    if (first >= 0 && second >= 0) {
        c[0] = first;
        c[1] = second;
    } else if (sums.bt * sums.bt * sums.aa > sums.at * sums.at * sums.bb) {
        c[0] = 0; /* the second alone explains more than the first alone */
        c[1] = sums.bt / sums.bb;
    }
}
