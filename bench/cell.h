/* One cell of a table: how long one policy plans networks of one family, and in how much memory. */
#ifndef GW_BENCH_CELL_H
#define GW_BENCH_CELL_H

#include "networks.h"

struct bench_cell {
    const char *policy;
    bool whole; /* gw_planner_plan, with prediction and bound; otherwise the policy's marks alone */
    bool sparse; /* exchange of what an n log n compressor keeps; otherwise dense */
    const struct bench_family *family;
    double startup_s;     /* of an exchange */
    double compute_scale; /* forward and backward times are multiplied with it */
    size_t tensors;
};

struct bench_effort {
    size_t networks;  /* drawn for a cell */
    unsigned limit_s; /* CPU time for one of them */
};

/* CPU and wall time in seconds, over the networks; INFINITY where one was stopped at the limit. */
struct bench_result {
    double median_cpu_s, worst_cpu_s;
    double median_wall_s, worst_wall_s;
    size_t proven; /* networks whose plan met its bound */
    double peak_bytes;
};

/* Each network is planned in a process of its own. Ends the program if one fails. */
void bench_measure(const struct bench_cell *cell, const struct bench_effort *effort,
                   struct bench_result *out);

/* A cell as a line of comma-separated values, and the line that names them. */
void bench_print_csv_head(void);
void bench_print_csv(const struct bench_cell *cell, const struct bench_effort *effort,
                     const struct bench_result *result);

#endif
