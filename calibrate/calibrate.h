/* Calibration measures the cost of the cluster's collectives and of this machine's compressors
 * through the very functions that exec calls, and fits curves for the planner and the simulator. */
#ifndef GW_CALIBRATE_CALIBRATE_H
#define GW_CALIBRATE_CALIBRATE_H

#include <string.h>

#include "core/core.h"
#include "device/device.h"
#include "kernels/kernels.h"
#include "methods/methods.h"
#include "traces/traces.h"
#include "transport/transport.h"

typedef enum gw_status gw_action(void *context, struct gw_error *error);

/* A backward pass reports each gradient as it is ready. */
struct gw_pass;
void gw_pass_gradient(struct gw_pass *pass);
typedef enum gw_status gw_backward(void *context, struct gw_pass *pass, struct gw_error *error);

struct gw_calibration {
    const char *name;               /* of the cluster */
    const char *command;            /* for the provenance */
    const char *version;            /* of gradweave */
    size_t max_bytes;               /* of collectives: sizes from 1 KiB up to this */
    size_t max_elements;            /* of compressors: sizes from 1,024 up to this */
    size_t per_factor_four;         /* sizes per factor of four: 2 double from size to size */
    size_t pool_bytes;              /* of the pool that messages come from; compressors use a
                                     * quarter */
    double density;                 /* of compression */
    const char *const *collectives; /* ended by NULL */
    const struct gw_compressor *const *compressors; /* ended by NULL */
    bool aggregation;                               /* measures aggregators, ... */
    bool network;                                   /* ... LogGP parameters ... */
    bool overlap;                                   /* ... and overlap factors */
    /* A backward pass of a trainer's network, for overlap factors: NULL, or called on several
     * threads, one at a time. */
    gw_backward *backward;
    void *backward_context;
    double session_s;               /* increase of the trainer's pass in a session by `topk` at this
                                     * density ... */
    size_t session_elements;        /* ... with this many elements in one group */
    const struct gw_cluster *older; /* of the same ranks, on rank 0: its curves replace those that
                                     * are not measured; or NULL */
    double precision;               /* repeat until the relative precision of the median is
                                     * this ... */
    double max_s_per_point;         /* ... or this much time has been measured */
    double time_s;                  /* for everything */
    const char *journal;            /* file that keeps measurements until all are done; or NULL */
    bool resume;                    /* continue an existing journal */
    uint64_t seed;                  /* of the order of measurements */
    const struct gw_clock *clock;   /* for everything but overlap, which uses the machine's */
    /* Called when another measurement begins, with the share that is done and a description; often
     * on rank 0; or NULL. */
    void (*on_progress)(void *context, double share, const char *what);
    void *progress_context;
    /*
     * NULL, or the GPU of each rank's compressors, and the communicator for collectives and
     * messages of memory of GPUs: with the same ranks (transport/gpu.h), and an urgent stream as
     * exec's.
     */
    struct gw_device *device;
    struct gw_communicator *gpu_communicator;
};

/* All collectives that can be measured, ended by NULL. */
extern const char *const gw_calibrated_collectives[];

/* True if several ranks are needed. */
static inline bool gw_calibration_exchanges(const struct gw_calibration *calibration) {
    return calibration->collectives[0] != NULL || calibration->network || calibration->overlap;
}

/* Settings without names, command and journal, for one minute; and changes to ten seconds or five
 * minutes. */
struct gw_calibration gw_calibration_defaults(void);
void gw_calibration_make_quick(struct gw_calibration *calibration);
void gw_calibration_make_thorough(struct gw_calibration *calibration);

/* True if it measures an aggregator. It measures the search in sketches whenever it measures a
 * compressor that sketches, whose curve is then of sketching alone. Not on GPUs. */
bool gw_calibrates(const struct gw_calibration *calibration, enum gw_aggregator by);

/* True if it measures a collective. */
static inline bool gw_calibrates_collective(const struct gw_calibration *calibration,
                                            const char *name) {
    const char *const *asked = calibration->collectives;
    while (*asked != NULL && strcmp(*asked, name) != 0) {
        asked++;
    }
    return *asked != NULL;
}

/* Lists names of collectives and compressors, "aggregation", "network" and "overlap", ended by
 * NULL. */
enum { GW_MAX_CALIBRATED = 2 * GW_MAX_COMPRESSORS };
void gw_calibrated_names(const char *out[GW_MAX_CALIBRATED]);

/* The arrays of a calibration that measures only what is named. */
struct gw_calibration_choice {
    const char *collectives[GW_MAX_COMPRESSORS];
    const struct gw_compressor *compressors[GW_MAX_COMPRESSORS];
};

/* Limits a calibration to the names in `text`, separated by commas. GW_BAD_INPUT for a name that is
 * unknown or given twice. */
enum gw_status gw_calibration_choose(const char *text, struct gw_calibration_choice *choice,
                                     struct gw_calibration *out, struct gw_error *error);

/*
 * All ranks call it with the same settings. Rank 0 gets the curves and the provenance; the others'
 * clusters have no provenance. GW_BAD_INPUT, on all ranks, for a journal that cannot be continued;
 * other failures may be of one rank only. The journal stays until the caller removes it.
 */
enum gw_status gw_calibrate(struct gw_communicator *communicator,
                            const struct gw_calibration *calibration, struct gw_cluster *out,
                            struct gw_error *error);

/* ---- an older calibration ------------------------------------------------------------------ */

/* Reads a cluster by name or path on rank 0, as other hosts may not have it; all ranks get it. */
enum gw_status gw_calibration_read(struct gw_communicator *communicator, const char *name,
                                   struct gw_cluster *out, struct gw_error *error);

/* GW_BAD_INPUT, on every rank, unless the cluster was calibrated with these hosts, in this order,
 * with this number of ranks, and on (cuda) GPUs or processors. Rank 0's cluster counts. */
enum gw_status gw_calibration_require_same_hosts(struct gw_communicator *communicator,
                                                 const struct gw_cluster *cluster, bool cuda,
                                                 struct gw_error *error);

/*
 * Lists reasons why the cluster's figures may not fit the job's hosts, links or ranks, as texts in
 * `arena`. Collective; takes some 100 ms for each two hosts if the file has links. Equal on every
 * rank.
 */
enum gw_status gw_calibration_uncertainty_reasons(struct gw_communicator *communicator,
                                                  const struct gw_cluster *cluster,
                                                  struct gw_arena *arena, char ***out,
                                                  size_t *count, struct gw_error *error);

/* Reads, on rank 0, the calibration to add to. GW_BAD_INPUT on all ranks unless it was calibrated
 * with these hosts (gw_calibration_require_same_hosts). *out may be freed on failure too. */
enum gw_status gw_calibration_read_older(struct gw_communicator *communicator, const char *path,
                                         bool cuda, struct gw_cluster *out, struct gw_error *error);

/* Adds parts that only the old calibration has to the new one: curves, the network, other keys. */
enum gw_status gw_calibration_add_older(struct gw_cluster *cluster, const struct gw_cluster *older,
                                        struct gw_error *error);

/* One size of a curve that was measured again. */
struct gw_check_row {
    const char *name;   /* the cluster's */
    bool is_compressor; /* if `aggregates`, an aggregator; sizes of both are elements */
    bool aggregates;
    size_t workers;
    double size;   /* bytes or elements */
    double file_s; /* the file's median */
    double file_p5_s, file_p95_s;
    struct gw_summary now_s;
    double change; /* now over then, minus 1 */
    bool moved;    /* beyond the tolerance and the spread of both, twice */
};

/*
 * A curve has moved if two of its sizes have; a single size may be where a library switches
 * algorithms, sometimes below that size and sometimes above. The file no longer describes the
 * cluster if a curve has moved, or if a quarter of the curves have a size that has.
 */
struct gw_check {
    struct gw_check_row *rows; /* on rank 0; those of a curve are adjacent */
    size_t count, moved;       /* sizes */
    size_t curves, moved_curves;
    bool describes;
};

/*
 * Measures some sizes of each wanted curve of the cluster again, at its density, for about
 * calibration->time_s. A size has moved if its median differs from the file's by more than
 * `tolerance`, relative, and its interval is outside the file's 5th to 95th percentile; sizes that
 * seem to have moved are measured twice. All ranks have the same cluster. GW_BAD_INPUT, on all
 * ranks, if no curve can be measured again; other failures may be of one rank only.
 */
enum gw_status gw_calibration_check(struct gw_communicator *communicator,
                                    const struct gw_calibration *calibration,
                                    const struct gw_cluster *cluster, double tolerance,
                                    struct gw_check *out, struct gw_error *error);
void gw_check_free(struct gw_check *check);

/*
 * The same for collectives and compressors of these names (each once, ended by NULL), for `time_s`
 * of a clock. Returns, on rank 0, a text in `arena` if the file no longer describes the cluster;
 * NULL: it does, or no curve can be measured again.
 */
enum gw_status gw_calibration_find_drift(struct gw_communicator *communicator,
                                         const struct gw_cluster *cluster, const char *const *names,
                                         double time_s, const struct gw_clock *clock,
                                         struct gw_arena *arena, char **out,
                                         struct gw_error *error);

/* ---- load by others ------------------------------------------------------------------------- */

/* The load of a job's machines during a measurement. */
struct gw_load_meter;

/* Collective, like gw_load_meter_end; the communicator must outlive the meter. */
enum gw_status gw_load_meter_open(struct gw_communicator *communicator, struct gw_load_meter **out,
                                  struct gw_error *error);
void gw_load_meter_close(struct gw_load_meter *meter);

/* Begins a measurement; and returns the load by others since then, on the machine with the most. */
void gw_load_meter_begin(struct gw_load_meter *meter);
enum gw_status gw_load_meter_end(struct gw_load_meter *meter, struct gw_disturbance *out,
                                 struct gw_error *error);

/* ---- benchmarks of compressors on given vectors --------------------------------------------- */

struct gw_bench {
    const struct gw_compressor *const *compressors; /* ended by NULL */
    size_t elements, kept;
    const float *u;        /* [elements]: selections are made from it */
    const float *gradient; /* [elements]: added to the residual */
    size_t threads;        /* of the CPU */
    size_t repeats;        /* of each compressor, at least 1 */
    uint64_t seed;
    struct gw_progress *progress; /* or NULL */
};

struct gw_bench_row {
    const struct gw_compressor *compressor;
    struct gw_summary select_s;         /* of a selection from u */
    struct gw_summary compress_s;       /* with the gradient added and selected elements cleared */
    double passes, compress_passes;     /* medians over that of a pass in the same repeats */
    size_t outliers, compress_outliers; /* repeats that are far from the median */
    bool waits;                         /* on a GPU: for a count, so that the GPU idles */
    double count_ratio;                 /* selected over kept */
    double
        energy_ratio; /* ||selected||^2 / ||top-k||^2; of codes 1 - ||u - decoded||^2 / ||u||^2 */
};

struct gw_bench_result {
    struct gw_summary read_pass_s; /* sum of |u| */
    struct gw_summary copy_s;      /* on a GPU: from its memory to its memory; otherwise 0 */
    size_t count;
    struct gw_bench_row *rows; /* in the order of the compressors */
};

/*
 * Compares compressors: their times with one pass over memory, and their selections with the exact
 * top-k. States warm up on u first; hard-threshold gets the magnitude of the k-th largest element,
 * layer-drop gets layers of about k elements.
 *
 * On a GPU (`device`; NULL: this machine's processors), for compressors that exist for GPUs, times
 * are by the GPU's clock, and begin with none of the data in its cache. A pass is taken to cost
 * half of a copy, which reads and writes: that is the memory's rate, whatever rate a kernel that
 * only reads reaches.
 */
enum gw_status gw_bench_run(const struct gw_bench *bench, struct gw_device *device,
                            struct gw_bench_result *out, struct gw_error *error);
void gw_bench_free(struct gw_bench_result *result);

#endif
