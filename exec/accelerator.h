/*
 * A GPU as the executor's streams use it; private to this room. Each thread puts its operations on
 * its stream of the GPU, between two events each, and continues; it waits only for results that the
 * host needs. Forward, backward and update are work of known duration: waiting, or products of
 * matrices.
 */
#ifndef GW_EXEC_ACCELERATOR_H
#define GW_EXEC_ACCELERATOR_H

#ifdef __cplusplus
extern "C" {
#endif

#include "exec/exec.h"

/* ---- waiting ------------------------------------------------------------------------------- */

/*
 * Holds one warp on one multiprocessor: until `nanoseconds` after *clock (GPU) if this `continues`
 * the last work or the clock is ahead, otherwise after now. *clock is then the end, in nanoseconds
 * of the GPU's global timer. So consecutive work ends on time, even if it began late.
 */
enum gw_status gw_gpu_hold(uint64_t *clock, uint64_t nanoseconds, bool continues,
                           struct gw_device_stream *stream, struct gw_error *error);

/* ---- products ------------------------------------------------------------------------------ */

/* Products of matrices by cuBLAS, of a given depth. Elements are in single precision, multiplied by
 * tensor cores as TF32, as in frameworks. */
struct gw_products {
    struct gw_device_stream *stream;
    size_t n, depth;
    float *a, *b;    /* GPU: [n * depth] each, column by column, normal draws */
    float *c;        /* GPU: [n * n] */
    void *workspace; /* GPU: cuBLAS' own */
    struct cublasContext *handle;
};

/* *out may be closed on failure too. GW_BAD_INPUT: there is no cuBLAS (gw_cublas_need). */
enum gw_status gw_products_open(struct gw_products *out, struct gw_device_stream *stream, size_t n,
                                size_t depth, struct gw_error *error);
void gw_products_close(struct gw_products *products);

/* Puts c = a b^T on the stream, with the first `depth` columns of both. */
enum gw_status gw_products_multiply(const struct gw_products *products, size_t depth,
                                    struct gw_error *error);

/* ---- times of products by depth ------------------------------------------------------------ */

enum { GW_DEPTH_STEP = 16, GW_MAX_DEPTHS = 8 };

struct gw_depths {
    size_t count;
    struct gw_curve_point points[GW_MAX_DEPTHS]; /* depth and time, both strictly ascending */
};

/*
 * Keeps those of `count` measured depths, ascending multiples of GW_DEPTH_STEP, that take less time
 * than every deeper one. GW_FAILED: a time is not positive and finite, fewer than three depths are
 * left, or the deepest takes less than twice as long as the shallowest.
 */
enum gw_status gw_depths_set(struct gw_depths *out, const struct gw_curve_point *measured,
                             size_t count, struct gw_error *error);

/*
 * Returns the depth, a multiple of GW_DEPTH_STEP, of the next product for *owed_s of work, and
 * subtracts its interpolated time: the deepest, if *owed_s is not shorter; 0, subtracting nothing,
 * if it is shorter than the shallowest. The time subtracted may exceed *owed_s by half a step.
 */
size_t gw_depths_take(const struct gw_depths *depths, double *owed_s);

/* ---- work ---------------------------------------------------------------------------------- */

struct gw_gpu_work {
    struct gw_device *device;
    struct gw_device_stream *stream;
    enum gw_compute compute;
    uint64_t *clock; /* GPU: end of the last wait */
    struct gw_products products;
    struct gw_depths depths; /* calibrated */
    double owed_s;           /* time that products so far fell short of */
};

/* Opens work. Products are calibrated on the stream, for some milliseconds; waiting uses the GPU's
 * timer. *out may be closed on failure too. GW_BAD_INPUT: products without cuBLAS. */
enum gw_status gw_gpu_work_open(struct gw_gpu_work *out, struct gw_device_stream *stream,
                                enum gw_compute compute, struct gw_error *error);
void gw_gpu_work_close(struct gw_gpu_work *work);

/* Puts work of that duration on the stream; `continues`: right after its last work. */
enum gw_status gw_gpu_work_do(struct gw_gpu_work *work, double seconds, bool continues,
                              struct gw_error *error);

/* ---- a clock ------------------------------------------------------------------------------- */

/*
 * Times of a GPU's events on the host's clock.
 *
 * A GPU only tells the time between two events, to about half a microsecond. So there are two
 * anchors, events whose time the host knows: one on an idle stream before the events, one after
 * them. The host reads its clock, records the anchor, polls until the GPU has reached it, and reads
 * its clock again: the anchor is taken to be in the middle, for the narrowest of several tries.
 * Times between the anchors are interpolated, so that neither different rates of the two clocks nor
 * a slow anchor accumulate; an error is at most half of `width_s`.
 */
/* An event whose time the host knows. */
struct gw_anchor {
    struct gw_device_event *event;
    double at_s, width_s; /* on the host's clock */
};

struct gw_gpu_clock {
    struct gw_anchor before, after, tried;
    double rate; /* seconds of the host to one of the GPU's */
};

/* *out may be closed on failure too. */
enum gw_status gw_gpu_clock_open(struct gw_gpu_clock *out, struct gw_device *device,
                                 struct gw_error *error);
void gw_gpu_clock_close(struct gw_gpu_clock *clock);

/* Set the anchors, on an idle stream. */
enum gw_status gw_gpu_clock_begin(struct gw_gpu_clock *clock, struct gw_device_stream *stream,
                                  struct gw_error *error);
enum gw_status gw_gpu_clock_end(struct gw_gpu_clock *clock, struct gw_device_stream *stream,
                                struct gw_error *error);

/* The time of a timed event between the anchors. */
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

/* *out may be closed on failure too. */
enum gw_status gw_accelerator_open(struct gw_accelerator *out, const struct gw_schedule *schedule,
                                   const struct gw_session_options *options,
                                   struct gw_error *error);
void gw_accelerator_close(struct gw_accelerator *accelerator);

/* Begin an iteration, with idle streams; and end it, waiting until they are idle. */
enum gw_status gw_accelerator_start(struct gw_accelerator *accelerator, struct gw_error *error);
enum gw_status gw_accelerator_finish(struct gw_accelerator *accelerator, struct gw_error *error);

/* Makes the operation's stream wait for the operations that it depends on, which are already on
 * their streams, and marks the operation's begin. gw_accelerator_end marks its end. */
enum gw_status gw_accelerator_begin(struct gw_accelerator *accelerator, size_t operation,
                                    struct gw_error *error);
/* Makes the stream of a trainer's operation wait for the present work of `trainer`. */
enum gw_status gw_accelerator_follow(struct gw_accelerator *accelerator, size_t operation,
                                     struct gw_device_stream *trainer, struct gw_error *error);
/* Waits until the operation has begun, and sets its begin to that time. */
enum gw_status gw_accelerator_await(struct gw_accelerator *accelerator, size_t operation,
                                    struct gw_error *error);
enum gw_status gw_accelerator_end(struct gw_accelerator *accelerator, size_t operation,
                                  struct gw_error *error);

/* Puts the work of an operation of known duration on its stream. */
enum gw_status gw_accelerator_work(struct gw_accelerator *accelerator,
                                   const struct gw_operation *operation, struct gw_error *error);

/* The begin (NULL: not needed) and the end of an operation after the iteration, on the host's
 * clock. */
enum gw_status gw_accelerator_interval(const struct gw_accelerator *accelerator, size_t operation,
                                       double *start_s, double *end_s, struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
