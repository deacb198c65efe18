/* Crossovers along an axis: where another algorithm becomes the fastest. */
#ifndef GW_STUDY_CROSSOVERS_H
#define GW_STUDY_CROSSOVERS_H

#include "study/axes.h"
#include "study/rank.h"

/*
 * A change of the fastest pipeline between `from` and `to`, neighbouring integers or as good as
 * equal: at `from` `before` is at least as fast as `after`, at `to` it is not.
 */
struct gw_crossing {
    double from, to;
    size_t before, after; /* of the comparison's algorithms */
    double iteration_s;   /* that `after` takes at `to` */
    bool doubted;         /* exchanges of one of them were not measured: it may lie elsewhere */
};

/* Values at which a pipeline cannot be predicted. */
struct gw_gap {
    size_t values;       /* how many */
    double first;        /* of them ... */
    struct gw_error why; /* ... and the reason there */
};

#define GW_NO_ALGORITHM SIZE_MAX

struct gw_crossovers {
    const struct gw_comparison *comparison;
    const struct gw_axis_values *values;
    double *times_s;     /* [value][algorithm]; NAN: it cannot be predicted */
    double *lows_s;      /* [value][algorithm]: 95% interval ... */
    double *highs_s;     /* ... of its time; NAN: unknown */
    size_t *fastest;     /* [value]; of equals, the one of the value before, or the first */
    bool *meets;         /* [value][algorithm]: it cannot be told apart from the fastest */
    struct gw_gap *gaps; /* [algorithm] */
    size_t crossing_count, crossing_capacity;
    struct gw_crossing *crossings;           /* ascending */
    struct gw_axis_notes derivations, notes; /* how exchanges were derived; all others */
    struct gw_result derived;                /* the derivations as gw_result_collect has them */
    struct gw_arena arena;                   /* of times, fastest and gaps */
};

/*
 * Predicts all pipelines at all values, and bisects between neighbouring values at which different
 * ones are the fastest. Fails, with a reason, if none can be predicted at any value.
 * gw_crossovers_close in any case.
 */
enum gw_status gw_crossovers_open(const struct gw_comparison *comparison,
                                  const struct gw_axis_values *values, struct gw_crossovers *out,
                                  struct gw_error *error);
void gw_crossovers_close(struct gw_crossovers *crossovers);

/* Whether others than the fastest at that value cannot be told apart from it. */
bool gw_crossovers_doubted(const struct gw_crossovers *crossovers, size_t value);

/* The times at a value, one for each algorithm. */
const double *gw_crossovers_times(const struct gw_crossovers *crossovers, size_t value);

/* The next to the fastest at a value; GW_NO_ALGORITHM: there is none. */
size_t gw_crossovers_next(const struct gw_crossovers *crossovers, size_t value);

#endif
