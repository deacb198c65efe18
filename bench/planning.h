/* Networks to plan for - like those that people train, and ones that are hard to plan for - and the
 * tables of planning times that bench/planner prints. */
#ifndef GW_BENCH_PLANNING_H
#define GW_BENCH_PLANNING_H

#include "planner/planner.h"

/* ---- networks ------------------------------------------------------------------------------ */

/* The inputs of a family for making a network, and its tensors. */
struct bench_draft {
    struct gw_random *random;
    double startup_s; /* of the exchange: families aim at the limits of a policy's conditions */
    size_t count;
    struct gw_tensor *tensors; /* comes in all zero */
};

struct bench_family {
    const char *name;
    void (*fill)(const struct bench_draft *draft); /* NULL: draws from the model of that name */
};

/* All families, ended by one without a name. */
extern const struct bench_family bench_families[];

enum gw_status bench_fill(const struct bench_family *family, const struct bench_draft *draft,
                          struct gw_error *error);

/* ---- tables -------------------------------------------------------------------------------- */

enum { bench_most_sizes = 8, BENCH_MOST_CHOICES = 10 };

/* Exchanges that `optimal` plans for, ended by NULL. */
extern const char *const bench_exchanges[];

/* The selected rows of a table. */
struct bench_choice {
    size_t networks; /* drawn for a cell */
    size_t limit_s;  /* CPU time for one of them */
    size_t size_count;
    size_t sizes[bench_most_sizes]; /* in tensors */
    const char *family;             /* NULL: each */
    /* For `optimal` alone: */
    const char *exchange; /* "sparse", "dense" or "mixed"; NULL: each */
    size_t choices;       /* of mixed plans, ... */
    double most_lost;     /* ... which lose at most that share of the energy */
    double startup_s;     /* NAN: the usual ones */
    double compute_scale; /* NAN: the usual ones */
};

/* How long one policy plans networks of one family, and in how much memory. */
struct bench_cell {
    const char *policy;
    bool whole; /* gw_planner_plan, with prediction and bound; otherwise the policy's marks alone */
    bool sparse;    /* exchange of what an n log n compressor keeps; otherwise dense */
    size_t choices; /* of groups; 1: as `sparse` says, all the same way */
    double most_lost;
    const struct bench_family *family;
    double startup_s;     /* of an exchange */
    double compute_scale; /* forward and backward times are multiplied with it */
    size_t tensors;
};

/* CPU time in seconds, over the networks; INFINITY where one was stopped at the limit. */
struct bench_planning_times {
    double median_s, worst_s;
    size_t proven; /* networks whose plan met its bound */
    double gap;    /* the largest between a plan and its bound, as a share of its time */
    double peak_bytes;
};

/* Each network is planned in a process of its own. Ends the program if one fails. */
void bench_measure(const struct bench_cell *cell, const struct bench_choice *choice,
                   struct bench_planning_times *out);

/* How long the policies other than `optimal` take as networks grow. */
void bench_growth(const struct bench_choice *choice);

/* How long `optimal` takes, beside its targets. */
void bench_optimal(const struct bench_choice *choice);

#endif
