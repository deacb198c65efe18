/*
 * Functions for ranks that train together: they join each other, calibrate, and exchange gradients.
 * gradweave.h includes this file.
 */
#ifndef GRADWEAVE_RANKS_H
#define GRADWEAVE_RANKS_H

#include <gradweave.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- ranks --------------------------------------------------------------------------------- */

/* The processes that train together, each of which is one rank. */
struct gradweave_ranks;

/*
 * Joins the MPI job that this process was started in (by mpirun or srun), and begins MPI unless
 * that is done: with MPI_THREAD_MULTIPLE, if the trainer calls MPI as well. GRADWEAVE_BAD_INPUT
 * where libgradweave_mpi.so, beside this library, or the MPI that it was built with is missing.
 */
GRADWEAVE_API enum gradweave_status gradweave_join_mpi(struct gradweave_ranks **out,
                                                       struct gradweave_error *error);

/* The types of gradients' numbers. */
enum gradweave_number { GRADWEAVE_FLOAT, GRADWEAVE_BF16, GRADWEAVE_FP16 };

/*
 * A process group that a trainer lends, if its ranks are already joined. All functions but the last
 * two return 0 on success. They are called by one thread at a time, not always the same one;
 * collectives by all ranks in the same order. `receive` never overlaps `send`.
 */
struct gradweave_process_group {
    const char *name; /* description, "gloo, PyTorch 2.15.0"; or NULL */
    int rank, size;
    void *context; /* their first argument */

    /* receive[i] = the sum over ranks of send[i], the same bits on every rank. `type` is an enum
     * gradweave_number. */
    int (*allreduce)(void *context, int type, const void *send, void *receive, size_t count);
    /* receive[r * bytes ..] = rank r's `bytes` bytes. */
    int (*allgather)(void *context, const void *send, size_t bytes, void *receive);
    /* data = the root's. */
    int (*broadcast)(void *context, int root, void *data, size_t bytes);
    /* Like allgather, on the root alone; other ranks' `receive` is not accessed. */
    int (*gather)(void *context, int root, const void *send, size_t bytes, void *receive);
    /* receive = the root's send[r * bytes ..] on rank r. */
    int (*scatter)(void *context, int root, const void *send, size_t bytes, void *receive);
    /* receive[r * bytes ..] = rank r's send[own rank * bytes ..]. */
    int (*alltoall)(void *context, const void *send, size_t bytes, void *receive);

    /* Messages between two ranks, in the order in which they are started. Both functions return at
     * once; each message is waited for by its handle, once. */
    int (*start_send)(void *context, int to, const void *data, size_t bytes, uintptr_t *handle);
    int (*start_receive)(void *context, int from, void *data, size_t bytes, uintptr_t *handle);
    int (*wait)(void *context, uintptr_t handle);

    /* For gradweave_calibrate and sessions on GPUs, which need it: opens the group of the first
     * `size` ranks, used with these functions and the context *part, and closed by `close`. All
     * ranks call it in the same order; ranks outside the group leave *part as it is. NULL: no such
     * groups. */
    int (*open_first)(void *context, int size, void **part);

    const char *(*complain)(void *context); /* reason of the last failure; NULL: unknown */
    void (*close)(void *context); /* when the ranks are left; NULL: nothing is to be done */
};

GRADWEAVE_API enum gradweave_status
gradweave_join_group(const struct gradweave_process_group *group, struct gradweave_ranks **out,
                     struct gradweave_error *error);

GRADWEAVE_API int gradweave_ranks_own(const struct gradweave_ranks *ranks);
GRADWEAVE_API int gradweave_ranks_count(const struct gradweave_ranks *ranks);

/* Copies rank 0's data to every rank: the initial parameters. No session may be in an iteration. */
GRADWEAVE_API enum gradweave_status gradweave_ranks_broadcast(struct gradweave_ranks *ranks,
                                                              void *data, size_t bytes,
                                                              struct gradweave_error *error);

/* Leaves the ranks, after their sessions are closed. NULL is allowed. */
GRADWEAVE_API void gradweave_leave(struct gradweave_ranks *ranks);

/* ---- calibrating --------------------------------------------------------------------------- */

/* A backward pass in progress. */
struct gradweave_pass;

/* Reports, from any thread, that one more gradient is ready. */
GRADWEAVE_API void gradweave_pass_gradient(struct gradweave_pass *pass);

/* Options for a calibration, the same on all ranks; unused members are 0. */
struct gradweave_calibration {
    const char *name;       /* the cluster's; NULL: that of its file, without folder and ending */
    const char *command;    /* command line that asked for it, kept in the file; or NULL */
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
    int add; /* not 0: adds to a file of the same ranks, in place of entries measured again */
    /* Runs one backward pass of the trainer's network on this rank, without exchanges; 0 on
     * success. It is called on the calling thread and on others, one at a time, also while the
     * calling thread exchanges: to measure how passes and exchanges slow each other. It calls
     * gradweave_pass_gradient(pass) for each gradient as it comes. NULL: compression is measured in
     * its place. */
    int (*backward)(void *context, struct gradweave_pass *pass);
    void *backward_context; /* its argument */
    /* Seconds, 0 to 1e6, by which the trainer's pass is longer in a session by `topk` at this
     * density, of so many elements in one group. Predicted iterations get its excess over the
     * session's parts. */
    double session_s;
    size_t session_elements; /* 1 at least where session_s is not 0 */
    /* Called on rank 0, on the calling thread, with the share done and the next step; or NULL. */
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

/* The GPU and stream on which a trainer's gradients are made. */
struct gradweave_gpu {
    size_t ordinal; /* as CUDA counts those that this process sees */
    void *stream;   /* the cudaStream_t that makes them; NULL: the default one */
};

/* Options for a session, the same on all ranks but for `gpu`; unused members are 0. */
struct gradweave_training {
    size_t tensor_count;
    const uint64_t *elements;          /* [tensor_count], in forward order */
    const char *algorithm;             /* "omgs": gradweave_algorithm_name() */
    const char *compressor, *exchange; /* in place of the algorithm's, as `simulate` takes them */
    double density;                    /* (0, 1]; 0: 0.001 */
    /* The plan (gradweave_plan_pipeline) in place of the algorithm's policy; none: one group. */
    const struct gradweave_group *groups;
    size_t group_count;
    int average; /* not 0: aggregates are means over the workers, otherwise sums */
    uint64_t seed;
    const struct gradweave_gpu *gpu; /* each rank's own; NULL, on all: gradients are the host's */
    const char *const *names; /* [tensor_count], for messages; NULL: they have numbers alone */
    /* [tensor_count] types of gradients and results; NULL: floats. Sums, residuals and
     * compressors are of floats. Without compression, gradients travel as halves if all are of the
     * same type of halves: each step of an allreduce rounds to it, as in DistributedDataParallel.
     * Results are rounded to the nearest, a tie to the even one. */
    const enum gradweave_number *numbers;
    /* [group_count] ways of a mixed plan's groups, as `gradweave plan --choices` takes them
     * ("dense", "topk:0.01", "topk": of the density above); the algorithm is then "mixed". NULL:
     * groups travel by the algorithm. */
    const char *const *ways;
    /* [tensor_count] first dimensions of tensors that have more than one, and divide their
     * elements; 0 for others. PowerSGD makes factors of these tensors; NULL: of none, which it
     * refuses. */
    const uint64_t *rows;
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
 * In pipelines with a server ("ps") the last rank is the server, and no worker: it has no
 * gradients, and only begins and waits. When a call fails the session is over, and other ranks may
 * wait for this one: its process should end.
 *
 * On a GPU, gradients, results and aggregates are in its memory (not checked), and are processed on
 * streams of the session, which wait for the trainer's: only gradweave_session_wait holds up the
 * calling thread, and its GPU becomes the thread's current one. Over MPI data travels by NCCL,
 * where this library was built with it and all ranks have it and a GPU each, or straight from the
 * GPU where MPI can; otherwise, and over a process group that is lent, through memory of the host.
 * This was tested on a GPU that is emulated, and has not run on hardware.
 */
struct gradweave_session;

/*
 * Checks sizes, names and the density, which do not depend on ranks, as gradweave_session_open()
 * does: GRADWEAVE_BAD_INPUT if it would refuse them. Groups, GPUs and the number of ranks are
 * checked there alone. *servers gets the number of servers: 1 or 0.
 */
GRADWEAVE_API enum gradweave_status
gradweave_session_check(const struct gradweave_training *training, size_t *servers,
                        struct gradweave_error *error);

/*
 * Opens a session, which `ranks` and `training` outlive; all ranks call it. GRADWEAVE_BAD_INPUT, on
 * all ranks, if one lacks its GPU, this library was built without CUDA, or the compressor is not
 * for GPUs.
 */
GRADWEAVE_API enum gradweave_status
gradweave_session_open(const struct gradweave_training *training, struct gradweave_ranks *ranks,
                       struct gradweave_session **out, struct gradweave_error *error);

/* Returns not 0 if this rank is the server, and no worker. */
GRADWEAVE_API int gradweave_session_serves(const struct gradweave_session *session);

/* Begins an iteration. */
GRADWEAVE_API enum gradweave_status gradweave_session_begin(struct gradweave_session *session,
                                                            struct gradweave_error *error);

/* Marks the start of the backward pass, for gradweave_session_measure alone. */
GRADWEAVE_API void gradweave_session_backward(struct gradweave_session *session);

/*
 * Hands over the gradient of a tensor, [its elements]: from any thread, in any order, each tensor
 * once. It is read before this returns, and added to the residual or copied; if it is the last of
 * its group that the plan waits for, the group is compressed. The aggregate is written to `result`,
 * which may be `gradient`, by the time that gradweave_session_wait returns; NULL: only
 * gradweave_session_aggregate returns it. On a GPU the gradient is ready once all work now on the
 * trainer's stream is done; it is read by the time that gradweave_session_wait returns.
 */
GRADWEAVE_API enum gradweave_status gradweave_session_ready(struct gradweave_session *session,
                                                            size_t tensor, const void *gradient,
                                                            void *result,
                                                            struct gradweave_error *error);

/* Waits until all groups are exchanged. A gradient that did not come counts as zero. */
GRADWEAVE_API enum gradweave_status gradweave_session_wait(struct gradweave_session *session,
                                                           struct gradweave_error *error);

/*
 * Returns a tensor's aggregate until the next iteration, in GPU memory on a GPU; NULL on a server.
 * It is of floats whatever the gradient's type is.
 */
GRADWEAVE_API const float *gradweave_session_aggregate(const struct gradweave_session *session,
                                                       size_t tensor);

/* Fails unless all workers hold bitwise equal aggregates; all ranks call it, after waiting. */
GRADWEAVE_API enum gradweave_status gradweave_session_verify(struct gradweave_session *session,
                                                             struct gradweave_error *error);

/*
 * Measures the parts of the last iteration, as means over workers and without the optimiser, in the
 * terms of gradweave_predict; all ranks call it after waiting.
 */
GRADWEAVE_API enum gradweave_status gradweave_session_measure(struct gradweave_session *session,
                                                              struct gradweave_prediction *measured,
                                                              struct gradweave_error *error);

/*
 * Writes the last iteration as a timeline of all workers, for ui.perfetto.dev (`gradweave simulate
 * --trace` writes the predicted one), to the file `path` on ranks that give one.
 */
GRADWEAVE_API enum gradweave_status gradweave_session_trace(struct gradweave_session *session,
                                                            const char *path,
                                                            struct gradweave_error *error);

/*
 * Saves this rank's state between iterations: the residual, what the compressor has adapted to, and
 * which iteration comes next. save writes it to `state`, of gradweave_session_state_size() bytes, a
 * constant of the session; each rank saves its own. GRADWEAVE_BAD_INPUT within an iteration.
 */
GRADWEAVE_API size_t gradweave_session_state_size(struct gradweave_session *session);
GRADWEAVE_API enum gradweave_status gradweave_session_save(struct gradweave_session *session,
                                                           void *state,
                                                           struct gradweave_error *error);

/*
 * Makes the session go on, bit for bit, as the saved one would have. The state must be this rank's,
 * of a session opened for the same training by as many ranks, and all ranks load. Otherwise, or if
 * `state` [size] is cut off or damaged, GRADWEAVE_BAD_INPUT, and nothing is changed.
 */
GRADWEAVE_API enum gradweave_status gradweave_session_load(struct gradweave_session *session,
                                                           const void *state, size_t size,
                                                           struct gradweave_error *error);

/*
 * Adds, for a job that goes on with other ranks, another plan or another pipeline, the residual in
 * a state of a session with the same tensors to this one's, from which it travels later. If each
 * old rank's state is added on one new rank, no gradient is lost. What compressors have adapted to
 * begins anew. GRADWEAVE_BAD_INPUT as above, or if this rank keeps no residual.
 */
GRADWEAVE_API enum gradweave_status
gradweave_session_add_residual(struct gradweave_session *session, const void *state, size_t size,
                               struct gradweave_error *error);

/*
 * Copies this rank's unsent gradients to `residual`, [elements of all tensors], the last tensor
 * first. They are scaled like sent values: if aggregates are means over P workers, by 1/P. Zeros
 * for a server, and for a pipeline without residual. GRADWEAVE_BAD_INPUT within an iteration.
 */
GRADWEAVE_API enum gradweave_status gradweave_session_residual(struct gradweave_session *session,
                                                               float *residual,
                                                               struct gradweave_error *error);

/* Closes the session; NULL is allowed. */
GRADWEAVE_API void gradweave_session_close(struct gradweave_session *session);

#ifdef __cplusplus
}
#endif

#endif
