/* The tables that bench/planner prints. */
#ifndef GW_BENCH_TABLES_H
#define GW_BENCH_TABLES_H

#include "cell.h"

enum { bench_most_sizes = 8 };

/* Of what a table could show, what it is to show. */
struct bench_choice {
    bool csv; /* in place of tables */
    struct bench_effort effort;
    size_t size_count;
    size_t sizes[bench_most_sizes]; /* in tensors */
    const char *family;             /* NULL: each */
    /* For `optimal` alone: */
    const char *exchange; /* "sparse" or "dense"; NULL: each */
    double startup_s;     /* NAN: the usual ones */
    double compute_scale; /* NAN: the usual ones */
};

/* How long the policies other than `optimal` take as networks grow. */
void bench_growth(const struct bench_choice *choice);

/* How long `optimal` takes, beside its targets. */
void bench_optimal(const struct bench_choice *choice);

#endif
