/*
 * The executor: runs a schedule for real, as the OMGS paper's Algorithm 2 does. Each rank is a
 * worker with one thread per stream; forward and backward are timed waiting (an emulated
 * accelerator), compression is the real kernel on bell-shaped gradients with residual memory,
 * exchanges are real. It yields a timeline.
 */
#ifndef GW_EXEC_EXEC_H
#define GW_EXEC_EXEC_H

#include "algorithms/schedule.h"
#include "core/core.h"
#include "traces/traces.h"
#include "transport/transport.h"

struct gw_executor;

/*
 * Fails if the schedule cannot be run here: an unknown collective or compressor, gradients that are
 * not 4-byte floats, groups of 2^32 elements or more. Can be asked before there is a job.
 */
enum gw_status gw_executor_check(const struct gw_schedule *schedule, struct gw_error *error);

/* All ranks open the same schedule, which lives longer. */
enum gw_status gw_executor_open(struct gw_executor **out, const struct gw_schedule *schedule,
                                struct gw_communicator *communicator, uint64_t seed,
                                struct gw_error *error);

/* A timeline with one lane per rank. */
enum gw_status gw_executor_timeline(const struct gw_executor *executor, struct gw_timeline *out,
                                    struct gw_error *error);

/*
 * Runs one iteration on all ranks, begun together after a barrier, and appends it to the timeline,
 * the same on every rank: each rank's times count from its own leaving of the barrier. Afterwards,
 * outside the measured time, the checksums of every exchange's aggregate are compared; a difference
 * between ranks is an error.
 */
enum gw_status gw_executor_iterate(struct gw_executor *executor, double start_s,
                                   struct gw_timeline *timeline, struct gw_error *error);

/*
 * What this rank holds after an iteration, for checks against a sequential reference: the gradient
 * that it contributed, its residual, and the aggregate over all ranks, each of
 * gw_executor_elements() floats.
 */
size_t gw_executor_elements(const struct gw_executor *executor);
const float *gw_executor_gradient(const struct gw_executor *executor);
const float *gw_executor_residual(const struct gw_executor *executor);
const float *gw_executor_aggregate(const struct gw_executor *executor);

void gw_executor_close(struct gw_executor *executor);

#endif
