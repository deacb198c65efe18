/*
 * Calibration: what the cluster's collectives and this machine's compressors cost, measured through
 * the very functions that exec calls, and fitted with curves that the planner and the simulator
 * use.
 */
#ifndef GW_CALIBRATE_CALIBRATE_H
#define GW_CALIBRATE_CALIBRATE_H

#include "core/core.h"
#include "device/device.h"
#include "kernels/kernels.h"
#include "methods/methods.h"
#include "traces/traces.h"
#include "transport/transport.h"

typedef enum gw_status gw_action(void *context, struct gw_error *error);

/* A backward pass tells of each gradient as it comes. */
struct gw_pass;
void gw_pass_gradient(struct gw_pass *pass);
typedef enum gw_status gw_backward(void *context, struct gw_pass *pass, struct gw_error *error);

struct gw_calibration {
    const char *name;               /* of the cluster */
    const char *command;            /* for the provenance */
    const char *version;            /* of gradweave */
    size_t max_bytes;               /* collectives: 1 KiB and more, up to this */
    size_t max_elements;            /* compressors: 1,024 and more, up to this */
    size_t per_factor_four;         /* sizes to a factor of four: 2 doubles from size to size */
    size_t pool_bytes;              /* that messages come from in turn; compressors: a quarter */
    double density;                 /* of compression */
    const char *const *collectives; /* ended by NULL */
    const struct gw_compressor *const *compressors; /* ended by NULL */
    bool aggregation;                               /* whether to measure aggregators, ... */
    bool network;                                   /* ... LogGP parameters ... */
    bool overlap;                                   /* ... and overlap factors */
    /* A backward pass of a trainer's network, for these factors: NULL, or run on several threads,
     * one at a time. */
    gw_backward *backward;
    void *backward_context;
    double session_s; /* how much longer the trainer's pass takes in a session by `topk` at this
                       * density ... */
    size_t session_elements;        /* ... of so many elements in one group */
    const struct gw_cluster *older; /* of the same ranks, on rank 0, whose curves stand where none
                                     * is measured; NULL: none */
    double precision;               /* repeat until the median is known to this, relative ... */
    double max_s_per_point;         /* ... or this much time has been measured, in seconds */
    double time_s;                  /* for everything */
    const char *journal;            /* file that keeps what was measured until all is; NULL: none */
    bool resume;                    /* go on with the journal that is there */
    uint64_t seed;                  /* of the order of measurements */
    const struct gw_clock *clock;   /* that times all but overlap: the machine's */
    /* Told what is measured next, when which share of all is done, above all on rank 0; or NULL. */
    void (*tell)(void *context, double share, const char *what);
    void *tell_context;
    /*
     * NULL, or what each rank's compressors run on, and what collectives and messages of memory of
     * GPUs go through: of the same ranks (transport/gpu.h), with an urgent stream as exec's.
     */
    struct gw_device *device;
    struct gw_communicator *gpu_communicator;
};

/* All collectives that can be measured, ended by NULL. */
extern const char *const gw_calibrated_collectives[];

/* Whether it measures what one rank alone does not do. */
static inline bool gw_calibration_exchanges(const struct gw_calibration *calibration) {
    return calibration->collectives[0] != NULL || calibration->network || calibration->overlap;
}

/* All but names, command and journal: a minute's. And those of ten seconds, and of five minutes. */
struct gw_calibration gw_calibration_defaults(void);
void gw_calibration_make_quick(struct gw_calibration *calibration);
void gw_calibration_make_thorough(struct gw_calibration *calibration);

/*
 * Whether it measures an aggregator: the search in sketches whenever it measures a compressor that
 * sketches, whose curve is of sketching alone then. Not on GPUs.
 */
bool gw_calibrates(const struct gw_calibration *calibration, enum gw_aggregator by);

/* Names of collectives, of compressors, "aggregation", "network" and "overlap", ended by NULL. */
enum { GW_MOST_CALIBRATED = 2 * GW_MOST_COMPRESSORS };
void gw_calibrated_names(const char *out[GW_MOST_CALIBRATED]);

/* What a calibration points to that measures only what is named. */
struct gw_calibration_choice {
    const char *collectives[GW_MOST_COMPRESSORS];
    const struct gw_compressor *compressors[GW_MOST_COMPRESSORS];
};

/*
 * Lets it measure only what `text` names, with commas between. GW_BAD_INPUT for a name that is
 * unknown or there twice.
 */
enum gw_status gw_calibration_choose(const char *text, struct gw_calibration_choice *choice,
                                     struct gw_calibration *out, struct gw_error *error);

/*
 * All ranks call it with the same settings. Rank 0 gets the curves and knows its own provenance;
 * the others' cluster has none. GW_BAD_INPUT, on all ranks, for a journal that cannot be continued;
 * other failures may be one rank's alone. The journal stays until the caller removes it.
 */
enum gw_status gw_calibrate(struct gw_communicator *communicator,
                            const struct gw_calibration *calibration, struct gw_cluster *out,
                            struct gw_error *error);

/* ---- an older calibration ------------------------------------------------------------------ */

/* Rank 0 reads a cluster by name or path, as other hosts may not have it; all ranks get it. */
enum gw_status gw_calibration_read(struct gw_communicator *communicator, const char *name,
                                   struct gw_cluster *out, struct gw_error *error);

/*
 * GW_BAD_INPUT unless the cluster was calibrated with these hosts, in this order, so many ranks,
 * and (cuda) GPUs or processors; on every rank. Rank 0's cluster counts.
 */
enum gw_status gw_calibration_require_same_hosts(struct gw_communicator *communicator,
                                                 const struct gw_cluster *cluster, bool cuda,
                                                 struct gw_error *error);

/*
 * What makes the cluster's figures those of other hosts, links or ranks than the job has, in words,
 * in `arena`: collective, some 100 ms for each two hosts where the file knows of links. The same on
 * every rank.
 */
enum gw_status gw_calibration_doubts(struct gw_communicator *communicator,
                                     const struct gw_cluster *cluster, struct gw_arena *arena,
                                     char ***out, size_t *count, struct gw_error *error);

/*
 * Rank 0 reads what a calibration is to add to. GW_BAD_INPUT on all ranks unless it was calibrated
 * with these hosts (gw_calibration_require_same_hosts). *out is safe to free in any case.
 */
enum gw_status gw_calibration_read_older(struct gw_communicator *communicator, const char *path,
                                         bool cuda, struct gw_cluster *out, struct gw_error *error);

/* Adds to a new calibration what only the old one has: curves, the network, further keys. */
enum gw_status gw_calibration_add_older(struct gw_cluster *cluster, const struct gw_cluster *older,
                                        struct gw_error *error);

/* One size of a curve that was measured again. */
struct gw_check_row {
    const char *name;   /* the cluster's */
    bool is_compressor; /* or, if it `aggregates`, an aggregator; both have elements for a size */
    bool aggregates;
    size_t workers;
    double size;   /* bytes or elements */
    double file_s; /* the median that the file has */
    double file_p5_s, file_p95_s;
    struct gw_summary now_s;
    double change; /* now over then, less 1 */
    bool moved;    /* beyond the tolerance and the spread of both, twice */
};

/*
 * A curve has moved if two of its sizes have; one alone may be where a library changes from one way
 * of sending to another, sometimes before that size and sometimes after. The file does not describe
 * the cluster any more if a curve has moved, or if a quarter of the curves have a size that has.
 */
struct gw_check {
    struct gw_check_row *rows; /* on rank 0; those of a curve next to each other */
    size_t count, moved;       /* sizes */
    size_t curves, moved_curves;
    bool describes;
};

/*
 * Measures some sizes of each of the cluster's curves that are asked for again, at its density, for
 * about calibration->time_s. A size has moved if its median differs from the file's by more than
 * `tolerance`, relative, and its interval lies outside of what the file calls usual (5th to 95th
 * percentile); what seems to have moved is measured a second time. All ranks have the same cluster.
 * GW_BAD_INPUT, on all ranks, if nothing can be measured again; other failures may be one rank's
 * alone.
 */
enum gw_status gw_calibration_check(struct gw_communicator *communicator,
                                    const struct gw_calibration *calibration,
                                    const struct gw_cluster *cluster, double tolerance,
                                    struct gw_check *out, struct gw_error *error);
void gw_check_free(struct gw_check *check);

/*
 * The same of collectives and compressors of these names (each once, ended by NULL), for so many
 * seconds of a clock: on rank 0, in words, in `arena`, that the file does not describe the cluster
 * any more; NULL: it does, or there is nothing that can be measured again.
 */
enum gw_status gw_calibration_find_drift(struct gw_communicator *communicator,
                                         const struct gw_cluster *cluster, const char *const *names,
                                         double time_s, const struct gw_clock *clock,
                                         struct gw_arena *arena, char **out,
                                         struct gw_error *error);

/* ---- who else works on the machines ---------------------------------------------------------- */

/* What the machines of a job do while something is measured. */
struct gw_load_meter;

/* Collective, as is gw_load_meter_end; the communicator lives longer. */
enum gw_status gw_load_meter_open(struct gw_communicator *communicator, struct gw_load_meter **out,
                                  struct gw_error *error);
void gw_load_meter_close(struct gw_load_meter *meter);

/* From now on; and what others did since then, on the machine where they did most. */
void gw_load_meter_begin(struct gw_load_meter *meter);
enum gw_status gw_load_meter_end(struct gw_load_meter *meter, struct gw_disturbance *out,
                                 struct gw_error *error);

/* ---- compressors on given vectors ---------------------------------------------------------- */

struct gw_bench {
    const struct gw_compressor *const *compressors; /* ended by NULL */
    size_t elements, kept;
    const float *u;        /* [elements]: what is selected from */
    const float *gradient; /* [elements]: what is added to it where residuals are kept */
    size_t threads;        /* of the CPU */
    size_t repeats;        /* of each compressor, at least 1 */
    uint64_t seed;
    struct gw_progress *progress; /* or NULL */
};

struct gw_bench_row {
    const struct gw_compressor *compressor;
    struct gw_summary select_s;     /* of a selection from u */
    struct gw_summary compress_s;   /* the same with the gradient added, and what is sent cleared */
    double passes, compress_passes; /* medians over that of a pass in the same repeats */
    size_t outliers, compress_outliers; /* repeats of these that lie far off the median */
    bool waits;          /* on a GPU: for a count in between, so that the GPU idles */
    double count_ratio;  /* selected over kept */
    double energy_ratio; /* ||selected||^2 / ||top-k||^2 */
};

struct gw_bench_result {
    struct gw_summary read_pass_s; /* sum of |u| */
    struct gw_summary copy_s;      /* on a GPU: from its memory to its memory; otherwise 0 */
    size_t count;
    struct gw_bench_row *rows; /* in the order of the compressors */
};

/*
 * How fast and how good compressors are: times beside that of one pass over memory, and what is
 * selected beside the exact top-k. States warm up on u first; hard-threshold is given the magnitude
 * of the k-th largest element, layer-drop layers of about k elements.
 *
 * On a GPU (`device`; NULL: on this machine's processors), for compressors that have a version for
 * GPUs, times are by the GPU's clock, and begin with nothing of the data in its cache. A pass takes
 * half of what a copy does, which reads and writes: what the memory gives, whatever a kernel that
 * reads may reach.
 */
enum gw_status gw_bench_run(const struct gw_bench *bench, struct gw_device *device,
                            struct gw_bench_result *out, struct gw_error *error);
void gw_bench_free(struct gw_bench_result *result);

#endif
