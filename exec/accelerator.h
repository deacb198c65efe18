/*
 * A GPU as the executor's streams use it; private to this room. Each thread puts its operations on
 * its stream of the GPU, between two events each, and goes on: what the host need not know it does
 * not wait for. Forward, backward and update are work of known duration: waiting, or products of
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
 * One warp waits on one multiprocessor: until `nanoseconds` after *clock (GPU) if this `continues`
 * or the clock is ahead, and else after now; *clock is then when that was, in nanoseconds of the
 * GPU's global timer. So what follows one another ends when it should, however late it was begun.
 */
enum gw_status gw_gpu_hold(uint64_t *clock, uint64_t nanoseconds, bool continues,
                           struct gw_device_stream *stream, struct gw_error *error);

/* ---- products ------------------------------------------------------------------------------ */

/*
 * Products of matrices by cuBLAS, as deep as asked. What is multiplied is in single precision, in
 * tensor cores as TF32, as frameworks do.
 */
struct gw_products {
    struct gw_device_stream *stream;
    size_t n, depth;
    float *a, *b;    /* GPU: [n * depth] each, column by column, of normal draws */
    float *c;        /* GPU: [n * n] */
    void *workspace; /* GPU: cuBLAS' own */
    struct cublasContext *handle;
};

/* *out is safe to close in any case. GW_BAD_INPUT: there is no cuBLAS (gw_cublas_need). */
enum gw_status gw_products_open(struct gw_products *out, struct gw_device_stream *stream, size_t n,
                                size_t depth, struct gw_error *error);
void gw_products_close(struct gw_products *products);

/* Puts c = a b^T on the stream, of the first `depth` columns of both. */
enum gw_status gw_products_multiply(const struct gw_products *products, size_t depth,
                                    struct gw_error *error);

/* ---- how long products take, by how deep they are ------------------------------------------ */

enum { GW_DEPTH_STEP = 16, GW_MOST_DEPTHS = 8 };

struct gw_depths {
    size_t count;
    struct gw_curve_point points[GW_MOST_DEPTHS]; /* of depth and time, both strictly ascending */
};

/*
 * From `count` measured depths, which ascend in multiples of GW_DEPTH_STEP: those that take less
 * time than every deeper one. GW_FAILED: a time is no time, fewer than three are left, or the
 * deepest does not take twice as long as the least deep.
 */
enum gw_status gw_depths_set(struct gw_depths *out, const struct gw_curve_point *measured,
                             size_t count, struct gw_error *error);

/*
 * The depth, a multiple of GW_DEPTH_STEP, of the next product for `*owed_s` of work, and takes off
 * its time, which is interpolated: the deepest, if that is not too long; 0, and nothing is taken
 * off, if the least is. What is taken off may be more than is owed, by half a step.
 */
size_t gw_depths_take(const struct gw_depths *depths, double *owed_s);

/* ---- work ---------------------------------------------------------------------------------- */

struct gw_gpu_work {
    struct gw_device *device;
    struct gw_device_stream *stream;
    enum gw_compute compute;
    uint64_t *clock; /* GPU: when waiting last ended */
    struct gw_products products;
    struct gw_depths depths; /* calibrated */
    double owed_s;           /* what products have been too short so far */
};

/*
 * Products are calibrated on the stream, for some milliseconds; waiting is by the GPU's timer. *out
 * is safe to close in any case. GW_BAD_INPUT: products are asked for where there is no cuBLAS.
 */
enum gw_status gw_gpu_work_open(struct gw_gpu_work *out, struct gw_device_stream *stream,
                                enum gw_compute compute, struct gw_error *error);
void gw_gpu_work_close(struct gw_gpu_work *work);

/* Puts work of that duration on the stream; it `continues` what it did last. */
enum gw_status gw_gpu_work_do(struct gw_gpu_work *work, double seconds, bool continues,
                              struct gw_error *error);

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
                                   const struct gw_session_options *options,
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
/* The operation is a trainer's: its stream goes on once what `trainer` has by now is done. */
enum gw_status gw_accelerator_follow(struct gw_accelerator *accelerator, size_t operation,
                                     struct gw_device_stream *trainer, struct gw_error *error);
/* Waits until the operation has begun, and lets it begin then: its time counts from there on. */
enum gw_status gw_accelerator_await(struct gw_accelerator *accelerator, size_t operation,
                                    struct gw_error *error);
enum gw_status gw_accelerator_end(struct gw_accelerator *accelerator, size_t operation,
                                  struct gw_error *error);

/* The work of an operation of known duration. */
enum gw_status gw_accelerator_work(struct gw_accelerator *accelerator,
                                   const struct gw_operation *operation, struct gw_error *error);

/* Once finished: when the operation began (NULL: no matter) and ended, on the host's clock. */
enum gw_status gw_accelerator_interval(const struct gw_accelerator *accelerator, size_t operation,
                                       double *start_s, double *end_s, struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
