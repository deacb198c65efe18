#include "exec/stream.h"

#include <stdlib.h>
#include <string.h>

static void *serve(void *argument) {
    struct gw_stream_thread *stream = argument;
    gw_clock_sleep_precisely();
    pthread_mutex_lock(&stream->mutex);
    for (;;) {
        while (stream->head == stream->tail && !stream->closing) {
            pthread_cond_wait(&stream->changed, &stream->mutex);
        }
        if (stream->head == stream->tail) {
            break;
        }
        size_t operation = stream->ring[stream->head++ % stream->capacity];
        pthread_mutex_unlock(&stream->mutex);
        stream->run(stream->context, operation);
        pthread_mutex_lock(&stream->mutex);
    }
    pthread_mutex_unlock(&stream->mutex);
    return NULL;
}

enum gw_status gw_stream_open(struct gw_stream_thread *stream, size_t capacity, gw_stream_run *run,
                              void *context, struct gw_error *error) {
    *stream = (struct gw_stream_thread){.capacity = capacity,
                                        .ring = calloc(capacity, sizeof *stream->ring),
                                        .run = run,
                                        .context = context};
    if (stream->ring == NULL) {
        return gw_fail_memory(error, "opening a stream");
    }
    pthread_mutex_init(&stream->mutex, NULL);
    pthread_cond_init(&stream->changed, NULL);
    int result = pthread_create(&stream->thread, NULL, serve, stream);
    if (result != 0) {
        free(stream->ring);
        stream->ring = NULL;
        return gw_fail(error, GW_FAILED, "pthread_create: %s", strerror(result));
    }
    return GW_OK;
}

void gw_stream_push(struct gw_stream_thread *stream, size_t operation) {
    pthread_mutex_lock(&stream->mutex);
    stream->ring[stream->tail++ % stream->capacity] = operation;
    pthread_cond_signal(&stream->changed);
    pthread_mutex_unlock(&stream->mutex);
}

void gw_stream_close(struct gw_stream_thread *stream) {
    if (stream->ring == NULL) {
        return;
    }
    pthread_mutex_lock(&stream->mutex);
    stream->closing = true;
    pthread_cond_signal(&stream->changed);
    pthread_mutex_unlock(&stream->mutex);
    pthread_join(stream->thread, NULL);
    pthread_cond_destroy(&stream->changed);
    pthread_mutex_destroy(&stream->mutex);
    free(stream->ring);
    *stream = (struct gw_stream_thread){0};
}
