/* Grids of points that sweeps predict. */
#ifndef GW_STUDY_GRID_H
#define GW_STUDY_GRID_H

#include "study/axes.h"
#include "study/rank.h"
#include "study/scenario.h"
#include "transport/transport.h"

/* Numbers of a job file; its axes are texts, as on the command line. */
struct gw_sweep_job {
    size_t micro_batches, iterations;
    uint64_t seed;
};
extern const struct gw_fields gw_sweep_job_fields;

/* Every combination of models, clusters, numbers and algorithms is a point with a number. */
struct gw_grid_request {
    const char *job;                  /* a file, or NULL; other members take precedence */
    const char *texts[GW_AXES];       /* of the command line's options; NULL: not given */
    struct gw_choice_changes changes; /* of all algorithms */
    enum gw_interference_rule interference;
    /* A document of the model or cluster that a name stands for, the caller's; *out NULL: it is
     * that of a file. NULL: all are. */
    enum gw_status (*make)(const void *making, enum gw_axis axis, const char *name, cJSON **out,
                           struct gw_error *error);
    const void *making;
    size_t micro_batches; /* of an iteration; 0: not given */
    size_t iterations;    /* 0: not given */
    bool seeded;
    uint64_t seed;
};

struct gw_grid {
    size_t counts[GW_AXES];
    const char *const *names[GW_AXES];   /* of the axes that are names */
    struct gw_axis_values axes[GW_AXES]; /* of those that are numbers */
    struct gw_model *models;
    struct gw_cluster *clusters;
    double *own_bit_per_s; /* of each cluster, where bandwidths are rates; otherwise NULL */
    struct gw_algorithm *algorithms;
    enum gw_interference_rule interference;
    size_t micro_batches; /* of an iteration */
    size_t iterations;
    uint64_t seed;
    uint64_t point_count;
    /* Fingerprints of the request with the program's version, and of the input files. */
    uint64_t request_fingerprint, inputs_fingerprint;
    struct gw_compressor_curves *curves; /* of all points */
    struct gw_arena arena;               /* of all of this but the curves */
};

/* Reads the request's files and values; fails if one is missing. gw_grid_close in any case. */
enum gw_status gw_grid_open(const struct gw_grid_request *request, struct gw_grid *out,
                            struct gw_error *error);
void gw_grid_close(struct gw_grid *grid);

/* All ranks compare their fingerprints, as files of one name may differ between hosts. */
enum gw_status gw_grid_require_alike(const struct gw_grid *grid,
                                     struct gw_communicator *communicator, struct gw_error *error);

/* A point, and its place on each axis. */
struct gw_point {
    uint64_t number;
    size_t at[GW_AXES];
};
struct gw_point gw_grid_point(const struct gw_grid *grid, uint64_t number);

/* A point's name on an axis of names; its number on the others. */
const char *gw_point_name(const struct gw_grid *grid, const struct gw_point *point,
                          enum gw_axis axis);
double gw_point_value(const struct gw_grid *grid, const struct gw_point *point, enum gw_axis axis);

/* Predicts the point as `simulate` does. Only reads the grid, so that threads can share it. */
void gw_point_predict(const struct gw_grid *grid, const struct gw_point *point,
                      struct gw_prediction *out);

#endif
