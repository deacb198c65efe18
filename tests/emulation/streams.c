#include "streams.h"

#include <stdlib.h>
#include <time.h>

#include "order.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct CUstream_st *all;

bool stream_put(cudaStream_t stream, void (*run)(void *context), void *context) {
    if (stream == NULL) {
        run(context);
        return true;
    }
    return queue_put(&stream->queue, run, context);
}

/* Streams come and go meanwhile: who closes one waits until nobody waits for it here. */
void streams_finish(int device) {
    quiet_lock(&mutex);
    for (struct CUstream_st *stream = all; stream != NULL; stream = stream->next) {
        if (stream->device != device) {
            continue;
        }
        stream->waiting++;
        quiet_unlock(&mutex);
        queue_finish(&stream->queue);
        quiet_lock(&mutex);
        stream->waiting--;
        quiet_tell(&changed);
    }
    quiet_unlock(&mutex);
}

/* ---- streams ------------------------------------------------------------------------------- */

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority) {
    (void)flags, (void)priority;
    struct CUstream_st *stream = malloc(sizeof *stream);
    *out = NULL;
    if (stream == NULL || !queue_open(&stream->queue)) {
        free(stream);
        return cuda_result(cudaErrorMemoryAllocation);
    }
    stream->device = cuda_current_device();
    stream->waiting = 0;
    quiet_lock(&mutex);
    stream->next = all;
    all = stream;
    quiet_unlock(&mutex);
    *out = stream;
    return cudaSuccess;
}

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
    queue_close(&stream->queue);
    free(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    if (stream != NULL) {
        queue_finish(&stream->queue);
    }
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return stream == NULL || queue_is_done(&stream->queue) ? cudaSuccess
                                                           : cuda_result(cudaErrorNotReady);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data) {
    return stream_put(stream, function, data) ? cudaSuccess
                                              : cuda_result(cudaErrorMemoryAllocation);
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

static struct record *hold(struct record *record) {
    quiet_lock(&record->mutex);
    record->users++;
    quiet_unlock(&record->mutex);
    return record;
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
    *out = malloc(sizeof **out);
    if (*out == NULL) {
        return cuda_result(cudaErrorMemoryAllocation);
    }
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
    struct record *record = malloc(sizeof *record);
    if (record == NULL) {
        return cuda_result(cudaErrorMemoryAllocation);
    }
    *record = (struct record){.mutex = PTHREAD_MUTEX_INITIALIZER,
                              .changed = PTHREAD_COND_INITIALIZER,
                              .users = 2}; /* the event, and the stream */
    if (!stream_put(stream, reach, record)) {
        free(record);
        return cuda_result(cudaErrorMemoryAllocation);
    }
    release(event->record);
    event->record = record;
    return cudaSuccess;
}

/* For what the event was recorded last, now. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    (void)flags;
    if (event->record != NULL && !stream_put(stream, await_and_release, hold(event->record))) {
        release(event->record);
        return cuda_result(cudaErrorMemoryAllocation);
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
