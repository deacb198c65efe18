/*
 * libgradweave: plan merges, predict iterations and compress gradients from your own trainer.
 *
 *     #include <gradweave.h>              cc trainer.c $(pkg-config --cflags --libs gradweave)
 *
 * No function here prints or exits. Only gradweave_rank, gradweave_advise and gradweave_sweep start
 * threads without being told how many; a session has one for its exchanges, and a calibration one
 * at a time. Calls that share no arguments may run at the same time. Times are seconds, sizes are
 * elements or bytes as the name says.
 */
#ifndef GRADWEAVE_H
#define GRADWEAVE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GRADWEAVE_API __attribute__((visibility("default")))

/* "0.1.0" */
GRADWEAVE_API const char *gradweave_version(void);

/* ---- errors -------------------------------------------------------------------------------- */

/* Status of every call; a failure also leaves a message that says what is expected. */
enum gradweave_status {
    GRADWEAVE_OK = 0,
    GRADWEAVE_BAD_INPUT = 2,
    GRADWEAVE_FAILED = 3, /* out of memory */
};

struct gradweave_error {
    char message[512];
};

/* ---- planning ------------------------------------------------------------------------------ */

/* A measured point; size is above 0. */
struct gradweave_point {
    double size, time_s;
};

/*
 * Cost of an exchange or a compressor at size n: startup_s + per_unit_s * n + per_nlog2n_s * n *
 * log2(n), and 0 at n = 0. For an exchange n is the bytes that one worker contributes, startup_s is
 * alpha and per_unit_s beta (OMGS paper, equation (11)); for a compressor n is the elements of a
 * group (equation (10), without its rho).
 *
 * Alternatively two or more measured points of ascending sizes, interpolated linearly. Both end
 * segments are extrapolated, the first no lower than 0, the last without falling. A point that
 * takes over 5% less time than a smaller one is refused.
 *
 * Times here and below, also for each byte or element, are 0 to 1e6 seconds.
 */
struct gradweave_curve {
    double startup_s, per_unit_s, per_nlog2n_s;
    const struct gradweave_point *points; /* [point_count] */
    size_t point_count;                   /* 0: the coefficients */
};

/*
 * A network's gradients, in forward order: the backward pass visits them from the last to the
 * first. backward_s is the time from the gradient before it being ready to this one being ready.
 */
struct gradweave_network {
    size_t tensor_count;
    const uint64_t *elements; /* [tensor_count], each >= 1, together at most 2^53 */
    const double *backward_s; /* [tensor_count] */
    double forward_s, update_s;
    unsigned bytes_per_element; /* of a dense exchange; 0: 4, those of a float */
};

struct gradweave_costs {
    double density;                  /* share of elements kept, (0, 1); 1: dense exchange */
    struct gradweave_curve exchange; /* allgather of 8 bytes a kept element; allreduce if dense */
    struct gradweave_curve compress; /* not used for dense exchange */
};

/* Tensors that travel together: first, first - 1, ..., last, in the order of their gradients. */
struct gradweave_group {
    size_t first, last;
};

struct gradweave_plan {
    size_t group_count;
    double iteration_s;   /* predicted: OMGS paper, equations (2)-(9) and (17) */
    double lower_bound_s; /* no plan can be faster than this; policy "optimal" meets it */
};

/*
 * Plans which neighbouring tensors are exchanged together. `policy` is as on the command line:
 * "optimal", "omgs", "mg-wfbp", "per-tensor", "single", "ddp", "threshold:8192", "bucket:26214400".
 * `groups` needs room for tensor_count of them and gets the plan's, in the order of their exchange:
 * the first begins with the last tensor, and the last ends with tensor 0. Every policy also finds
 * the optimum, for the plan's bound: in a millisecond for hundreds of tensors, seconds for ten
 * thousand. docs/examples/plan.c is a whole program.
 */
GRADWEAVE_API enum gradweave_status
gradweave_plan(const struct gradweave_network *network, const struct gradweave_costs *costs,
               const char *policy, struct gradweave_group *groups, struct gradweave_plan *plan,
               struct gradweave_error *error);

/* ---- predicting ---------------------------------------------------------------------------- */

/*
 * A question about a model on a cluster. Models and clusters are names of those that ship
 * ("resnet50") or paths of files: `gradweave calibrate` measures a cluster and writes its file.
 */
struct gradweave_question {
    const char *model, *cluster;
    size_t workers; /* P; 0: as many as the cluster has */
    double density; /* rho, share of elements that compressors keep, in (0, 1]; 0: 0.001 */
    /* Not 0: operations that run at once do not slow each other; 0: as the cluster's file says. */
    int no_interference;
    /* Micro-batches of an iteration, each a forward and a backward pass, whose gradients travel
     * with the last one's; at most 4096, 0: 1. */
    size_t accumulate;
};

/* A gradient of a model. */
struct gradweave_tensor {
    char name[1025];          /* of at most 1024 bytes, and a zero */
    uint64_t elements, bytes; /* in a dense exchange */
};

/*
 * Lists the tensors of a question's model in forward order. *count says how many `tensors` has room
 * for, and gets how many there are, which may be more: then the first are given.
 */
GRADWEAVE_API enum gradweave_status gradweave_model_tensors(const char *model,
                                                            struct gradweave_tensor *tensors,
                                                            size_t *count,
                                                            struct gradweave_error *error);

/* An iteration of a pipeline; its five parts add up to iteration_s. */
struct gradweave_prediction {
    const char *algorithm; /* as gradweave_algorithm_name() has it */
    double iteration_s, forward_s, backward_s, compress_s;
    double exposed_comm_s, other_s; /* exchanges that compute does not hide; update and waiting */
    double comm_s;                  /* that the network is busy, hidden or not */
    double bytes_per_worker;        /* that a worker sends */
    size_t group_count;             /* messages that the gradients are merged into */
};

/*
 * The first returns the name of pipeline i from 0 on ("dense", "omgs"), or NULL after the last; the
 * others whether it has a server (a rank beside the workers), and whether it compresses.
 */
GRADWEAVE_API const char *gradweave_algorithm_name(size_t i);
GRADWEAVE_API int gradweave_algorithm_has_server(size_t i);
GRADWEAVE_API int gradweave_algorithm_is_sparse(size_t i);

/*
 * Simulates an iteration of a pipeline. GRADWEAVE_BAD_INPUT for files that cannot be read, and for
 * pipelines that need a curve which the cluster's file lacks; the message says which.
 */
GRADWEAVE_API enum gradweave_status gradweave_predict(const struct gradweave_question *question,
                                                      const char *algorithm,
                                                      struct gradweave_prediction *prediction,
                                                      struct gradweave_error *error);

/*
 * Predicts every pipeline, on all cores, and gives the fastest first: *count says how many
 * `predictions` has room for, and gets how many there are, which may be more: then the fastest are
 * given. Those that the cluster's file does not allow are left out; fails if that is all of them.
 * docs/examples/predict.c is a whole program.
 */
GRADWEAVE_API enum gradweave_status gradweave_rank(const struct gradweave_question *question,
                                                   struct gradweave_prediction *predictions,
                                                   size_t *count, struct gradweave_error *error);

/*
 * A pipeline that may be recommended, and the factor by which it changed the iterations that
 * trainings of five small networks needed (docs/results/convergence.md).
 */
struct gradweave_advised {
    const char *algorithm;
    double density; /* that is asked for: the question's, or if that is 0 the one of the trainings
                       at which what is recommended trains soonest */
    double iteration_s;
    double expected_s; /* of training for each iteration that dense exchange needs: iteration_s x
                          median, and ddp's for the share of runs that never got to their goal */
    double least, median, most; /* NAN: no training has measured it */
};

/*
 * Advises as `gradweave advise` does: gives the pipelines that may be recommended, the one with
 * which training is soonest done first. *count says how many `advised` has room for, and gets how
 * many there are, which may be more: then the first are given. ddp may be there twice, by the
 * optimal plan too.
 */
GRADWEAVE_API enum gradweave_status gradweave_advise(const struct gradweave_question *question,
                                                     struct gradweave_advised *advised,
                                                     size_t *count, struct gradweave_error *error);

/*
 * Makes the plan of a question's pipeline by a policy (as in gradweave_plan; NULL: its own), for a
 * session (gradweave_session_open). *count says how many `groups` has room for - one for each
 * tensor always suffices - and gets how many there are. `path` becomes the plan's file; NULL: none.
 */
GRADWEAVE_API enum gradweave_status
gradweave_plan_pipeline(const struct gradweave_question *question, const char *algorithm,
                        const char *policy, const char *path, struct gradweave_group *groups,
                        size_t *count, struct gradweave_plan *plan, struct gradweave_error *error);

/*
 * Makes the fastest plan of all merges and choices, ways to travel as `gradweave plan --choices`
 * takes them ("dense,topk:0.01"), that keeps at least a share of a bell-shaped gradient's energy
 * (0: any). `count`, `groups` and `path` as for gradweave_plan_pipeline; ways [*count] gets the
 * number of each group's choice.
 */
GRADWEAVE_API enum gradweave_status
gradweave_plan_mixed(const struct gradweave_question *question, const char *choices, double keep,
                     const char *path, struct gradweave_group *groups, size_t *ways, size_t *count,
                     struct gradweave_plan *plan, struct gradweave_error *error);

/* Times, from an iteration's start, at which a group is ready, compressed and exchanged. */
struct gradweave_group_times {
    struct gradweave_group tensors;
    double ready_s, compressed_s, exchange_start_s, exchange_end_s;
};

/*
 * An explanation of the time that an iteration with a plan takes. From critical_group on the
 * network does not pause, so that iteration_s = compute_s + exchange_s + update_s; the larger of
 * the first two is the bottleneck.
 */
struct gradweave_explanation {
    double iteration_s, lower_bound_s; /* as in struct gradweave_plan */
    size_t critical_group;
    double compute_s;  /* until the critical group is compressed */
    double exchange_s; /* of it and all groups after it */
    double update_s;
    double comm_s, exposed_comm_s; /* of all exchanges; after the last compression */
};

/*
 * Plans a question's model by a policy (as gradweave_plan has it) for a compressor ("none": dense)
 * and explains the plan. *count says how many `groups` has room for - one for each tensor always
 * suffices - and gets how many there are, in the order of their exchange.
 */
GRADWEAVE_API enum gradweave_status
gradweave_explain(const struct gradweave_question *question, const char *policy,
                  const char *compressor, struct gradweave_group_times *groups, size_t *count,
                  struct gradweave_explanation *explanation, struct gradweave_error *error);

/* ---- sweeping ------------------------------------------------------------------------------- */

/*
 * A grid of questions: every combination of the values of its axes, each as `gradweave sweep` takes
 * it: names with commas between, numbers ("2,4,8", "1e-4:1e-1:log10"), factors ("0.5x,1x"). NULL:
 * the default that stands beside it.
 */
struct gradweave_grid {
    const char *model, *cluster; /* required */
    const char *algorithm;       /* all */
    const char *workers;         /* as many as the cluster has */
    const char *density;         /* 0.001 */
    const char *bandwidth;       /* 1x: as it was measured */
    const char *straggler;       /* 1: factor on the compute times of worker 0 */
    const char *noise;           /* 0: standard deviation of the logarithm of each compute time */
    size_t accumulate;           /* micro-batches of an iteration, as in a question; 0: 1 */
    size_t iterations;           /* of each point; 0: 1 */
    uint64_t seed;               /* of the noise */
    size_t threads;              /* 0: as many as there are cores */
};

/* A point of the grid, valid during the call that it is passed to. */
struct gradweave_sweep_point {
    uint64_t number, count; /* counted from 0, the algorithm changing first; points in all */
    const char *model, *cluster, *algorithm;
    size_t workers; /* 0: as many as the cluster has, of a point without prediction */
    double density, bandwidth, straggler, noise;
    const struct gradweave_prediction *prediction; /* means over the iterations; NULL: none, ... */
    const char *why;                               /* ... for this reason */
};

/* Receives a point; any return value but 0 ends the sweep. */
typedef int gradweave_take_point(const struct gradweave_sweep_point *point, void *context);

/* Predicts all points, and gives them to `take` in their order, on the calling thread. */
GRADWEAVE_API enum gradweave_status gradweave_sweep(const struct gradweave_grid *grid,
                                                    gradweave_take_point *take, void *context,
                                                    struct gradweave_error *error);

/* ---- validating ----------------------------------------------------------------------------- */

/* A measured iteration and its prediction; unused members are 0. */
struct gradweave_measurement {
    const char *algorithm; /* NULL: no pipeline, and not predicted, only written down */
    const char *name;      /* NULL: the algorithm's */
    /* The plan that it ran with, as in gradweave_training; none: by the algorithm's policy. */
    const struct gradweave_group *groups;
    size_t group_count;
    struct gradweave_prediction measured;   /* iteration_s is above 0; its parts, where known */
    struct gradweave_prediction prediction; /* filled */
    /* Filled: the 95% interval of its iteration_s; both 0: unknown. */
    double prediction_low_s, prediction_high_s;
    double error;               /* filled: (predicted - measured) / measured */
    const double *iterations_s; /* [iteration_count], each by itself; NULL: not known */
    size_t iteration_count;
    /* Filled: 50th, 95th, 99th percentile of these, and by the noise; 0: of under 5, 59, 299. */
    double measured_percentiles_s[3], prediction_percentiles_s[3];
};

struct gradweave_validation {
    size_t iterations; /* that the measurements are of, for the file */
    double tolerance;  /* largest error that is allowed, for the file; 0: any */
    const char *path;  /* becomes the document `gradweave/validation@1`; NULL: none */
    const char *noise; /* file `gradweave/noise@1`, to predict percentiles by; NULL: none are */
    double mean_error, largest_error; /* filled, of the errors' magnitudes */
};

/*
 * Predicts the pipelines of `count` measurements of your own, at least one, and fills in their
 * errors. If gradients decide how much is sent ("exdyna") and bytes_per_worker was measured, the
 * prediction is for that many bytes.
 */
GRADWEAVE_API enum gradweave_status gradweave_validate(const struct gradweave_question *question,
                                                       struct gradweave_measurement *measurements,
                                                       size_t count,
                                                       struct gradweave_validation *validation,
                                                       struct gradweave_error *error);

/* ---- compression --------------------------------------------------------------------------- */

/* A selected element and its index. */
struct gradweave_entry {
    float value;
    uint32_t index;
};

/* Returns the name of compressor i, counted from 0; NULL after the last. */
GRADWEAVE_API const char *gradweave_compressor_name(size_t i);

/* Options for compressing a tensor, or merged ones, on one worker; unused members are 0. */
struct gradweave_compression {
    const char *compressor; /* "topk" and so on: gradweave_compressor_name() */
    size_t elements, kept;  /* 1 <= kept <= elements < 2^32; approximate ones select about `kept` */
    size_t worker, workers; /* worker < workers < 2^32; 0 and 0 are as 0 and 1 */
    uint64_t seed;          /* the same on all workers */
    double threshold;       /* magnitude: "hard-threshold" sends what reaches it (0: all), "exdyna"
                             * begins with it (0: 1 / (2 sqrt(kept))) */
    const size_t *layers;   /* [layer_count]: elements of each merged tensor; NULL: one tensor */
    size_t layer_count;
    size_t threads; /* that share the work; 0 is as 1; what is selected does not depend on it */
};

/* A compressor's state between iterations. */
struct gradweave_compressor;

/* *out is closed with gradweave_compressor_close(). */
GRADWEAVE_API enum gradweave_status
gradweave_compressor_open(const struct gradweave_compression *compression,
                          struct gradweave_compressor **out, struct gradweave_error *error);

/*
 * Takes the next step of error feedback: residual += gradient, both [elements]. The selected
 * elements go to *entries, *count of them in ascending index order, valid until the next call, and
 * are cleared in the residual: entries plus residual equal the accumulated sum bit for bit.
 * Whenever this fails, as it does for a NaN in the sum, the gradient may already have been added: a
 * second try would add it twice.
 *
 * "randk" selects the same elements on all workers, so that values can be summed without indices.
 * With "exdyna", "exdyna-trend" and "exdyna-static" each worker selects in a partition of its own;
 * all send their values at every selected index, and clear those in their residuals.
 */
GRADWEAVE_API enum gradweave_status gradweave_compress(struct gradweave_compressor *compressor,
                                                       const float *gradient, float *residual,
                                                       const struct gradweave_entry **entries,
                                                       size_t *count,
                                                       struct gradweave_error *error);

/*
 * Tells a compressor that adapts ("exdyna" and its kin) how many elements each worker selected
 * in the last iteration: counts [workers], the same on all workers. Others ignore it.
 */
GRADWEAVE_API void gradweave_compressor_observe(struct gradweave_compressor *compressor,
                                                const size_t *counts);

/* Closes the compressor; NULL is allowed. */
GRADWEAVE_API void gradweave_compressor_close(struct gradweave_compressor *compressor);

#ifdef __cplusplus
}
#endif

#include <gradweave_ranks.h>

#endif
