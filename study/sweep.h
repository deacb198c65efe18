/*
 * Sweeps: questions at many points. Axes and their values, what is noted at them, a grid of points,
 * plans and crossovers along one axis.
 */
#ifndef GW_STUDY_SWEEP_H
#define GW_STUDY_SWEEP_H

#include "study/study.h"
#include "transport/transport.h"

/* ---- axes (axes.c) -------------------------------------------------------------------------- */

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
    const char *name;                  /* of one value, in what is written */
    const char *option, *key;          /* on the command line, in a job file */
    const char *label;                 /* of a picture's axis; NULL: not drawn */
    const struct gw_values_rule *rule; /* NULL: its values are names */
    /* The number if nothing is asked for; 0 workers: the cluster's. */
    double fallback;
    bool sparse_only; /* dense exchange does not depend on it */
};
extern const struct gw_axis_kind gw_axis_kinds[GW_AXES];

/* Sets the question's value on an axis of numbers; a bandwidth multiplies the one it has. */
void gw_question_change(struct gw_question *question, enum gw_axis axis, double value);

/* Values of an axis of numbers, ascending. */
struct gw_axis_values {
    const struct gw_axis_kind *kind;
    size_t count;
    double *values;
    int digits; /* of a value as text */
    /* Where values are bits per second: the cluster's own, and where it is known from. */
    double own_bit_per_s; /* 0: they are factors of it */
    char derivation[GW_DERIVATION_SIZE];
};

/*
 * Lists and ranges (core/values.h), also "2:256" of workers, doubled from value to value,
 * "2:256:STEP", and "0.1x:10x" and "1e-4:1e-1", five values to a decade. Bandwidths are factors or
 * rates ("1gbit:100gbit", "500mbit,1.25GB/s") of a cluster whose own one can be told. `place`
 * stands before a message. The caller frees out->values.
 */
enum gw_status gw_axis_parse(enum gw_axis axis, const char *text, const char *place,
                             const struct gw_cluster *cluster, struct gw_axis_values *out,
                             struct gw_error *error);

/* Sets own_bit_per_s and derivation. */
enum gw_status gw_axis_find_own_bandwidth(const struct gw_cluster *cluster,
                                          struct gw_axis_values *out, struct gw_error *error);

/* Gives the values' texts so many digits that no two neighbours look the same. */
void gw_axis_tell_apart(struct gw_axis_values *values);

/* "16", "2.5 gbit", "0.5x". Returns `out`. */
const char *gw_axis_text(const struct gw_axis_values *values, double value,
                         char out[GW_UNITS_SIZE]);

/*
 * The question at the one bandwidth of the whole network that --bandwidth says, by curves:
 * `values`, which the caller frees, and `out`, which borrows from the question.
 */
enum gw_status gw_axis_ask_bandwidth(const char *text, enum gw_network_level level,
                                     const struct gw_question *question,
                                     struct gw_axis_values *values, struct gw_question *out,
                                     struct gw_error *error);

/* The question at a value; borrows from the question. */
struct gw_question gw_axis_ask(const struct gw_axis_values *values, double value,
                               const struct gw_question *question);

/* ---- notes (axes.c) ------------------------------------------------------------------------- */

/* A remark on what was found at values of an axis; those that differ only in numbers are one. */
struct gw_axis_note {
    const char *text; /* as it was at value number `first` */
    size_t first;
    size_t others;   /* further values with one like it ... */
    bool differs;    /* ... of which one at least reads otherwise */
    const void *row; /* in which it is counted; NULL: it is of no value, but of all */
};

/* All 0 at first. */
struct gw_axis_notes {
    size_t count, capacity;
    struct gw_axis_note *notes;
    struct gw_arena arena; /* of the texts */
};

/* Adds a remark, or counts it with one like it; what several rows have is counted in the first. */
enum gw_status gw_axis_note_add(struct gw_axis_notes *notes, const char *text, size_t value,
                                const void *row, struct gw_error *error);
void gw_axis_notes_free(struct gw_axis_notes *notes);

/* ---- grids (grid.c) ------------------------------------------------------------------------- */

/* Numbers of a job file; its axes are texts, as on the command line. */
struct gw_sweep_job {
    size_t micro_batches, iterations;
    uint64_t seed;
};
extern const struct gw_fields gw_sweep_job_fields;

/* Every combination of models, clusters, numbers and algorithms is a point with a number. */
struct gw_grid_request {
    const char *job;                  /* a file, or NULL; what else is given goes before it */
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
    /* What decides about the points: the request with the program's version, and the files. */
    uint64_t request_fingerprint, inputs_fingerprint;
    struct gw_arena arena; /* of all of this */
};

/* Reads all that is asked for, and refuses what is not there. gw_grid_close in any case. */
enum gw_status gw_grid_open(const struct gw_grid_request *request, struct gw_grid *out,
                            struct gw_error *error);
void gw_grid_close(struct gw_grid *grid);

/* All ranks compare their fingerprints, as files of one name may differ between hosts. */
enum gw_status gw_grid_require_alike(const struct gw_grid *grid,
                                     struct gw_communicator *communicator, struct gw_error *error);

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
void gw_point_predict(const struct gw_grid *grid, const struct gw_point *point,
                      struct gw_prediction *out);

/* ---- plans along an axis (plan_sweep.c) ------------------------------------------------------ */

/* What `plan --sweep` asks: plans by every policy, sparse and dense, at many values of one axis. */
struct gw_plan_sweep_request {
    const char *text;   /* AXIS=VALUES */
    const char *policy; /* or "all" */
    const char *compressor;
    const char *exchange;          /* of the compressor; NULL: its own */
    bool has_density, has_workers; /* whether the question was asked with one */
};

struct gw_plan_cell {
    size_t groups;
    double iteration_s, lower_bound_s;
};

enum { GW_PLAN_SWEEP_EXCHANGES = 2 }; /* at most: sparse, dense */

struct gw_plan_sweep {
    const struct gw_question *question;
    struct gw_axis_values values;
    size_t exchange_count;
    const char *compressors[GW_PLAN_SWEEP_EXCHANGES]; /* of each exchange; "none": dense */
    const char *exchanges[GW_PLAN_SWEEP_EXCHANGES];   /* NULL: the compressor's own */
    size_t policy_count;
    char (*policies)[GW_POLICY_TEXT_SIZE];
    struct gw_plan_cell *cells; /* [exchange][policy][value] */
    struct gw_axis_notes notes;
    struct gw_arena arena; /* of values, policies and cells */
};

/* Reads what is to be planned, before any work; gw_plan_sweep_close in any case. */
enum gw_status gw_plan_sweep_open(const struct gw_plan_sweep_request *request,
                                  const struct gw_question *question, struct gw_plan_sweep *out,
                                  struct gw_error *error);
void gw_plan_sweep_close(struct gw_plan_sweep *sweep);

/* Plans it. */
enum gw_status gw_plan_sweep_plan(const struct gw_plan_sweep_request *request,
                                  struct gw_plan_sweep *sweep, struct gw_error *error);

/* The cells of a policy, one for each value. */
struct gw_plan_cell *gw_plan_sweep_row(const struct gw_plan_sweep *sweep, size_t exchange,
                                       size_t policy);

/* Whether an exchange's plans are the same at all values: dense ones at all densities. */
bool gw_plan_sweep_is_constant(const struct gw_plan_sweep *sweep, size_t exchange);

/* "topk", "dense". */
const char *gw_plan_sweep_exchange(const struct gw_plan_sweep *sweep, size_t exchange);

/* The number of the policy with the best plan; of equals the one with the fewest groups. */
size_t gw_plan_sweep_best(const struct gw_plan_sweep *sweep, size_t exchange, size_t value);

/* Of two exchanges, each with its best plan: -1 if the first is faster, 0, 1. */
int gw_plan_sweep_compare(const struct gw_plan_sweep *sweep, size_t value);

/* ---- crossovers along an axis (crossovers.c) ------------------------------------------------- */

/*
 * Where the fastest pipeline changes. `from` and `to` are neighbours, integers or as good as equal:
 * at `from` `before` is as fast as `after`, at `to` no more.
 */
struct gw_crossing {
    double from, to;
    size_t before, after; /* of the comparison's algorithms */
    double iteration_s;   /* that `after` takes at `to` */
    bool doubted;         /* exchanges of one of them were not measured: it may lie elsewhere */
};

/* Where a pipeline cannot be predicted. */
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
    double *lows_s;      /* [value][algorithm]: the ends of what it may take; NAN: there is ... */
    double *highs_s;     /* ... no interval, as nothing is known of it */
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
