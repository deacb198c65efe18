/* Collectives of threads, which read each other's buffers between two meetings. */
#include <string.h>

#include "transport/local.h"

void gw_local_meet(struct gw_local *shared) {
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

/* Shows the others a buffer, and sees theirs from here until the next meeting. */
static struct gw_local *show(struct gw_communicator *communicator, const void *buffer) {
    struct gw_local *shared = communicator->state;
    shared->buffers[communicator->rank] = buffer;
    gw_local_meet(shared);
    return shared;
}

/* Of no bytes there may be no buffer. */
static void copy(void *to, const void *from, size_t bytes) {
    if (bytes > 0) {
        memcpy(to, from, bytes);
    }
}

static void copy_all(const struct gw_local *shared, size_t bytes, void *receive) {
    for (int rank = 0; rank < shared->size; rank++) {
        copy((char *)receive + (size_t)rank * bytes, shared->buffers[rank], bytes);
    }
}

/* In the order of ranks, so that all who sum get the same bits. */
static void sum_all(const struct gw_local *shared, size_t count, float *receive) {
    for (size_t i = 0; i < count; i++) {
        float sum = 0;
        for (int rank = 0; rank < shared->size; rank++) {
            sum += ((const float *)shared->buffers[rank])[i];
        }
        receive[i] = sum;
    }
}

enum gw_status gw_local_allgather(struct gw_communicator *communicator, const void *send,
                                  size_t bytes, void *receive, struct gw_error *error) {
    (void)error;
    struct gw_local *shared = show(communicator, send);
    copy_all(shared, bytes, receive);
    gw_local_meet(shared);
    return GW_OK;
}

enum gw_status gw_local_allgather_unequal(struct gw_communicator *communicator, const void *send,
                                          const size_t *bytes, void *receive,
                                          struct gw_error *error) {
    (void)error;
    struct gw_local *shared = show(communicator, send);
    size_t offset = 0;
    for (int rank = 0; rank < shared->size; rank++) {
        copy((char *)receive + offset, shared->buffers[rank], bytes[rank]);
        offset += bytes[rank];
    }
    gw_local_meet(shared);
    return GW_OK;
}

enum gw_status gw_local_allreduce(struct gw_communicator *communicator, const float *send,
                                  float *receive, size_t count, struct gw_error *error) {
    (void)error;
    struct gw_local *shared = show(communicator, send);
    sum_all(shared, count, receive);
    gw_local_meet(shared);
    return GW_OK;
}

enum gw_status gw_local_broadcast(struct gw_communicator *communicator, int root, void *data,
                                  size_t bytes, struct gw_error *error) {
    (void)error;
    struct gw_local *shared = show(communicator, data);
    if (communicator->rank != root) {
        copy(data, shared->buffers[root], bytes);
    }
    gw_local_meet(shared);
    return GW_OK;
}

enum gw_status gw_local_reduce(struct gw_communicator *communicator, int root, const float *send,
                               float *receive, size_t count, struct gw_error *error) {
    (void)error;
    struct gw_local *shared = show(communicator, send);
    if (communicator->rank == root) {
        sum_all(shared, count, receive);
    }
    gw_local_meet(shared);
    return GW_OK;
}

enum gw_status gw_local_gather(struct gw_communicator *communicator, int root, const void *send,
                               size_t bytes, void *receive, struct gw_error *error) {
    (void)error;
    struct gw_local *shared = show(communicator, send);
    if (communicator->rank == root) {
        copy_all(shared, bytes, receive);
    }
    gw_local_meet(shared);
    return GW_OK;
}

enum gw_status gw_local_scatter(struct gw_communicator *communicator, int root, const void *send,
                                size_t bytes, void *receive, struct gw_error *error) {
    (void)error;
    struct gw_local *shared = show(communicator, send);
    if (bytes > 0) {
        const char *all = shared->buffers[root];
        copy(receive, all + (size_t)communicator->rank * bytes, bytes);
    }
    gw_local_meet(shared);
    return GW_OK;
}

enum gw_status gw_local_barrier(struct gw_communicator *communicator, struct gw_error *error) {
    (void)error;
    gw_local_meet(communicator->state);
    return GW_OK;
}
