/*
 * Ranks as threads of one process: in collectives they read each other's send buffers between two
 * barriers.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "transport/mailboxes.h"
#include "transport/posts.h"

struct shared {
    int size, open;
    pthread_mutex_t mutex;
    pthread_cond_t all_arrived;
    int arrived;
    unsigned generation;
    const void **sends; /* per rank */
    struct gw_mailboxes *mailboxes;
    struct gw_posts *posts;
};

static void meet(struct shared *shared) {
    pthread_mutex_lock(&shared->mutex);
    unsigned generation = shared->generation;
    if (++shared->arrived == shared->size) {
        shared->arrived = 0;
        shared->generation++;
        pthread_cond_broadcast(&shared->all_arrived);
    }
    while (generation == shared->generation) {
        pthread_cond_wait(&shared->all_arrived, &shared->mutex);
    }
    pthread_mutex_unlock(&shared->mutex);
}

static enum gw_status local_allgather(struct gw_communicator *communicator, const void *send,
                                      size_t bytes, void *receive, struct gw_error *error) {
    (void)error;
    struct shared *shared = communicator->state;
    shared->sends[communicator->rank] = send;
    meet(shared);
    for (int rank = 0; rank < communicator->size && bytes > 0; rank++) {
        memcpy((char *)receive + (size_t)rank * bytes, shared->sends[rank], bytes);
    }
    meet(shared);
    return GW_OK;
}

static enum gw_status local_allreduce(struct gw_communicator *communicator, const float *send,
                                      float *receive, size_t count, struct gw_error *error) {
    (void)error;
    struct shared *shared = communicator->state;
    shared->sends[communicator->rank] = send;
    meet(shared);
    for (size_t i = 0; i < count; i++) {
        float sum = 0;
        for (int rank = 0; rank < communicator->size; rank++) {
            sum += ((const float *)shared->sends[rank])[i];
        }
        receive[i] = sum;
    }
    meet(shared);
    return GW_OK;
}

static enum gw_status local_barrier(struct gw_communicator *communicator, struct gw_error *error) {
    (void)error;
    meet(communicator->state);
    return GW_OK;
}

static enum gw_status local_start_send(struct gw_communicator *communicator, int to,
                                       const void *data, size_t bytes, struct gw_request *out,
                                       struct gw_error *error) {
    struct shared *shared = communicator->state;
    return gw_mailboxes_start_send(shared->mailboxes, communicator->rank, to, data, bytes, out,
                                   error);
}

static enum gw_status local_start_receive(struct gw_communicator *communicator, int from,
                                          void *data, size_t bytes, struct gw_request *out,
                                          struct gw_error *error) {
    struct shared *shared = communicator->state;
    return gw_mailboxes_start_receive(shared->mailboxes, communicator->rank, from, data, bytes, out,
                                      error);
}

static enum gw_status local_wait(struct gw_communicator *communicator, struct gw_request *requests,
                                 size_t count, struct gw_error *error) {
    struct shared *shared = communicator->state;
    return gw_mailboxes_wait(shared->mailboxes, communicator->rank, requests, count, error);
}

static enum gw_status local_post(struct gw_communicator *communicator, int to, const void *message,
                                 size_t bytes, struct gw_error *error) {
    struct shared *shared = communicator->state;
    return gw_posts_add(shared->posts, communicator->rank, to, message, bytes, error);
}

static enum gw_status local_poll(struct gw_communicator *communicator, void *message,
                                 size_t capacity, size_t *bytes, int *from,
                                 struct gw_error *error) {
    struct shared *shared = communicator->state;
    return gw_posts_take(shared->posts, communicator->rank, message, capacity, bytes, from, error);
}

static void local_abort(struct gw_communicator *communicator, int status) {
    (void)communicator;
    _Exit(status);
}

static void local_close(struct gw_communicator *communicator) {
    struct shared *shared = communicator->state;
    pthread_mutex_lock(&shared->mutex);
    bool last = --shared->open == 0;
    pthread_mutex_unlock(&shared->mutex);
    if (last) {
        pthread_cond_destroy(&shared->all_arrived);
        pthread_mutex_destroy(&shared->mutex);
        gw_mailboxes_close(shared->mailboxes);
        gw_posts_close(shared->posts);
        free(shared->sends);
        free(shared);
    }
}

static const struct gw_transport local_transport = {
    .name = "local",
    .allgather = local_allgather,
    .allreduce = local_allreduce,
    .barrier = local_barrier,
    .start_send = local_start_send,
    .start_receive = local_start_receive,
    .wait = local_wait,
    .post = local_post,
    .poll = local_poll,
    .abort = local_abort,
    .close = local_close,
};

enum gw_status gw_communicators_open_local(int size, struct gw_communicator *out,
                                           struct gw_error *error) {
    struct shared *shared = calloc(1, sizeof *shared);
    const void **sends = calloc((size_t)size, sizeof *sends);
    struct gw_mailboxes *mailboxes = NULL;
    struct gw_posts *posts = NULL;
    enum gw_status status = shared == NULL || sends == NULL
                                ? gw_fail_memory(error, "opening communicators")
                                : gw_mailboxes_open(&mailboxes, size, error);
    status = status == GW_OK ? gw_posts_open(&posts, size, error) : status;
    if (status != GW_OK) {
        if (mailboxes != NULL) {
            gw_mailboxes_close(mailboxes);
        }
        free(shared);
        free(sends);
        return status;
    }
    *shared = (struct shared){
        .size = size, .open = size, .sends = sends, .mailboxes = mailboxes, .posts = posts};
    pthread_mutex_init(&shared->mutex, NULL);
    pthread_cond_init(&shared->all_arrived, NULL);
    for (int rank = 0; rank < size; rank++) {
        out[rank] = (struct gw_communicator){
            .transport = &local_transport, .rank = rank, .size = size, .state = shared};
    }
    return GW_OK;
}
