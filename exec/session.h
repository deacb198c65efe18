/*
 * A session, the engine that really exchanges: two streams with a thread each interpret a schedule,
 * wherever compute comes from. Private to this room, of which the executor is a client; what a
 * trainer sees of it is in exec.h.
 */
#ifndef GW_EXEC_SESSION_H
#define GW_EXEC_SESSION_H

#include <pthread.h>

#include "exec/accelerator.h"
#include "exec/exec.h"
#include "exec/outcome.h"

/* When an operation ran, counted from the iteration's start, and what it really sent. */
struct gw_interval {
    double start_s, end_s;
    uint64_t bytes;
};

/* What an operation does on its stream's thread. */
typedef void gw_stream_run(void *context, size_t operation);

struct gw_stream_thread {
    const char *name; /* as the system shows it */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t capacity, head, tail; /* of the ring; tail - head operations are queued */
    size_t *ring;
    bool closing;
    gw_stream_run *run;
    void *context;
};

/* A tensor of a trainer's. */
struct gw_session_tensor {
    size_t backward;     /* the operation */
    size_t first, count; /* elements of the flat vectors */
    bool named, ready;   /* in this iteration: its gradient comes; is there */
    float *result;       /* where its aggregate goes; NULL: nowhere */
};

struct gw_session {
    const struct gw_schedule *schedule;
    struct gw_arena arena; /* of what lives as long as the session, but for what travels */
    struct gw_worker worker;
    struct gw_outcome outcome;
    struct gw_stream_thread streams[GW_STREAM_COUNT];
    bool on_gpu;
    struct gw_accelerator accelerator;   /* the GPU, and ... */
    struct gw_communicator between_gpus; /* ... what data travels by */
    struct gw_device_stream *trainer;    /* of the GPU: where a trainer's gradients are made */
    uint64_t iterations;                 /* begun */

    /*
     * The emulated accelerator's clock, per stream. Timed operations end at absolute deadlines on
     * it, so that waking up late once is made good by the next one and does not add up over
     * hundreds of tensors.
     */
    double clock_s[GW_STREAM_COUNT];
    double ended_s[GW_STREAM_COUNT]; /* the stream's last operation, as recorded */
    double start_s;
    struct gw_interval *intervals; /* per operation */
    struct gw_interval *gathered;  /* the same of all ranks */

    /* Of a trainer's: */
    size_t tensor_count;
    struct gw_session_tensor
        *tensors; /* in the order of the backward pass; NULL: compute is timed */
    const struct gw_slice **delivers; /* per operation: the group that it is the last of, or NULL */
    float scale;                      /* of gradients */
    uint64_t seed;                    /* what ranks share follows from it */
    bool begun;                       /* an iteration, and not waited for */
    bool held_back;                   /* until thresholds follow from the first gradients */

    pthread_mutex_t mutex; /* guards what follows */
    bool *done;            /* per operation */
    size_t left;
    size_t computed; /* tensors, in their order, that are ready */
    bool advancing;  /* a thread sees to that, and compresses */
    bool closing;
    size_t awaited[GW_STREAM_COUNT]; /* the operation that the stream waits for */
    pthread_cond_t awaited_done[GW_STREAM_COUNT];
    pthread_cond_t all_done;
    struct gw_error failure; /* of the first operation that failed; status GW_OK: none */
};

/* What a trainer's session has besides. */
enum gw_status gw_tensors_open(struct gw_session *session, const struct gw_session_options *options,
                               struct gw_error *error);

/* Fails unless an iteration has begun and was not waited for; or, if not `begun`, the opposite. */
enum gw_status gw_session_check_begun(const struct gw_session *session, bool begun,
                                      struct gw_error *error);

/*
 * After a compressor has refused a group: if it holds a NaN, the message says which tensor has it.
 * The stream's memory is what the group is read by.
 */
void gw_tensors_name_nan(struct gw_session *session, const struct gw_memory *memory,
                         const struct gw_group_state *group, struct gw_error *error);

/* Puts a group's aggregates where the trainer wants them. */
enum gw_status gw_tensors_deliver(struct gw_session *session, const struct gw_slice *slice,
                                  struct gw_error *error);

/* ---- an iteration: these in turn ----------------------------------------------------------- */

/* Clears what the last one left. */
enum gw_status gw_session_prepare(struct gw_session *session, struct gw_error *error);

/* From now on times count. */
void gw_session_start(struct gw_session *session);

/* Lets the operation's stream run it, after what it was given before. */
void gw_session_push(struct gw_session *session, size_t operation);

/* Runs it on this thread, which is its stream's for now. */
void gw_session_run_operation(struct gw_session *session, size_t index);

/* An operation that no stream was given has ended, or failed; with the session's mutex. */
void gw_session_end_operation(struct gw_session *session, size_t index, enum gw_status status,
                              const struct gw_error *error);

/* Waits until all operations have ended. */
enum gw_status gw_session_finish(struct gw_session *session, struct gw_error *error);

#endif
