/*
 * Sessions: run a schedule for real, as the OMGS paper's Algorithm 2 does. Each rank is a worker
 * with one thread per stream; compression is the real kernel with residual memory, exchanges are
 * real. Forward, backward and update are a trainer's own, or made up: timed waiting (an emulated
 * accelerator) between bell-shaped gradients, and so can compression be. It yields a timeline. On a
 * GPU each thread has a stream of the GPU's, where all of this is done (docs/clusters.md). A
 * schedule with a server has one rank more, the last one: it takes part in exchanges and waits out
 * its updates, and is not in the timeline.
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
 * Generated gradients of a rank, on the host. Sessions of one seed in which it is the same worker
 * can share them, as drawing takes longer than many an iteration. Zero-initialise, then free.
 */
struct gw_drawn_gradients {
    struct gw_buffer values;
    size_t count; /* drawn so far */
};
void gw_drawn_gradients_free(struct gw_drawn_gradients *drawn);

/*
 * Fails if the schedule cannot be run here: an unknown collective or compressor, one that the
 * exchange cannot carry, gradients that are not 4-byte floats, groups of 2^32 elements or more. Can
 * be asked before there is a job.
 */
enum gw_status gw_session_check(const struct gw_schedule *schedule, bool on_gpu,
                                struct gw_error *error);

/* What forward, backward and update are. */
enum gw_compute {
    GW_COMPUTE_WAIT,    /* timed waiting; on a GPU a kernel that holds a multiprocessor that long */
    GW_COMPUTE_GEMM,    /* on a GPU: products of matrices by cuBLAS that take as long alone */
    GW_COMPUTE_TRAINER, /* what the caller does between gw_session_begin and gw_session_wait */
};

/*
 * cuBLAS' version, "13.1.0", and whether this machine lacks it; NULL in a build without it.
 * Products of matrices need it: GW_BAD_INPUT with what is missing, unless this machine has it.
 */
const char *gw_cublas_version(void);
enum gw_status gw_cublas_need(struct gw_error *error);

struct gw_session_options {
    /*
     * What ranks share (which elements a common compressor selects, hash functions) follows from
     * it; the same on all ranks.
     */
    uint64_t seed;
    /* Borrowed, and drawn as far as they are needed; NULL: the session draws its own. */
    struct gw_drawn_gradients *drawn;
    /* The GPU that this rank works on, borrowed; NULL, on all ranks: the host. */
    struct gw_device *device;
    enum gw_gpu_transport transport; /* of a GPU; the same on all ranks */
    enum gw_compute compute;
    /* With GW_COMPUTE_TRAINER on a GPU: the stream that gradients are made on, borrowed. */
    struct gw_device_stream *trainer;
    /*
     * Compression is timed waiting as well, of its operations' duration_s; with GW_COMPUTE_WAIT, on
     * the host. Selected are elements from everywhere, or those of the first layers, just as many
     * as asked. The same on all ranks.
     */
    bool timed_compression;
    bool average; /* of a trainer's gradients each worker contributes its share, 1 / workers */
};

/*
 * All ranks of the communicator, as many as the schedule's workers and its server if it has one,
 * open the same schedule, which lives longer. The communicator is for memory of the host; data
 * between GPUs has one of its own beside it.
 */
enum gw_status gw_session_open(struct gw_session **out, const struct gw_schedule *schedule,
                               struct gw_communicator *communicator,
                               const struct gw_session_options *options, struct gw_error *error);

/* A timeline with one lane per worker. */
enum gw_status gw_session_timeline(const struct gw_session *session, struct gw_timeline *out,
                                   struct gw_error *error);

/* ---- iterations whose compute is made up ----------------------------------------------------- */

/*
 * Iterations of compression alone, before the first one that is run: with residual memory, so that
 * thresholds which follow what is selected come to where they stay.
 */
struct gw_warm_up_limits {
    size_t iterations; /* at most; 0: none */
    bool ends_early;   /* once as many elements as asked are selected, within 10%, some times in a
                        * row; or ... */
    double longest_s;  /* ... after that time, or ... */
    double nearing_s;  /* ... this one, while it still comes nearer to as many */
};

/*
 * Does this for compressors of which it depends on the gradients how much they select, and nothing
 * for others. The network carries counts alone: of elements that workers select together, each
 * clears those that it selected itself. Afterwards there is room for exchanges of as many elements
 * as were selected, so that no iteration waits for memory that it is the first to use. All ranks
 * call it, before the first iteration.
 */
enum gw_status gw_session_warm_up(struct gw_session *session,
                                  const struct gw_warm_up_limits *limits, struct gw_warmed_up *out,
                                  struct gw_error *error);

/*
 * Runs one iteration on all ranks, begun together after a barrier, and appends it to the timeline,
 * the same on every rank: each rank's times count from its own leaving of the barrier, and its
 * exchanges have the bytes that really travelled, padding included. Afterwards, outside the
 * measured time, the checksums of every group's aggregate are compared; a difference between
 * workers is an error.
 */
enum gw_status gw_session_iterate(struct gw_session *session, double start_s,
                                  struct gw_timeline *timeline, struct gw_error *error);

/* Iterations that are measured, after some of compression alone and some that are not. */
struct gw_measuring {
    struct gw_warm_up_limits settling;
    size_t warm_up, iterations;
    void (*begin)(void *context); /* called before each iteration */
    void *context;
};

/* What becomes of them, on every rank. */
struct gw_measured {
    struct gw_result *result;     /* their means, and what travelled; without an iteration yet */
    struct gw_counts *counts;     /* gets what each selected; NULL: nothing does */
    uint64_t *extents;            /* [groups], with counts: the last iteration's */
    struct gw_timeline *timeline; /* gets them one after another, as of gw_session_timeline; NULL */
    struct gw_warmed_up warmed_up;
};

/* All ranks call it. */
enum gw_status gw_session_measure(struct gw_session *session, const struct gw_measuring *measuring,
                                  struct gw_measured *out, struct gw_error *error);

/* ---- a trainer's iterations ------------------------------------------------------------------ */

/*
 * An iteration begins, on all ranks. Compressors that are given a threshold get that which selects
 * as many elements as asked of the first iteration's gradients, on the mean of the workers: that
 * iteration's exchanges wait until all is ready.
 */
enum gw_status gw_session_begin(struct gw_session *session, struct gw_error *error);

/* The forward pass has ended, for the timeline; without it, it takes until the first gradient. */
void gw_session_backward(struct gw_session *session);

/*
 * A tensor's gradient is there, numbered in forward order: it is read until this returns. Its
 * aggregate over the workers stands in `result`, which may be where the gradient was, when
 * gw_session_wait has returned; NULL: only in gw_session_aggregate. From any thread, in any order,
 * each tensor once; groups travel in the plan's order. On a GPU, of whose memory both are, the
 * gradient is there once what the trainer's stream has now is done; it is read until
 * gw_session_wait returns.
 */
enum gw_status gw_session_ready(struct gw_session *session, size_t tensor, const float *gradient,
                                float *result, struct gw_error *error);

/* Waits for the aggregates. Gradients that did not come count as zero. A server calls it at once.
 */
enum gw_status gw_session_wait(struct gw_session *session, struct gw_error *error);

/*
 * Fails unless all workers hold the same aggregates, and lets gw_session_selected know of the
 * iteration. All ranks call it, after gw_session_wait.
 */
enum gw_status gw_session_verify(struct gw_session *session, struct gw_error *error);

/* The tensor's aggregate, until the next iteration begins; NULL on a server. */
const float *gw_session_aggregate(const struct gw_session *session, size_t tensor);

/* Appends the last iteration to a timeline, the same on every rank; all ranks call it. */
enum gw_status gw_session_record(struct gw_session *session, double start_s,
                                 struct gw_timeline *timeline, struct gw_error *error);

/*
 * What a trainer's session keeps on this rank from one iteration to the next, between iterations:
 * the residual, what compressors have adapted to, and which iteration comes next. A block of
 * gw_session_state_bytes() bytes, always as many of one session, on machines of one byte order.
 */
size_t gw_session_state_bytes(struct gw_session *session);
enum gw_status gw_session_save(struct gw_session *session, void *block, struct gw_error *error);

/*
 * The session goes on as the one did that was saved, bit for bit. GW_BAD_INPUT, and nothing is
 * changed, for a block that is damaged, or of a session with other tensors, groups, workers, seed
 * or compressor, or of another rank.
 */
enum gw_status gw_session_load(struct gw_session *session, const void *block, size_t bytes,
                               struct gw_error *error);

/*
 * Adds the residual of a block to the session's own, so that it travels in later iterations: of any
 * session with the same tensors. GW_BAD_INPUT where this rank keeps no residual.
 */
enum gw_status gw_session_add_residual(struct gw_session *session, const void *block, size_t bytes,
                                       struct gw_error *error);

/* ---- what came out --------------------------------------------------------------------------- */

/*
 * What this rank holds after an iteration, for checks against a sequential reference, copied to
 * `out` of as many floats as the schedule has elements: the gradient that it contributed, its
 * residual, or the aggregate over all workers. Zeros for what it does not hold: a server any of
 * them, a trainer's session the gradient of a compressor, which is in the residual, or a residual
 * without one.
 */
enum gw_vector { GW_GRADIENT, GW_RESIDUAL, GW_AGGREGATE };
enum gw_status gw_session_copy(struct gw_session *session, enum gw_vector vector, float *out,
                               struct gw_error *error);

/*
 * How many elements each worker selected in the last iteration (of a trainer's: as of
 * gw_session_verify), the same on all ranks: [group *
 * workers + worker]; what it is asked for where workers select together, all of them if nothing is
 * compressed.
 */
const uint64_t *gw_session_selected(const struct gw_session *session, size_t *groups);

/* What the bytes of its exchanges stand for, [groups]: with it gw_schedule_select gives them. */
const struct gw_selected *gw_session_extents(const struct gw_session *session);

void gw_session_close(struct gw_session *session);

#endif
