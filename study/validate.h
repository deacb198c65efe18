/* Predictions that are compared with measurements. */
#ifndef GW_STUDY_VALIDATE_H
#define GW_STUDY_VALIDATE_H

#include "study/predict.h"
#include "study/rank.h"
#include "study/scenario.h"

/* A pipeline that is predicted and measured. */
struct gw_validation_pair {
    struct gw_pipeline pipeline;
    struct gw_result predicted, measured;
    size_t warm_up, iterations; /* before the measured ones, and measured */
    double error;               /* (predicted - measured) / measured */
    /* Used if counts depend on gradients. */
    bool counts_depend_on_data;
    struct gw_warmed_up warmed_up;
    struct gw_counts recorded;              /* of the measured iterations */
    uint64_t *extents;                      /* [groups], of the last of them */
    const struct gw_difference *difference; /* study/difference.h; NULL: it is not explained */
};

/* The GPUs of a measurement. */
struct gw_validation_device {
    const char *gpu;
    const char *transport; /* "nccl" or "mpi" */
    const char *compute;   /* "wait" or "gemm" */
    const char *cublas;    /* its version, of "gemm" */
    size_t ranks_on_one;   /* the most that share a GPU */
};

/* A measurement beside those of pipelines that is not predicted. */
struct gw_unpredicted {
    const char *name;
    double iteration_s;
    struct gw_spread spread; /* of its iterations; all 0: not known */
};

struct gw_validation {
    struct gw_scenario scenario;
    struct gw_noise noise;           /* recorded, by which predictions have their spread; or none */
    size_t warm_up, iterations;      /* before and measured, of each pipeline at most */
    double time_s;                   /* of each pipeline, by its prediction; 0: no limit */
    uint64_t seed;                   /* of the gradients */
    bool timed_compression;          /* in the measurements */
    const char *counts;              /* of predictions: "recorded", "asked", "trained" or a file */
    const char *counts_out;          /* file to keep recorded counts in, or NULL */
    double tolerance;                /* largest error that is allowed; INFINITY: any */
    struct gw_algorithm *algorithms; /* with changed choices, of all that were asked for */
    size_t count;
    struct gw_validation_pair *pairs;
    size_t infeasible_count;
    struct gw_infeasible *infeasible; /* those of all algorithms that cannot be run */
    size_t unpredicted_count;
    struct gw_unpredicted *unpredicted;
    const struct gw_validation_device *device; /* NULL: processors */
    char **doubts; /* why predictions may be about another cluster than measurements */
    size_t doubt_count;
};

/* Refuses sources and files of counts that do not fit the request. */
enum gw_status gw_validation_check_counts(const struct gw_validation *validation,
                                          struct gw_error *error);

/* Prepares to record counts; safe to close in any case. */
enum gw_status gw_validation_pair_open_counts(const struct gw_validation *validation,
                                              struct gw_validation_pair *pair,
                                              struct gw_error *error);
void gw_validation_pair_close_counts(struct gw_validation_pair *pair);

/* Ratio of selected elements to those asked for, over all measured iterations. */
double gw_validation_pair_selected_ratio(const struct gw_validation_pair *pair);

/*
 * Predicts an iteration with counts as asked; compressions that are timed waiting get their
 * durations.
 */
enum gw_status gw_validation_predict(const struct gw_validation *validation,
                                     struct gw_validation_pair *pair, struct gw_error *error);

/* Chooses numbers of iterations after the prediction: at least two measured ones, if so many are
 * asked for, and one before them; more as time allows, half as long before them. */
void gw_validation_choose_iterations(const struct gw_validation *validation,
                                     struct gw_validation_pair *pair);

/*
 * Finds the errors after all measurements: predicts again if counts are not as asked for, and
 * writes recorded counts.
 */
enum gw_status gw_validation_compare(struct gw_validation *validation, struct gw_error *error);

/* Lists collectives and compressors that the pairs use, each once, ended by NULL; the arena's. */
enum gw_status gw_validation_costs(const struct gw_validation *validation, struct gw_arena *arena,
                                   const char *const **out, struct gw_error *error);

/* The pair of that algorithm, which must be one of those that are run. */
enum gw_status gw_validation_find_pair(const struct gw_validation *validation,
                                       const char *algorithm, struct gw_validation_pair **out,
                                       struct gw_error *error);

/*
 * Explains the error of a pair after gw_validation_compare; `measured` is its timeline. Writes the
 * iteration that is shown, as predicted and as measured, to the file `trace` (or NULL). The
 * difference is in the arena.
 */
enum gw_status gw_validation_explain(const struct gw_validation *validation,
                                     struct gw_validation_pair *pair,
                                     const struct gw_timeline *measured, struct gw_arena *arena,
                                     const char *trace, struct gw_error *error);

/* Largest and mean magnitude of the errors. */
double gw_validation_largest_error(const struct gw_validation *validation);
double gw_validation_mean_error(const struct gw_validation *validation);

#endif
