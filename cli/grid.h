/*
 * A grid: every combination of models, clusters, numbers and algorithms, each a point with a
 * number, in an order that depends on nothing but what was asked for.
 */
#ifndef GW_CLI_GRID_H
#define GW_CLI_GRID_H

#include "cli/cli.h"

/* From the one that changes most slowly from point to point to the one that changes each time. */
enum gw_axis {
    GW_AXIS_MODEL,
    GW_AXIS_CLUSTER,
    GW_AXIS_WORKERS,
    GW_AXIS_DENSITY,
    GW_AXIS_BANDWIDTH, /* a factor of what was measured */
    GW_AXIS_STRAGGLER, /* a factor on the compute times of worker 0 */
    GW_AXIS_NOISE,     /* standard deviation of the logarithm of each compute time */
    GW_AXIS_ALGORITHM,
    GW_AXES
};

struct gw_axis_kind {
    const char *option, *key;          /* on the command line, in a job file */
    const char *name;                  /* of one value, in what is written */
    const struct gw_values_rule *rule; /* NULL: its values are names */
    double fallback; /* the number if nothing is asked for; 0 workers: the cluster's */
};
extern const struct gw_axis_kind gw_axis_kinds[GW_AXES];

/* ---- what is asked for --------------------------------------------------------------------- */

/* What the command line says goes before what the job file says. */
struct gw_grid_request {
    const char *job;                  /* or NULL */
    const char *texts[GW_AXES];       /* of the command line's options; NULL: not given */
    struct gw_choice_changes changes; /* of all algorithms */
    size_t iterations;                /* 0: not given */
    bool seeded;
    uint64_t seed;
};

/* An axis as it was asked for: names, or texts that make a list of numbers with commas between. */
struct gw_axis_items {
    char place[160]; /* for messages: "--workers", "job.json: workers" */
    size_t count;
    char **texts;
};

/* The request as one, with the job file's part. */
struct gw_grid_items {
    struct gw_axis_items axes[GW_AXES];
    size_t iterations;
    uint64_t seed;
};

enum gw_status gw_grid_items_open(const struct gw_grid_request *request, struct gw_grid_items *out,
                                  struct gw_error *error);
void gw_grid_items_close(struct gw_grid_items *items);

/* ---- the grid ------------------------------------------------------------------------------ */

struct gw_grid {
    size_t counts[GW_AXES];
    struct gw_grid_items items;
    struct gw_model *models;
    struct gw_cluster *clusters;
    const struct gw_algorithm **algorithms;
    struct gw_algorithm *changed; /* what these point to, with changed choices */
    double *values[GW_AXES];      /* of the axes that are numbers */
    size_t iterations;
    uint64_t seed;
    uint64_t point_count;
    /* What decides about the points: the request with the program's version, and the files. */
    uint64_t request_fingerprint, inputs_fingerprint;
};

/* Reads all that is asked for, and refuses what is not there. */
enum gw_status gw_grid_open(const struct gw_grid_request *request, struct gw_grid *out,
                            struct gw_error *error);
void gw_grid_close(struct gw_grid *grid);

/* Where a point lies on each axis. */
struct gw_point {
    uint64_t number;
    size_t at[GW_AXES];
};
struct gw_point gw_grid_point(const struct gw_grid *grid, uint64_t number);

/* A point's name on an axis of names; its number on the others. */
const char *gw_point_name(const struct gw_grid *grid, const struct gw_point *point,
                          enum gw_axis axis);
double gw_point_value(const struct gw_grid *grid, const struct gw_point *point, enum gw_axis axis);

/* What `simulate` says about the point; only reads the grid, so that threads can share it. */
enum gw_status gw_point_predict(const struct gw_grid *grid, const struct gw_point *point,
                                struct gw_result *out, struct gw_error *error);

#endif
