/*
 * A session, the engine that really exchanges: two streams with a thread each run a schedule,
 * whatever its compute is. Private to this room; the executor is a client of it, and exec.h has the
 * functions for trainers.
 */
#ifndef GW_EXEC_SESSION_H
#define GW_EXEC_SESSION_H

#include <pthread.h>

#include "exec/accelerator.h"
#include "exec/exec.h"
#include "exec/outcome.h"

/* The time of an operation, from the iteration's start, and the bytes that it sent. */
struct gw_interval {
    double start_s, end_s;
    uint64_t bytes;
};

struct gw_stream_thread {
    struct gw_session *session;
    const char *name; /* as the system shows it */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t capacity, head, tail; /* of the ring; tail - head operations are queued */
    size_t *ring;
    bool closing;
};

/* A tensor of a trainer's. */
struct gw_session_tensor {
    size_t backward;            /* the operation */
    size_t first, count;        /* elements of the flat vectors */
    bool named, ready;          /* in this iteration: its gradient was announced; is ready */
    enum gw_number_type number; /* of gradient and result */
    void *result;               /* destination of its aggregate, or NULL */
};

struct gw_session {
    const struct gw_schedule *schedule;
    struct gw_arena arena; /* of everything that lives as long as the session, except data that is
                            * sent */
    struct gw_worker worker;
    struct gw_outcome outcome;
    struct gw_stream_thread streams[GW_STREAM_COUNT];
    bool on_gpu;
    struct gw_accelerator accelerator;   /* the GPU, and ... */
    struct gw_communicator between_gpus; /* ... its communicator for data */
    struct gw_device_stream *trainer;    /* of the GPU: computes a trainer's gradients */
    uint64_t iterations;                 /* begun */

    /*
     * The emulated accelerator's clock, per stream. Timed operations end at absolute deadlines on
     * it, so that a late wake-up is made up by the next operation and does not accumulate over
     * hundreds of tensors.
     */
    double clock_s[GW_STREAM_COUNT];
    double ended_s[GW_STREAM_COUNT]; /* end of the stream's last operation, as recorded */
    double start_s;
    struct gw_interval *intervals; /* per operation */
    struct gw_interval *gathered;  /* of all ranks */

    /* A trainer's session: */
    size_t tensor_count;
    struct gw_session_tensor
        *tensors; /* in the order of the backward pass; NULL: compute is timed */
    const struct gw_slice **delivers; /* per operation: the group whose last operation it is, or
                                       * NULL */
    float scale;                      /* of gradients */
    uint64_t seed;                    /* of everything that ranks share */
    bool begun;                       /* an iteration, not yet waited for */
    bool held_back;                   /* until thresholds are set from the first finite gradients */

    pthread_mutex_t mutex; /* guards the members below */
    bool *done;            /* per operation */
    size_t left;
    size_t computed; /* number of tensors, in their order, that are ready */
    bool advancing;  /* a thread is compressing ready tensors */
    bool closing;
    size_t awaited[GW_STREAM_COUNT]; /* the operation that the stream waits for */
    pthread_cond_t awaited_done[GW_STREAM_COUNT];
    pthread_cond_t all_done;
    struct gw_error failure; /* of the first operation that failed; status GW_OK: none */
};

/* Opens the trainer's part of a session. */
enum gw_status gw_tensors_open(struct gw_session *session, const struct gw_session_options *options,
                               struct gw_error *error);

/* Fails unless an iteration has begun and was not waited for; or, without `begun`, if one has. */
enum gw_status gw_session_check_begun(const struct gw_session *session, bool begun,
                                      struct gw_error *error);

/* Called after a compressor has refused a group: if the group holds a NaN, the message names its
 * tensor. Reads the group by the stream's memory. */
void gw_tensors_name_nan(struct gw_session *session, const struct gw_memory *memory,
                         const struct gw_group_state *group, struct gw_error *error);

/* Writes a group's aggregates to the trainer's results. */
enum gw_status gw_tensors_deliver(struct gw_session *session, const struct gw_slice *slice,
                                  struct gw_error *error);

/* ---- steps of an iteration, in this order -------------------------------------------------- */

/* Resets the state of the last iteration. */
enum gw_status gw_session_prepare(struct gw_session *session, struct gw_error *error);

/* Starts the iteration's time. */
void gw_session_start(struct gw_session *session);

/* Queues the operation on its stream; never waits. */
void gw_session_push(struct gw_session *session, size_t operation);

/* Runs the operation on this thread, in place of its stream's. */
void gw_session_run_operation(struct gw_session *session, size_t index);

/* Ends an operation that no stream runs, with its status; the caller holds the session's mutex. */
void gw_session_end_operation(struct gw_session *session, size_t index, enum gw_status status,
                              const struct gw_error *error);

/* Waits until all operations have ended. */
enum gw_status gw_session_finish(struct gw_session *session, struct gw_error *error);

#endif
