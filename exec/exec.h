/*
 * Sessions run a schedule for real, as the OMGS paper's Algorithm 2 does. Each rank is a worker
 * with one thread per stream; compression is the real kernel with residual memory, exchanges are
 * real. Forward, backward and update are a trainer's own, or emulated: timed waiting (an emulated
 * accelerator) with bell-shaped gradients; compression can be timed waiting too. A session records
 * a timeline. On a GPU each thread has a stream of the GPU's, which does all this work
 * (docs/clusters.md). A schedule with a server has one more rank, the last one: it takes part in
 * exchanges and waits out its updates, and is not in the timeline.
 */
#ifndef GW_EXEC_EXEC_H
#define GW_EXEC_EXEC_H

#include "core/core.h"
#include "device/device.h"
#include "kernels/memory.h"
#include "methods/schedule.h"
#include "traces/traces.h"
#include "transport/gpu.h"
#include "transport/transport.h"

struct gw_session;

/*
 * Generated gradients of a rank, on the host. Sessions of one seed in which the rank is the same
 * worker can share them, since drawing takes longer than many iterations. Zero-initialise, then
 * free.
 */
struct gw_drawn_gradients {
    struct gw_buffer values;
    size_t count; /* drawn so far */
};
void gw_drawn_gradients_free(struct gw_drawn_gradients *drawn);

/*
 * Fails if the schedule cannot run here: an unknown collective or compressor, a compressor that the
 * exchange cannot carry, gradients that are not 4-byte floats, groups of 2^32 elements or more. Can
 * be called without a job.
 */
enum gw_status gw_session_check(const struct gw_schedule *schedule, bool on_gpu,
                                struct gw_error *error);

/* The kinds of forward, backward and update. */
enum gw_compute {
    GW_COMPUTE_WAIT,    /* timed waiting; on a GPU, a kernel that holds a multiprocessor that long
                         */
    GW_COMPUTE_GEMM,    /* on a GPU: products of matrices by cuBLAS that take this long if nothing
                         * else runs */
    GW_COMPUTE_TRAINER, /* the caller's own, between gw_session_begin and gw_session_wait */
};

/* cuBLAS' version, "13.1.0", with a note if this machine lacks it; NULL in a build without it.
 * gw_cublas_need fails with GW_BAD_INPUT, naming what is missing, unless this machine has it. */
const char *gw_cublas_version(void);
enum gw_status gw_cublas_need(struct gw_error *error);

struct gw_session_options {
    /* Seed of everything that ranks share (the selection of a common compressor, hash functions);
     * equal on all ranks. */
    uint64_t seed;
    /* Borrowed, and filled as far as needed; NULL: the session draws its own. */
    struct gw_drawn_gradients *drawn;
    /* The GPU of this rank, borrowed; NULL, on all ranks: the host. */
    struct gw_device *device;
    enum gw_gpu_transport transport; /* between GPUs; equal on all ranks */
    enum gw_compute compute;
    /* With GW_COMPUTE_TRAINER on a GPU: the stream that gradients are computed on, borrowed. */
    struct gw_device_stream *trainer;
    /*
     * Compression is timed waiting too, of its operations' duration_s; requires GW_COMPUTE_WAIT on
     * the host. Exactly the wanted number of elements is selected, from everywhere or from the
     * first layers. Equal on all ranks.
     */
    bool timed_compression;
    bool average; /* each worker contributes 1 / workers of its gradient */
    /* With GW_COMPUTE_TRAINER: the type of each tensor's gradient and result, in forward order;
     * NULL: all are floats. Residuals and aggregates are floats whatever the type. */
    const enum gw_number_type *numbers;
};

/*
 * Opens a schedule, which must outlive the session. All ranks of the communicator call it with the
 * same schedule; they are as many as its workers, plus its server if it has one. The communicator
 * is for memory of the host; the session opens its own for data between GPUs.
 */
enum gw_status gw_session_open(struct gw_session **out, const struct gw_schedule *schedule,
                               struct gw_communicator *communicator,
                               const struct gw_session_options *options, struct gw_error *error);

/* Creates a timeline with one lane per worker. */
enum gw_status gw_session_timeline(const struct gw_session *session, struct gw_timeline *out,
                                   struct gw_error *error);

/* ---- iterations with emulated compute -------------------------------------------------------- */

/* Limits of warm-up: iterations of compression alone, with residual memory, before the first real
 * iteration, so that thresholds which follow selections become stable. */
struct gw_warm_up_limits {
    size_t iterations; /* maximum; 0: none */
    bool ends_early;   /* ends when selected elements are within 10% of the wanted number several
                        * times in a row, or ... */
    double longest_s;  /* ... after this time, or ... */
    double nearing_s;  /* ... after this time, while the number still comes nearer */
};

/*
 * Warms up compressors whose counts depend on the gradients, and does nothing for others. Ranks
 * exchange only counts: of a joint selection, each worker clears the elements that it selected
 * itself. Afterwards memory is reserved for exchanges of as many elements as were selected, so that
 * no measured iteration allocates it. All ranks call it, before the first iteration.
 */
enum gw_status gw_session_warm_up(struct gw_session *session,
                                  const struct gw_warm_up_limits *limits, struct gw_warmed_up *out,
                                  struct gw_error *error);

/*
 * Runs one iteration on all ranks, begun together after a barrier, and appends it to the timeline,
 * which is equal on every rank: each rank's times count from its own leaving of the barrier, and
 * exchanges have the bytes that were really sent, padding included. Afterwards, outside the
 * measured time, checksums of every group's aggregate are compared; a difference between workers is
 * an error.
 */
enum gw_status gw_session_iterate(struct gw_session *session, double start_s,
                                  struct gw_timeline *timeline, struct gw_error *error);

/* Measured iterations, after warm-up of compression and after unmeasured iterations. */
struct gw_measuring {
    struct gw_warm_up_limits settling;
    size_t warm_up, iterations;
    void (*begin)(void *context); /* called before each iteration */
    void *context;
};

/* The results of measured iterations, on every rank. */
struct gw_measured {
    struct gw_result *result;     /* means, and the bytes sent; has no iteration yet */
    struct gw_counts *counts;     /* receives the selected counts; NULL: not recorded */
    uint64_t *extents;            /* [groups], with counts: the last iteration's */
    struct gw_timeline *timeline; /* receives the iterations in order, as of gw_session_timeline; or
                                   * NULL */
    struct gw_warmed_up warmed_up;
};

/* All ranks call it. */
enum gw_status gw_session_measure(struct gw_session *session, const struct gw_measuring *measuring,
                                  struct gw_measured *out, struct gw_error *error);

/* ---- a trainer's iterations ------------------------------------------------------------------ */

/*
 * Begins an iteration, on all ranks. Compressors with a fixed threshold get the one that selects as
 * many elements as wanted of the first iteration's gradients, on average over the workers: that
 * iteration's exchanges wait until all gradients are ready.
 */
enum gw_status gw_session_begin(struct gw_session *session, struct gw_error *error);

/* Marks the end of the forward pass, for the timeline; without it, the pass ends with the first
 * gradient. */
void gw_session_backward(struct gw_session *session);

/*
 * Provides a tensor's gradient; tensors are numbered in forward order. The gradient is read until
 * this returns. When gw_session_wait has returned, `result`, which may be the gradient's memory,
 * holds the aggregate over the workers; NULL: only gw_session_aggregate has it. Any thread may call
 * it, in any order, once for each tensor; groups are sent in the plan's order. On a GPU, which
 * holds both, the gradient is ready when the present work of the trainer's stream is done; it is
 * read until gw_session_wait returns.
 */
enum gw_status gw_session_ready(struct gw_session *session, size_t tensor, const void *gradient,
                                void *result, struct gw_error *error);

/* Waits for the aggregates. Missing gradients count as zero. A server calls it at once. */
enum gw_status gw_session_wait(struct gw_session *session, struct gw_error *error);

/* Fails unless all workers hold the same aggregates, and updates gw_session_selected to this
 * iteration. All ranks call it, after gw_session_wait. */
enum gw_status gw_session_verify(struct gw_session *session, struct gw_error *error);

/* The tensor's aggregate, valid until the next iteration begins; NULL on a server. */
const float *gw_session_aggregate(const struct gw_session *session, size_t tensor);

/* Appends the last iteration to a timeline, which is equal on every rank; all ranks call it. */
enum gw_status gw_session_record(struct gw_session *session, double start_s,
                                 struct gw_timeline *timeline, struct gw_error *error);

/*
 * Saves the state that a trainer's session keeps on this rank from one iteration to the next,
 * between iterations: the residual, the states of compressors, and the number of the next
 * iteration. A block has gw_session_state_bytes() bytes, constant for a session, on machines of one
 * byte order.
 */
size_t gw_session_state_bytes(struct gw_session *session);
enum gw_status gw_session_save(struct gw_session *session, void *block, struct gw_error *error);

/*
 * Continues as the saved session would, bit for bit. GW_BAD_INPUT, without changes, for a block
 * that is damaged, or of a session with other tensors, groups, workers, seed or compressor, or of
 * another rank.
 */
enum gw_status gw_session_load(struct gw_session *session, const void *block, size_t bytes,
                               struct gw_error *error);

/* Adds the residual of a block to the session's own, so that it is sent in later iterations, but
 * for that of sums, whose part of the elements may differ; for blocks of any session with the same
 * tensors. GW_BAD_INPUT if this rank has no residual. */
enum gw_status gw_session_add_residual(struct gw_session *session, const void *block, size_t bytes,
                                       struct gw_error *error);

/* ---- results --------------------------------------------------------------------------------- */

/*
 * Copies a vector of this rank after an iteration, for checks against a sequential reference, to
 * `out`, as many floats as the schedule has elements: the gradient that it contributed, its
 * residual, or the aggregate over all workers. Vectors that the rank does not hold are zero: all of
 * a server, the gradient of a trainer's session with a compressor (it is in the residual), the
 * residual of one without.
 */
enum gw_vector { GW_GRADIENT, GW_RESIDUAL, GW_AGGREGATE };
enum gw_status gw_session_copy(struct gw_session *session, enum gw_vector vector, float *out,
                               struct gw_error *error);

/*
 * The number of elements that each worker selected in the last iteration (a trainer's: the last
 * verified one), equal on all ranks: [group * workers + worker]. It is the wanted number if workers
 * select jointly, and all elements without a compressor.
 */
const uint64_t *gw_session_selected(const struct gw_session *session, size_t *groups);

/* The selections that the bytes of its exchanges stand for, [groups]: gw_schedule_select derives
 * the bytes from them. */
const struct gw_selected *gw_session_extents(const struct gw_session *session);

void gw_session_close(struct gw_session *session);

#endif
