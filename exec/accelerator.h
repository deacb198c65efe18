/*
 * A GPU as the executor's streams use it; private to this room. Each thread puts its operations on
 * its stream of the GPU, between two events each, and goes on: what the host need not know it does
 * not wait for.
 */
#ifndef GW_EXEC_ACCELERATOR_H
#define GW_EXEC_ACCELERATOR_H

#include "exec/gpu_clock.h"
#include "exec/gpu_work.h"

struct gw_accelerator {
    const struct gw_schedule *schedule;
    struct gw_device_stream *streams[GW_STREAM_COUNT];
    struct gw_gpu_work work[GW_STREAM_COUNT];
    bool worked[GW_STREAM_COUNT];            /* the stream's last operation was of known duration */
    struct gw_device_event **begins, **ends; /* [operations] */
    struct gw_gpu_clock clock;
};

/* *out is safe to close in any case. */
enum gw_status gw_accelerator_open(struct gw_accelerator *out, const struct gw_schedule *schedule,
                                   const struct gw_executor_options *options,
                                   struct gw_error *error);
void gw_accelerator_close(struct gw_accelerator *accelerator);

/* Before an iteration, with nothing on the streams; and after it, until nothing is. */
enum gw_status gw_accelerator_start(struct gw_accelerator *accelerator, struct gw_error *error);
enum gw_status gw_accelerator_finish(struct gw_accelerator *accelerator, struct gw_error *error);

/*
 * The operation's stream goes on once those that the operation depends on have ended, which are on
 * their streams by now; there the operation begins, and where its work is, it ends.
 */
enum gw_status gw_accelerator_begin(struct gw_accelerator *accelerator, size_t operation,
                                    struct gw_error *error);
/* Waits until the operation has begun, and lets it begin then: its time counts from there on. */
enum gw_status gw_accelerator_await(struct gw_accelerator *accelerator, size_t operation,
                                    struct gw_error *error);
enum gw_status gw_accelerator_end(struct gw_accelerator *accelerator, size_t operation,
                                  struct gw_error *error);

/* The work of an operation of known duration. */
enum gw_status gw_accelerator_work(struct gw_accelerator *accelerator,
                                   const struct gw_operation *operation, struct gw_error *error);

/* Once finished: when the operation began and ended, on the host's clock. */
enum gw_status gw_accelerator_interval(const struct gw_accelerator *accelerator, size_t operation,
                                       double *start_s, double *end_s, struct gw_error *error);

#endif
