/* Ranks as threads of one process. */
#include "transport/local.h"

#include <stdlib.h>

#include "transport/first.h"

static enum gw_status local_start_send(struct gw_communicator *communicator, int to,
                                       const void *data, size_t bytes, struct gw_request *out,
                                       struct gw_error *error) {
    struct gw_local *shared = communicator->state;
    return gw_mailboxes_start_send(shared->mailboxes, communicator->rank, to, data, bytes, out,
                                   error);
}

static enum gw_status local_start_receive(struct gw_communicator *communicator, int from,
                                          void *data, size_t bytes, struct gw_request *out,
                                          struct gw_error *error) {
    struct gw_local *shared = communicator->state;
    return gw_mailboxes_start_receive(shared->mailboxes, communicator->rank, from, data, bytes, out,
                                      error);
}

static enum gw_status local_wait(struct gw_communicator *communicator, struct gw_request *requests,
                                 size_t count, struct gw_error *error) {
    struct gw_local *shared = communicator->state;
    return gw_mailboxes_wait(shared->mailboxes, communicator->rank, requests, count, error);
}

static enum gw_status local_test(struct gw_communicator *communicator, struct gw_request *request,
                                 bool *done, struct gw_error *error) {
    struct gw_local *shared = communicator->state;
    return gw_mailboxes_test(shared->mailboxes, communicator->rank, request, done, error);
}

static enum gw_status local_post(struct gw_communicator *communicator, int to, const void *message,
                                 size_t bytes, struct gw_error *error) {
    struct gw_local *shared = communicator->state;
    return gw_posts_add(shared->posts, communicator->rank, to, message, bytes, error);
}

static enum gw_status local_poll(struct gw_communicator *communicator, void *message,
                                 size_t capacity, size_t *bytes, int *from,
                                 struct gw_error *error) {
    struct gw_local *shared = communicator->state;
    return gw_posts_take(shared->posts, communicator->rank, message, capacity, bytes, from, error);
}

static void local_abort(struct gw_communicator *communicator, int status) {
    (void)communicator;
    _Exit(status);
}

static void local_close(struct gw_communicator *communicator) {
    struct gw_local *shared = communicator->state;
    pthread_mutex_lock(&shared->mutex);
    bool last = --shared->open == 0;
    pthread_mutex_unlock(&shared->mutex);
    if (last) {
        pthread_cond_destroy(&shared->all_arrived);
        pthread_mutex_destroy(&shared->mutex);
        gw_mailboxes_close(shared->mailboxes);
        gw_posts_close(shared->posts);
        free(shared->buffers);
        free(shared);
    }
}

/* Rank 0 makes the communicators of all; the others take theirs while it waits. */
static enum gw_status local_open_first(struct gw_communicator *parent, int size,
                                       struct gw_communicator *out, struct gw_error *error) {
    struct gw_local *shared = parent->state;
    struct gw_communicator *made = NULL;
    enum gw_status status = GW_OK;
    *out = (struct gw_communicator){0};
    GW_TRY(gw_check_first(parent, size, error));
    if (parent->rank == 0) {
        made = calloc((size_t)size, sizeof *made);
        status = made == NULL ? gw_fail_memory(error, "opening communicators")
                              : gw_communicators_open_local(size, made, error);
        shared->buffers[0] = status == GW_OK ? made : NULL;
    }
    gw_local_meet(shared);
    const struct gw_communicator *all = shared->buffers[0];
    if (all == NULL && parent->rank != 0) {
        status =
            gw_fail(error, GW_FAILED, "rank 0 could not open a communicator of %d ranks", size);
    } else if (all != NULL && parent->rank < size) {
        *out = all[parent->rank];
        out->transport = parent->transport;
    }
    gw_local_meet(shared);
    free(made);
    return status;
}

static const struct gw_transport local_transport = {
    .name = "local",
    .allgather = gw_local_allgather,
    .allgather_unequal = gw_local_allgather_unequal,
    .allreduce = gw_local_allreduce,
    .broadcast = gw_local_broadcast,
    .reduce = gw_local_reduce,
    .gather = gw_local_gather,
    .scatter = gw_local_scatter,
    .barrier = gw_local_barrier,
    .start_send = local_start_send,
    .start_receive = local_start_receive,
    .wait = local_wait,
    .test = local_test,
    .post = local_post,
    .poll = local_poll,
    .open_first = local_open_first,
    .abort = local_abort,
    .close = local_close,
};

enum gw_status gw_communicators_open_local(int size, struct gw_communicator *out,
                                           struct gw_error *error) {
    struct gw_local *shared = calloc(1, sizeof *shared);
    const void **buffers = calloc((size_t)size, sizeof *buffers);
    struct gw_mailboxes *mailboxes = NULL;
    struct gw_posts *posts = NULL;
    enum gw_status status = shared == NULL || buffers == NULL
                                ? gw_fail_memory(error, "opening communicators")
                                : gw_mailboxes_open(&mailboxes, size, error);
    status = status == GW_OK ? gw_posts_open(&posts, size, error) : status;
    if (status != GW_OK) {
        if (mailboxes != NULL) {
            gw_mailboxes_close(mailboxes);
        }
        free(shared);
        free(buffers);
        return status;
    }
    *shared = (struct gw_local){
        .size = size, .open = size, .buffers = buffers, .mailboxes = mailboxes, .posts = posts};
    pthread_mutex_init(&shared->mutex, NULL);
    pthread_cond_init(&shared->all_arrived, NULL);
    for (int rank = 0; rank < size; rank++) {
        out[rank] = (struct gw_communicator){
            .transport = &local_transport, .rank = rank, .size = size, .state = shared};
    }
    return GW_OK;
}
