/*
 * A GPU as the executor's streams use it; private to this room. Each thread puts its operations on
 * its stream of the GPU, between two events each, and goes on: what the host need not know it does
 * not wait for.
 */
#ifndef GW_EXEC_ACCELERATOR_H
#define GW_EXEC_ACCELERATOR_H

#include "exec/gpu_work.h"

/* ---- a clock ------------------------------------------------------------------------------- */

/*
 * When events of a GPU were, on the clock of the host.
 *
 * A GPU says only how long after one event another was, to about half a microsecond. So there are
 * two anchors, of which the host knows when they were: one on an idle stream before the events, one
 * after them. The host looks at its clock before it records one, asks until the GPU is there, and
 * looks again: the anchor was in between, for which the middle is taken, of the narrowest of some
 * tries. Times between the anchors are interpolated, so that neither a difference between the two
 * clocks' rates nor a slow anchor adds up; an error is at most half of `width_s`.
 */
/* An event that the host knows the time of. */
struct gw_anchor {
    struct gw_device_event *event;
    double at_s, width_s; /* host's clock */
};

struct gw_gpu_clock {
    struct gw_anchor before, after, tried;
    double rate; /* seconds of the host to one of the GPU's */
};

/* *out is safe to close in any case. */
enum gw_status gw_gpu_clock_open(struct gw_gpu_clock *out, struct gw_device *device,
                                 struct gw_error *error);
void gw_gpu_clock_close(struct gw_gpu_clock *clock);

/* Sets the anchors, on a stream that has nothing to do. */
enum gw_status gw_gpu_clock_begin(struct gw_gpu_clock *clock, struct gw_device_stream *stream,
                                  struct gw_error *error);
enum gw_status gw_gpu_clock_end(struct gw_gpu_clock *clock, struct gw_device_stream *stream,
                                struct gw_error *error);

/* Of a timed event between them. */
enum gw_status gw_gpu_clock_time_s(const struct gw_gpu_clock *clock, struct gw_device_event *event,
                                   double *seconds, struct gw_error *error);

/* ---- streams ------------------------------------------------------------------------------- */

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
