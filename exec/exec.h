/*
 * The executor: runs a schedule for real, as the OMGS paper's Algorithm 2 does. Each rank is a
 * worker with one thread per stream; forward and backward are timed waiting (an emulated
 * accelerator), compression is the real kernel on bell-shaped gradients with residual memory,
 * exchanges are real. It yields a timeline. On a GPU each thread has a stream of the GPU's, where
 * all of this is done: docs/gpu.md. A schedule with a server has one rank more, the last
 * one: it takes part in exchanges and waits out its updates, and is not in the timeline.
 */
#ifndef GW_EXEC_EXEC_H
#define GW_EXEC_EXEC_H

#include "core/core.h"
#include "device/device.h"
#include "methods/schedule.h"
#include "traces/traces.h"
#include "transport/gpu.h"
#include "transport/transport.h"

struct gw_executor;

/*
 * Fails if the schedule cannot be run here: an unknown collective or compressor, one that the
 * exchange cannot carry, gradients that are not 4-byte floats, groups of 2^32 elements or more. Can
 * be asked before there is a job.
 */
enum gw_status gw_executor_check(const struct gw_schedule *schedule, bool on_gpu,
                                 struct gw_error *error);

/* What forward, backward and update are made of on a GPU. */
enum gw_compute {
    GW_COMPUTE_WAIT, /* a kernel that holds a multiprocessor for the given time */
    GW_COMPUTE_GEMM, /* products of matrices by cuBLAS that take as long alone */
};

/*
 * cuBLAS' version, "13.1.0", and whether this machine lacks it; NULL in a build without it.
 * Products of matrices need it: GW_BAD_INPUT with what is missing, unless this machine has it.
 */
const char *gw_cublas_version(void);
enum gw_status gw_cublas_need(struct gw_error *error);

struct gw_executor_options {
    /*
     * What ranks share (which elements a common compressor selects, hash functions) follows from
     * it; the same on all ranks.
     */
    uint64_t seed;
    /*
     * The GPU that this rank works on, borrowed; NULL, on all ranks: the host, for which what
     * follows does not count.
     */
    struct gw_device *device;
    enum gw_gpu_transport transport; /* the same on all ranks */
    enum gw_compute compute;
};

/*
 * All ranks of the communicator, as many as the schedule's workers and its server if it has one,
 * open the same schedule, which lives longer. The communicator is for memory of the host; data
 * between GPUs has one of its own beside it.
 */
enum gw_status gw_executor_open(struct gw_executor **out, const struct gw_schedule *schedule,
                                struct gw_communicator *communicator,
                                const struct gw_executor_options *options, struct gw_error *error);

/* A timeline with one lane per worker. */
enum gw_status gw_executor_timeline(const struct gw_executor *executor, struct gw_timeline *out,
                                    struct gw_error *error);

/*
 * Iterations of compression alone, before the first one that is run: with residual memory, so that
 * thresholds which follow what is selected come to where they stay.
 */
struct gw_warm_up_limits {
    size_t iterations; /* at most; 0: none */
    bool ends_early;   /* once as many elements as asked are selected, within 10%, some times in a
                        * row; or ... */
    double longest_s;  /* ... after that time */
};

/*
 * Does this for compressors of which it depends on the gradients how much they select, and nothing
 * for others. The network carries counts alone: of elements that workers select together, each
 * clears those that it selected itself. All ranks call it, before the first iteration.
 */
enum gw_status gw_executor_warm_up(struct gw_executor *executor,
                                   const struct gw_warm_up_limits *limits, struct gw_warmed_up *out,
                                   struct gw_error *error);

/*
 * Runs one iteration on all ranks, begun together after a barrier, and appends it to the timeline,
 * the same on every rank: each rank's times count from its own leaving of the barrier, and its
 * exchanges have the bytes that really travelled, padding included. Afterwards, outside the
 * measured time, the checksums of every group's aggregate are compared; a difference between
 * workers is an error.
 */
enum gw_status gw_executor_iterate(struct gw_executor *executor, double start_s,
                                   struct gw_timeline *timeline, struct gw_error *error);

/*
 * What this rank holds after an iteration, for checks against a sequential reference, copied to
 * `out` of gw_executor_elements() floats: the gradient that it contributed, its residual, or the
 * aggregate over all workers. A server has none of them, which is zeros.
 */
enum gw_vector { GW_GRADIENT, GW_RESIDUAL, GW_AGGREGATE };
size_t gw_executor_elements(const struct gw_executor *executor);
enum gw_status gw_executor_copy(struct gw_executor *executor, enum gw_vector vector, float *out,
                                struct gw_error *error);

/*
 * How many elements each worker selected in the last iteration, the same on all ranks: [group *
 * workers + worker]; what it is asked for where workers select together, all of them if nothing is
 * compressed.
 */
const uint64_t *gw_executor_selected(const struct gw_executor *executor, size_t *groups);

/* What the bytes of its exchanges stand for, [groups]: with it gw_schedule_select gives them. */
const struct gw_selected *gw_executor_extents(const struct gw_executor *executor);

void gw_executor_close(struct gw_executor *executor);

#endif
