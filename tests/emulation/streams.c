#include "streams.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "order.h"

/* ---- work on streams ------------------------------------------------------------------------ */

struct task {
    struct task *next;
    void (*run)(void *context);
    void *context;
};

/* One in sixteen comes late. */
static void linger(uint64_t *lot) {
    *lot = *lot * 6364136223846793005u + 1442695040888963407u;
    if (*lot >> 60 == 0) {
        struct timespec while_ = {.tv_nsec = 100000};
        (void)nanosleep(&while_, NULL);
    }
}

static struct task *take(struct CUstream_st *stream) {
    quiet_lock(&stream->mutex);
    while (stream->first == NULL && !stream->closing) {
        quiet_wait(&stream->changed, &stream->mutex);
    }
    struct task *task = stream->first;
    if (task != NULL) {
        stream->first = task->next;
    }
    quiet_unlock(&stream->mutex);
    return task;
}

static void work(struct CUstream_st *stream) {
    uint64_t lot = (uintptr_t)stream / 64;
    for (struct task *task = take(stream); task != NULL; task = take(stream)) {
        linger(&lot);
        order_after(task);
        task->run(task->context);
        free(task);
        order_before(&stream->done);
        quiet_lock(&stream->mutex);
        stream->done++;
        quiet_tell(&stream->changed);
        quiet_unlock(&stream->mutex);
    }
}

void *cuda_allocate(size_t bytes) {
    void *memory = malloc(bytes);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

void stream_put(cudaStream_t stream, void (*run)(void *context), void *context) {
    if (stream == NULL) {
        run(context);
        return;
    }
    struct task *task = cuda_allocate(sizeof *task);
    *task = (struct task){.run = run, .context = context};
    order_before(task);
    quiet_lock(&stream->mutex);
    *(stream->first == NULL ? &stream->first : &stream->last->next) = task;
    stream->last = task;
    stream->put++;
    quiet_tell(&stream->changed);
    quiet_unlock(&stream->mutex);
}

/* ---- their threads ------------------------------------------------------------------------- */

/* Threads outlive streams: what one needs for running blocks takes long to make. */
struct server {
    struct server *next; /* of those that are idle */
    pthread_cond_t changed;
    struct CUstream_st *stream; /* NULL: idle */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of all streams and servers */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct server *idle;
static struct CUstream_st *all;

static void *serve(void *argument) {
    struct server *server = argument;
    for (;;) {
        quiet_lock(&mutex);
        while (server->stream == NULL) {
            quiet_wait(&server->changed, &mutex);
        }
        quiet_unlock(&mutex);
        struct CUstream_st *stream = server->stream;
        work(stream);
        quiet_lock(&mutex);
        server->stream = NULL;
        server->next = idle;
        idle = server;
        quiet_unlock(&mutex);
        quiet_lock(&stream->mutex);
        stream->left = true;
        quiet_tell(&stream->changed);
        quiet_unlock(&stream->mutex);
    }
    return NULL;
}

static void start_server(struct CUstream_st *stream) {
    pthread_t thread;
    struct server *server = cuda_allocate(sizeof *server);
    *server = (struct server){.changed = PTHREAD_COND_INITIALIZER, .stream = stream};
    if (pthread_create(&thread, NULL, serve, server) != 0) {
        abort();
    }
    (void)pthread_detach(thread);
}

/* ---- streams ------------------------------------------------------------------------------- */

/* Streams come and go meanwhile: who closes one waits until nobody waits for it here. */
void streams_finish(int device) {
    quiet_lock(&mutex);
    for (struct CUstream_st *stream = all; stream != NULL; stream = stream->next) {
        if (stream->device != device) {
            continue;
        }
        stream->waiting++;
        quiet_unlock(&mutex);
        (void)cudaStreamSynchronize(stream);
        quiet_lock(&mutex);
        stream->waiting--;
        quiet_tell(&changed);
    }
    quiet_unlock(&mutex);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority) {
    (void)flags, (void)priority;
    struct CUstream_st *stream = cuda_allocate(sizeof *stream);
    *stream = (struct CUstream_st){.mutex = PTHREAD_MUTEX_INITIALIZER,
                                   .changed = PTHREAD_COND_INITIALIZER,
                                   .device = cuda_current_device()};
    quiet_lock(&mutex);
    stream->next = all;
    all = stream;
    struct server *server = idle;
    if (server != NULL) {
        idle = server->next;
        server->stream = stream;
        quiet_tell(&server->changed);
    }
    quiet_unlock(&mutex);
    if (server == NULL) {
        start_server(stream);
    }
    *out = stream;
    return cudaSuccess;
}

/* Its work is done first. */
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    quiet_lock(&mutex);
    while (stream->waiting > 0) {
        quiet_wait(&changed, &mutex);
    }
    struct CUstream_st **place = &all;
    while (*place != stream) {
        place = &(*place)->next;
    }
    *place = stream->next;
    quiet_unlock(&mutex);
    quiet_lock(&stream->mutex);
    stream->closing = true;
    quiet_tell(&stream->changed);
    while (!stream->left) {
        quiet_wait(&stream->changed, &stream->mutex);
    }
    quiet_unlock(&stream->mutex);
    free(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    if (stream != NULL) {
        quiet_lock(&stream->mutex);
        unsigned long put = stream->put;
        while (stream->done < put) {
            quiet_wait(&stream->changed, &stream->mutex);
        }
        quiet_unlock(&stream->mutex);
        order_after(&stream->done);
    }
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    if (stream != NULL) {
        quiet_lock(&stream->mutex);
        bool done = stream->done == stream->put;
        quiet_unlock(&stream->mutex);
        if (!done) {
            return cuda_result(cudaErrorNotReady);
        }
        order_after(&stream->done);
    }
    return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data) {
    stream_put(stream, function, data);
    return cudaSuccess;
}

/* ---- events -------------------------------------------------------------------------------- */

/* One recording of an event. */
struct record {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int users;
    bool reached;
    double seconds;
};

struct CUevent_st {
    unsigned flags;
    struct record *record; /* the last; NULL: never recorded */
};

static void release(struct record *record) {
    if (record == NULL) {
        return;
    }
    quiet_lock(&record->mutex);
    bool last = --record->users == 0;
    quiet_unlock(&record->mutex);
    if (last) {
        free(record);
    }
}

static void reach(void *context) {
    struct record *record = context;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    order_before(record);
    quiet_lock(&record->mutex);
    record->seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    record->reached = true;
    quiet_tell(&record->changed);
    quiet_unlock(&record->mutex);
    release(record);
}

static void await(struct record *record) {
    quiet_lock(&record->mutex);
    while (!record->reached) {
        quiet_wait(&record->changed, &record->mutex);
    }
    quiet_unlock(&record->mutex);
    order_after(record);
}

static void await_and_release(void *context) {
    await(context);
    release(context);
}

static bool is_reached(struct record *record) {
    quiet_lock(&record->mutex);
    bool reached = record->reached;
    quiet_unlock(&record->mutex);
    if (reached) {
        order_after(record);
    }
    return reached;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags) {
    *out = cuda_allocate(sizeof **out);
    **out = (struct CUevent_st){.flags = flags};
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    release(event->record);
    free(event);
    return cudaSuccess;
}

/* A stream and an event of different GPUs do not go together. */
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    if (stream != NULL && stream->device != cuda_current_device()) {
        return cuda_result(cudaErrorInvalidValue);
    }
    struct record *record = cuda_allocate(sizeof *record);
    *record = (struct record){.mutex = PTHREAD_MUTEX_INITIALIZER,
                              .changed = PTHREAD_COND_INITIALIZER,
                              .users = 2}; /* the event, and the stream */
    stream_put(stream, reach, record);
    release(event->record);
    event->record = record;
    return cudaSuccess;
}

/* For what the event was recorded last, now. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    (void)flags;
    if (event->record != NULL) {
        quiet_lock(&event->record->mutex);
        event->record->users++;
        quiet_unlock(&event->record->mutex);
        stream_put(stream, await_and_release, event->record);
    }
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    if (event->record != NULL) {
        await(event->record);
    }
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    return event->record == NULL || is_reached(event->record) ? cudaSuccess
                                                              : cuda_result(cudaErrorNotReady);
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to) {
    if (from->record == NULL || to->record == NULL || (from->flags & cudaEventDisableTiming) != 0 ||
        (to->flags & cudaEventDisableTiming) != 0) {
        return cuda_result(cudaErrorInvalidValue);
    }
    if (!is_reached(from->record) || !is_reached(to->record)) {
        return cuda_result(cudaErrorNotReady);
    }
    *milliseconds = (float)(1e3 * (to->record->seconds - from->record->seconds));
    return cudaSuccess;
}
