/* A stream: a thread that runs operations from its queue in order; private to this room. */
#ifndef GW_EXEC_STREAM_H
#define GW_EXEC_STREAM_H

#include <pthread.h>

#include "core/core.h"

/* What an operation does on its stream's thread. */
typedef void gw_stream_run(void *context, size_t operation);

struct gw_stream_thread {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t capacity, head, tail; /* of the ring; tail - head operations are queued */
    size_t *ring;
    bool closing;
    gw_stream_run *run;
    void *context;
};

/* Starts the thread; at most `capacity` operations are ever queued at once. */
enum gw_status gw_stream_open(struct gw_stream_thread *stream, size_t capacity, gw_stream_run *run,
                              void *context, struct gw_error *error);

/* Puts an operation at the queue's end. Never waits. */
void gw_stream_push(struct gw_stream_thread *stream, size_t operation);

/* Ends the thread once the queue is empty. */
void gw_stream_close(struct gw_stream_thread *stream);

#endif
