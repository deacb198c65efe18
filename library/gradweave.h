/*
 * libgradweave: plan merges, predict iterations and compress gradients from your own trainer.
 *
 *     #include <gradweave.h>              cc trainer.c $(pkg-config --cflags --libs gradweave)
 *
 * Nothing here prints or exits. Only gradweave_rank and gradweave_sweep start threads without being
 * told how many; a session has one for its exchanges, and a calibration one at a time. Calls that
 * share no arguments may run at the same time. Times are seconds, sizes are elements or bytes as
 * the name says.
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

/* What every call returns; on failure it also leaves a message that says what would be right. */
enum gradweave_status {
    GRADWEAVE_OK = 0,
    GRADWEAVE_BAD_INPUT = 2,
    GRADWEAVE_FAILED = 3, /* out of memory */
};

struct gradweave_error {
    char message[512];
};

/* ---- planning ------------------------------------------------------------------------------ */

/* What was measured at one size, which is above 0. */
struct gradweave_point {
    double size, time_s;
};

/*
 * What something costs at size n: startup_s + per_unit_s * n + per_nlog2n_s * n * log2(n), and
 * nothing at n = 0. For an exchange n is the bytes that one worker contributes, startup_s is alpha
 * and per_unit_s beta (OMGS paper, equation (11)); for a compressor n is the elements of a group
 * (equation (10), without its rho).
 *
 * Or, in place of these three, two or more measured points with ascending sizes: straight between
 * them, and on beyond both ends as at that end, but never below zero, and never falling behind the
 * last. One that takes over 5% less than a smaller one is refused.
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
 * Which neighbouring tensors to exchange together. `policy` is as on the command line: "optimal",
 * "omgs", "mg-wfbp", "per-tensor", "single", "ddp", "threshold:8192", "bucket:26214400". `groups`
 * needs room for tensor_count of them and gets the plan's, in the order of their exchange: the
 * first begins with the last tensor, and the last ends with tensor 0. Whatever the policy, the
 * optimum is found for the bound: in a millisecond for hundreds of tensors, seconds for ten
 * thousand. docs/examples/plan.c is a whole program.
 */
GRADWEAVE_API enum gradweave_status
gradweave_plan(const struct gradweave_network *network, const struct gradweave_costs *costs,
               const char *policy, struct gradweave_group *groups, struct gradweave_plan *plan,
               struct gradweave_error *error);

/* ---- predicting ---------------------------------------------------------------------------- */

/*
 * What is asked about. Models and clusters are names of those that ship ("resnet50") or paths of
 * files: `gradweave calibrate` measures a cluster and writes its file.
 */
struct gradweave_question {
    const char *model, *cluster;
    size_t workers;   /* P; 0: as many as the cluster has */
    double density;   /* rho, share of elements that compressors keep, in (0, 1]; 0: 0.001 */
    int interference; /* not 0: what runs at once slows each other, as the cluster's file says */
};

/* A gradient of a model's. */
struct gradweave_tensor {
    char name[1025];          /* of at most 1024 bytes, and a zero */
    uint64_t elements, bytes; /* in a dense exchange */
};

/*
 * The tensors of a model, which is a question's, in forward order. *count says how many `tensors`
 * has room for, and gets how many there are, which may be more: then the first are given.
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
 * The name of pipeline number i, counted from 0: "dense", "omgs"; NULL behind the last. And whether
 * it has a server, a rank beside the workers: not 0.
 */
GRADWEAVE_API const char *gradweave_algorithm_name(size_t i);
GRADWEAVE_API int gradweave_algorithm_has_server(size_t i);

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
 * The plan that a question's pipeline makes by a policy (as gradweave_plan has it; NULL: its own),
 * for a session (gradweave_session_open). *count says how many `groups` has room for - one for each
 * tensor always suffices - and gets how many there are. `path` becomes the plan's file; NULL: none.
 */
GRADWEAVE_API enum gradweave_status
gradweave_plan_pipeline(const struct gradweave_question *question, const char *algorithm,
                        const char *policy, const char *path, struct gradweave_group *groups,
                        size_t *count, struct gradweave_plan *plan, struct gradweave_error *error);

/* When a group's gradients are there, compressed, and exchanged, since the iteration began. */
struct gradweave_group_times {
    struct gradweave_group tensors;
    double ready_s, compressed_s, exchange_start_s, exchange_end_s;
};

/*
 * Why an iteration with a plan takes as long as it does. From critical_group on the network does
 * not pause, so that iteration_s = compute_s + exchange_s + update_s; the larger of the first two
 * is the bottleneck.
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
    size_t iterations;           /* of each point; 0: 1 */
    uint64_t seed;               /* of the noise */
    size_t threads;              /* 0: as many as there are cores */
};

/* One of its points, which lives as long as the call that it is given to. */
struct gradweave_sweep_point {
    uint64_t number, count; /* counted from 0, the algorithm changing first; points in all */
    const char *model, *cluster, *algorithm;
    size_t workers; /* 0: as many as the cluster has, of a point without prediction */
    double density, bandwidth, straggler, noise;
    const struct gradweave_prediction *prediction; /* means over the iterations; NULL: none, ... */
    const char *why;                               /* ... for this reason */
};

/* Takes a point; the sweep goes on until it returns something else than 0. */
typedef int gradweave_take_point(const struct gradweave_sweep_point *point, void *context);

/* Predicts all points, and gives them to `take` in their order, on the calling thread. */
GRADWEAVE_API enum gradweave_status gradweave_sweep(const struct gradweave_grid *grid,
                                                    gradweave_take_point *take, void *context,
                                                    struct gradweave_error *error);

/* ---- validating ----------------------------------------------------------------------------- */

/* What an iteration took where it was measured, and what was predicted; unused members are 0. */
struct gradweave_measurement {
    const char *algorithm; /* NULL: no pipeline, and not predicted, only written down */
    const char *name;      /* NULL: the algorithm's */
    /* The plan that it ran with, as gradweave_training has it; none: by the algorithm's policy. */
    const struct gradweave_group *groups;
    size_t group_count;
    struct gradweave_prediction measured;   /* iteration_s is above 0; its parts, where known */
    struct gradweave_prediction prediction; /* filled */
    double error;                           /* filled: (predicted - measured) / measured */
    const double *iterations_s;             /* [iteration_count], each by itself; NULL: not known */
    size_t iteration_count;
    /* Filled, of these, and by the noise: 50th, 95th and 99th; 0: of less than 5, 59, 299. */
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
 * Predicts the pipelines of `count` measurements of your own, at least one, and says how far off
 * the predictions are. Where gradients decide how much is sent ("exdyna") it is predicted for what
 * was sent, if bytes_per_worker was measured.
 */
GRADWEAVE_API enum gradweave_status gradweave_validate(const struct gradweave_question *question,
                                                       struct gradweave_measurement *measurements,
                                                       size_t count,
                                                       struct gradweave_validation *validation,
                                                       struct gradweave_error *error);

/* ---- compression --------------------------------------------------------------------------- */

/* One element that travels. */
struct gradweave_entry {
    float value;
    uint32_t index;
};

/* The name of compressor number i, counted from 0; NULL behind the last. */
GRADWEAVE_API const char *gradweave_compressor_name(size_t i);

/* How one tensor, or a group of merged ones, is compressed on one worker; unused members are 0. */
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

/* Holds what the compressor keeps from one iteration to the next. */
struct gradweave_compressor;

/* *out is closed with gradweave_compressor_close(). */
GRADWEAVE_API enum gradweave_status
gradweave_compressor_open(const struct gradweave_compression *compression,
                          struct gradweave_compressor **out, struct gradweave_error *error);

/*
 * One step of error feedback, the next iteration: residual += gradient, both [elements]; what is
 * selected goes to *entries, *count of them in ascending index order, which live until the next
 * call, and is cleared in the residual. What is sent plus what stays is bit for bit what was
 * accumulated. Whenever this fails, as it does for a NaN in the sum, the gradient may already have
 * been added: a second try would add it twice.
 *
 * "randk" selects the same elements on all workers, so that values can be summed without indices.
 * Of "exdyna", "exdyna-trend" and "exdyna-static" each worker selects in a partition of its own;
 * all send their values of what any of them selects, and clear those in their residuals.
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

/* NULL is allowed. */
GRADWEAVE_API void gradweave_compressor_close(struct gradweave_compressor *compressor);

/* ---- ranks --------------------------------------------------------------------------------- */

/* The processes that train together, each of which is one rank of them. */
struct gradweave_ranks;

/*
 * Joins the MPI job that this process was started in (by mpirun or srun), and begins MPI unless
 * that is done: with MPI_THREAD_MULTIPLE, if the trainer calls MPI as well. GRADWEAVE_BAD_INPUT
 * where libgradweave_mpi.so, beside this library, or the MPI that it was built with is missing.
 */
GRADWEAVE_API enum gradweave_status gradweave_join_mpi(struct gradweave_ranks **out,
                                                       struct gradweave_error *error);

/*
 * What a trainer lends that has its ranks joined already: functions of its own process group. All
 * but the last two return 0, or else have failed. They are called by one thread at a time, not
 * always the same one; collectives by all ranks in the same order. `receive` never overlaps `send`.
 */
struct gradweave_process_group {
    const char *name; /* what it is: "gloo, PyTorch 2.15.0"; NULL: nobody says */
    int rank, size;
    void *context; /* their first argument */

    /* receive[i] = the sum over ranks of send[i], the same bits on every rank. */
    int (*allreduce)(void *context, const float *send, float *receive, size_t count);
    /* receive[r * bytes ..] = rank r's `bytes` bytes. */
    int (*allgather)(void *context, const void *send, size_t bytes, void *receive);
    /* data = the root's. */
    int (*broadcast)(void *context, int root, void *data, size_t bytes);
    /* As allreduce and allgather, on the root alone; elsewhere `receive` is not looked at. */
    int (*reduce)(void *context, int root, const float *send, float *receive, size_t count);
    int (*gather)(void *context, int root, const void *send, size_t bytes, void *receive);
    /* receive = the root's send[r * bytes ..] on rank r. */
    int (*scatter)(void *context, int root, const void *send, size_t bytes, void *receive);

    /*
     * Messages between two ranks, in the order in which they are started. Both return at once;
     * what is started is waited for by its handle, once.
     */
    int (*start_send)(void *context, int to, const void *data, size_t bytes, uintptr_t *handle);
    int (*start_receive)(void *context, int from, void *data, size_t bytes, uintptr_t *handle);
    int (*wait)(void *context, uintptr_t handle);

    /*
     * For gradweave_calibrate, and sessions on GPUs, which take all ranks: the group of the first
     * `size` ranks, which is these functions with the context *part, and is closed by `close`. All
     * ranks call it in the same order; those beyond have no part, and leave *part as it is. NULL:
     * there are no such groups.
     */
    int (*open_first)(void *context, int size, void **part);

    const char *(*complain)(void *context); /* why the last call failed; NULL: nobody knows */
    void (*close)(void *context); /* when the ranks are left; NULL: nothing is to be done */
};

GRADWEAVE_API enum gradweave_status
gradweave_join_group(const struct gradweave_process_group *group, struct gradweave_ranks **out,
                     struct gradweave_error *error);

GRADWEAVE_API int gradweave_ranks_own(const struct gradweave_ranks *ranks);
GRADWEAVE_API int gradweave_ranks_count(const struct gradweave_ranks *ranks);

/* Rank 0's data, on every rank: parameters to begin with. No session may be in an iteration. */
GRADWEAVE_API enum gradweave_status gradweave_ranks_broadcast(struct gradweave_ranks *ranks,
                                                              void *data, size_t bytes,
                                                              struct gradweave_error *error);

/* After their sessions are closed. NULL is allowed. */
GRADWEAVE_API void gradweave_leave(struct gradweave_ranks *ranks);

/* ---- calibrating --------------------------------------------------------------------------- */

/* What is measured of ranks, the same on all of them; unused members are 0. */
struct gradweave_calibration {
    const char *name;       /* the cluster's; NULL: that of its file, without folder and ending */
    const char *command;    /* what asked for it, kept in the file; NULL: nothing */
    const char *compressor; /* "topk,randk": only these, with everything else; NULL: all */
    /* "allgather,topk,overlap": only these collectives and compressors, `network` (messages) and
     * `overlap`, and then no `compressor`; NULL: everything. */
    const char *only;
    double density;      /* of compression, (0, 1]; 0: 0.001 */
    double time_s;       /* for everything; 0: 55 */
    double precision;    /* until medians are known to this share, (0, 1]; 0: 0.02 */
    size_t max_bytes;    /* of messages, 4096 to 2^27; 0: 16 MiB */
    size_t max_elements; /* of compression, 4096 to 2^28; 0: 2^24 */
    int replace;         /* not 0: also a file that is no cluster */
    /* One backward pass of the trainer's network on this rank, which exchanges nothing: 0, or else
     * it has failed. It is called on the calling thread and on others, one at a time, also while
     * the calling thread exchanges: for how much passes and exchanges slow each other. NULL: that
     * is measured of compression alone. */
    int (*backward)(void *context);
    void *backward_context; /* its argument */
    /* Called on rank 0, on the calling thread: which share is done, what comes next. NULL: not. */
    void (*progress)(void *context, double share, const char *what);
    void *progress_context; /* its first argument */
};

/*
 * Measures what the ranks' collectives and messages and this library's compressors cost, as
 * `gradweave calibrate` does, by the same code, and writes the cluster's file at `path` on rank 0.
 * All ranks call it; no session of theirs may be in an iteration. A process group that is lent must
 * open groups of its first ranks. GRADWEAVE_BAD_INPUT on all ranks for what is asked wrongly, for
 * a file of another kind at `path`, and for a single rank that is to exchange something;
 * GRADWEAVE_FAILED on all ranks if `path` cannot be written. Other failures may be one rank's
 * alone, and then others may wait for it: its process should end.
 */
GRADWEAVE_API enum gradweave_status
gradweave_calibrate(const struct gradweave_calibration *calibration, struct gradweave_ranks *ranks,
                    const char *path, struct gradweave_error *error);

/* ---- training ------------------------------------------------------------------------------ */

/* Where a trainer's gradients are made on a GPU. */
struct gradweave_gpu {
    size_t ordinal; /* as CUDA counts those that this process sees */
    void *stream;   /* the cudaStream_t that makes them; NULL: the default one */
};

/* What a session exchanges, the same on all ranks but for `gpu`; unused members are 0. */
struct gradweave_training {
    size_t tensor_count;
    const uint64_t *elements;          /* [tensor_count], in forward order */
    const char *algorithm;             /* "omgs": gradweave_algorithm_name() */
    const char *compressor, *exchange; /* in place of the algorithm's, as `simulate` takes them */
    double density;                    /* (0, 1]; 0: 0.001 */
    /* The plan (gradweave_plan_pipeline), whatever the algorithm's policy; none: one group. */
    const struct gradweave_group *groups;
    size_t group_count;
    int average; /* not 0: aggregates are means over the workers, otherwise sums */
    uint64_t seed;
    const struct gradweave_gpu *gpu; /* each rank's own; NULL, on all: gradients are the host's */
};

/*
 * A session runs the exchanges of an iteration while the trainer computes: the same schedule that
 * gradweave_predict simulates, by a thread of its own. docs/examples/train.c is a whole trainer.
 *
 *     for each iteration:
 *         gradweave_session_begin(session, &error);
 *         forward pass
 *         backward pass: gradweave_session_ready(session, i, gradient, gradient, &error) for each
 *                        tensor i once its gradient is there
 *         gradweave_session_wait(session, &error);
 *         optimiser, with the aggregates that stand where the gradients were
 *
 * Of pipelines with a server ("ps") the last rank is that, and no worker: it has no gradients, and
 * only begins and waits. When a call fails the session is over, and other ranks may wait for this
 * one: its process should end.
 *
 * On a GPU gradients, results and aggregates are in its memory (which nothing checks), and what is
 * done with them is on streams of the session's own, which wait for the trainer's: only
 * gradweave_session_wait holds up the calling thread, and its GPU becomes the thread's current one.
 * Over MPI data travels by NCCL, where this library was built with it and all ranks have it and a
 * GPU each, or straight from the GPU where MPI can; otherwise, and over a process group that is
 * lent, through memory of the host. This was tested on a GPU that is emulated, and has not run on
 * hardware.
 */
struct gradweave_session;

/*
 * All ranks call it. Both live as long as the session. GRADWEAVE_BAD_INPUT, on all ranks, if one
 * lacks its GPU, this library was built without CUDA, or the compressor is not for GPUs.
 */
GRADWEAVE_API enum gradweave_status
gradweave_session_open(const struct gradweave_training *training, struct gradweave_ranks *ranks,
                       struct gradweave_session **out, struct gradweave_error *error);

/* Whether this rank is the server, not 0, and no worker. */
GRADWEAVE_API int gradweave_session_serves(const struct gradweave_session *session);

/* An iteration begins. */
GRADWEAVE_API enum gradweave_status gradweave_session_begin(struct gradweave_session *session,
                                                            struct gradweave_error *error);

/* The backward pass begins: only for what gradweave_session_measure says. */
GRADWEAVE_API void gradweave_session_backward(struct gradweave_session *session);

/*
 * The gradient of a tensor, [its elements], is there: from any thread, in any order, each tensor
 * once. It is read before this returns, and added to the residual or copied; if it is the last of
 * its group that the plan waits for, the group is compressed. The aggregate is written to `result`,
 * which may be `gradient`, by the time that gradweave_session_wait returns; NULL: it is only to be
 * had of gradweave_session_aggregate. On a GPU the gradient is there once all that the trainer's
 * stream has by now is done; it is read by the time that gradweave_session_wait returns.
 */
GRADWEAVE_API enum gradweave_status gradweave_session_ready(struct gradweave_session *session,
                                                            size_t tensor, const float *gradient,
                                                            float *result,
                                                            struct gradweave_error *error);

/* Waits until all is exchanged. A gradient that did not come counts as zero. */
GRADWEAVE_API enum gradweave_status gradweave_session_wait(struct gradweave_session *session,
                                                           struct gradweave_error *error);

/* A tensor's aggregate, until the next iteration begins; on a GPU, of its memory. NULL on a server.
 */
GRADWEAVE_API const float *gradweave_session_aggregate(const struct gradweave_session *session,
                                                       size_t tensor);

/* After waiting, on all ranks: fails unless all workers hold the same aggregates, bit for bit. */
GRADWEAVE_API enum gradweave_status gradweave_session_verify(struct gradweave_session *session,
                                                             struct gradweave_error *error);

/*
 * After waiting, on all ranks: where the time of the last iteration went, in means over workers,
 * without the optimiser; as gradweave_predict has it.
 */
GRADWEAVE_API enum gradweave_status gradweave_session_measure(struct gradweave_session *session,
                                                              struct gradweave_prediction *measured,
                                                              struct gradweave_error *error);

/*
 * The same as a timeline of all workers, which ui.perfetto.dev opens (`gradweave simulate --trace`
 * writes the predicted one): in a file at `path`, on the ranks that give one.
 */
GRADWEAVE_API enum gradweave_status gradweave_session_trace(struct gradweave_session *session,
                                                            const char *path,
                                                            struct gradweave_error *error);

/*
 * What the session keeps on this rank from one iteration to the next: the residual, what the
 * compressor has adapted to, and which iteration comes next. save writes it to `state`, which has
 * room for gradweave_session_state_size() bytes, always as many of one session; each rank saves its
 * own. GRADWEAVE_BAD_INPUT within an iteration.
 */
GRADWEAVE_API size_t gradweave_session_state_size(struct gradweave_session *session);
GRADWEAVE_API enum gradweave_status gradweave_session_save(struct gradweave_session *session,
                                                           void *state,
                                                           struct gradweave_error *error);

/*
 * The session goes on, bit for bit, as the saved one would have, if that was opened for the same
 * training by as many ranks, and saved by this one; all of them load. Otherwise, or if `state`
 * [size] is cut off or damaged, GRADWEAVE_BAD_INPUT, and nothing is changed.
 */
GRADWEAVE_API enum gradweave_status gradweave_session_load(struct gradweave_session *session,
                                                           const void *state, size_t size,
                                                           struct gradweave_error *error);

/*
 * For a job that goes on with other ranks, or by another plan or pipeline: adds the residual in a
 * state of a session with the same tensors to this one's, from which it travels later. If each old
 * rank's state is added on one new rank, no gradient is lost. What compressors have adapted to
 * begins anew. GRADWEAVE_BAD_INPUT as above, or if this rank keeps no residual.
 */
GRADWEAVE_API enum gradweave_status
gradweave_session_add_residual(struct gradweave_session *session, const void *state, size_t size,
                               struct gradweave_error *error);

/*
 * What this rank has not sent yet, to `residual` of as many floats as all tensors have elements,
 * those of the last tensor first; scaled as what travels, so that of means over P workers it is 1/P
 * of gradients. Zeros of a pipeline, or on a server, that keeps nothing back. GRADWEAVE_BAD_INPUT
 * within an iteration.
 */
GRADWEAVE_API enum gradweave_status gradweave_session_residual(struct gradweave_session *session,
                                                               float *residual,
                                                               struct gradweave_error *error);

/* NULL is allowed. */
GRADWEAVE_API void gradweave_session_close(struct gradweave_session *session);

#ifdef __cplusplus
}
#endif

#endif
