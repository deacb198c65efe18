/*
 * Ranks as threads of one process. Collectives read each other's buffers between two meetings. A
 * message meets the oldest receive that it fits, or waits for one in its receiver's mailbox; then
 * whoever came second copies it, from buffer to buffer and outside the lock.
 */
#include "tests/local_transport.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Up to this size a message that waits is copied into the mailbox, and its sender goes on. */
enum { BUFFERED_BYTES = 4096 };

struct message {
    struct message *next;
    int from;
    size_t bytes;
    const void *data; /* the sender's, or the copy */
    bool taken;
    max_align_t copy[];
};

struct receive {
    struct receive *next;
    int from;
    size_t capacity, bytes;
    void *data;
    bool done;
};

struct mailbox {
    struct message *messages; /* that no receive was there for, the oldest first */
    struct receive *receives; /* that no message was there for */
    struct message *control;  /* control messages, the oldest first */
    pthread_cond_t changed;   /* one of the rank's sends was taken, or its receives done */
};

/* The ranks' shared state; the last one that closes its communicator frees it. */
struct local {
    int size, open;
    pthread_mutex_t mutex;
    pthread_cond_t all_arrived;
    int arrived;
    unsigned generation;
    const void **buffers; /* per rank, for the others to read between two meetings */
    struct mailbox mailboxes[];
};

/* ---- collectives --------------------------------------------------------------------------- */

/* Waits for all ranks. */
static void meet(struct local *shared) {
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
static struct local *show(struct gw_communicator *communicator, const void *buffer) {
    struct local *shared = communicator->state;
    shared->buffers[communicator->rank] = buffer;
    meet(shared);
    return shared;
}

/* Copies no bytes without touching the buffer, which may be NULL. */
static void copy(void *to, const void *from, size_t bytes) {
    if (bytes > 0) {
        memcpy(to, from, bytes);
    }
}

static void copy_all(const struct local *shared, size_t bytes, void *receive) {
    for (int rank = 0; rank < shared->size; rank++) {
        copy((char *)receive + (size_t)rank * bytes, shared->buffers[rank], bytes);
    }
}

/* In the order of ranks, so that all who sum get the same bits. */
static void sum_all(const struct local *shared, size_t count, float *receive) {
    for (size_t i = 0; i < count; i++) {
        float sum = 0;
        for (int rank = 0; rank < shared->size; rank++) {
            sum += ((const float *)shared->buffers[rank])[i];
        }
        receive[i] = sum;
    }
}

static enum gw_status local_collect(struct gw_communicator *communicator,
                                    const struct gw_collective_call *call, struct gw_error *error) {
    struct local *shared = show(communicator, call->send);
    const char *of_root = shared->buffers[call->root];
    size_t bytes = call->bytes;
    bool is_root = communicator->rank == call->root;
    (void)error;
    if (call->kind == GW_ALLGATHER || (call->kind == GW_GATHER && is_root)) {
        copy_all(shared, bytes, call->receive);
    } else if (call->kind == GW_ALLREDUCE) {
        sum_all(shared, bytes / sizeof(float), call->receive);
    } else if (call->kind == GW_BROADCAST && !is_root) {
        copy(call->receive, of_root, bytes);
    } else if (call->kind == GW_SCATTER && bytes > 0) {
        copy(call->receive, of_root + (size_t)communicator->rank * bytes, bytes);
    }
    meet(shared);
    return GW_OK;
}

static enum gw_status local_barrier(struct gw_communicator *communicator, struct gw_error *error) {
    (void)error;
    meet(communicator->state);
    return GW_OK;
}

/* ---- messages ------------------------------------------------------------------------------ */

static void append_message(struct message **end, struct message *message) {
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = message;
}

static struct message *make_message(int from, const void *data, size_t bytes, bool copies) {
    struct message *message = malloc(sizeof *message + (copies ? bytes : 0));
    if (message != NULL) {
        *message = (struct message){.from = from, .bytes = bytes, .data = data};
    }
    if (message != NULL && copies) {
        copy(message->copy, data, bytes);
        message->data = message->copy;
    }
    return message;
}

/* Unlinks the oldest receive that takes messages from `from`, or adds the message at the end. */
static struct receive *meet_receive(struct mailbox *box, struct message *message) {
    struct receive **receive = &box->receives;
    while (*receive != NULL && (*receive)->from != message->from) {
        receive = &(*receive)->next;
    }
    struct receive *met = *receive;
    if (met != NULL) {
        *receive = met->next;
        return met;
    }
    append_message(&box->messages, message);
    return NULL;
}

static struct message *meet_message(struct mailbox *box, struct receive *receive) {
    struct message **message = &box->messages;
    while (*message != NULL && receive->from != (*message)->from) {
        message = &(*message)->next;
    }
    struct message *met = *message;
    if (met != NULL) {
        *message = met->next;
        return met;
    }
    struct receive **end = &box->receives;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = receive;
    return NULL;
}

/* Both were unlinked, so that nobody else touches them. */
static void copy_message(const struct message *message, struct receive *receive) {
    size_t bytes = message->bytes < receive->capacity ? message->bytes : receive->capacity;
    copy(receive->data, message->data, bytes);
    receive->bytes = message->bytes;
}

static void tell(struct local *shared, int rank, bool *what) {
    pthread_mutex_lock(&shared->mutex);
    *what = true;
    pthread_cond_signal(&shared->mailboxes[rank].changed);
    pthread_mutex_unlock(&shared->mutex);
}

/* Its request's handle is the message while that is the sender's, else 0. */
static enum gw_status start_send(struct gw_communicator *communicator,
                                 const struct gw_message *sent, struct gw_request *out,
                                 struct gw_error *error) {
    struct local *shared = communicator->state;
    size_t bytes = sent->bytes;
    struct message *message =
        make_message(communicator->rank, sent->data, bytes, bytes <= BUFFERED_BYTES);
    if (message == NULL) {
        return gw_fail_memory(error, "sending a message");
    }
    *out = (struct gw_request){.bytes = bytes};
    pthread_mutex_lock(&shared->mutex);
    struct receive *receive = meet_receive(&shared->mailboxes[sent->other], message);
    pthread_mutex_unlock(&shared->mutex);
    if (receive != NULL) {
        copy_message(message, receive);
        tell(shared, sent->other, &receive->done);
        free(message);
    } else if (bytes > BUFFERED_BYTES) {
        out->handle = (uintptr_t)message;
    }
    return GW_OK;
}

static enum gw_status local_start(struct gw_communicator *communicator,
                                  const struct gw_message *asked, struct gw_request *out,
                                  struct gw_error *error) {
    if (!asked->receives) {
        return start_send(communicator, asked, out, error);
    }
    struct local *shared = communicator->state;
    struct receive *receive = malloc(sizeof *receive);
    if (receive == NULL) {
        return gw_fail_memory(error, "receiving a message");
    }
    *receive =
        (struct receive){.from = asked->other, .capacity = asked->bytes, .data = asked->data};
    *out =
        (struct gw_request){.handle = (uintptr_t)receive, .bytes = asked->bytes, .receives = true};
    pthread_mutex_lock(&shared->mutex);
    struct message *message = meet_message(&shared->mailboxes[communicator->rank], receive);
    pthread_mutex_unlock(&shared->mutex);
    if (message != NULL) {
        copy_message(message, receive);
        receive->done = true;
        if (message->bytes > BUFFERED_BYTES) {
            tell(shared, message->from, &message->taken);
        } else {
            free(message);
        }
    }
    return GW_OK;
}

static void wait_for(struct local *shared, int rank, const bool *what) {
    pthread_mutex_lock(&shared->mutex);
    while (!*what) {
        pthread_cond_wait(&shared->mailboxes[rank].changed, &shared->mutex);
    }
    pthread_mutex_unlock(&shared->mutex);
}

static enum gw_status finish_receive(struct local *shared, int rank, struct receive *receive,
                                     struct gw_error *error) {
    wait_for(shared, rank, &receive->done);
    struct receive done = *receive;
    free(receive);
    return done.bytes == done.capacity
               ? GW_OK
               : gw_fail(error, GW_FAILED, "a message from rank %d: expected %zu bytes, got %zu",
                         done.from, done.capacity, done.bytes);
}

static enum gw_status local_wait(struct gw_communicator *communicator, struct gw_request *requests,
                                 size_t count, struct gw_error *error) {
    struct local *shared = communicator->state;
    for (size_t i = 0; i < count; i++) {
        void *handle = (void *)requests[i].handle;
        if (requests[i].receives) {
            GW_TRY(finish_receive(shared, communicator->rank, handle, error));
        } else if (handle != NULL) {
            struct message *message = handle;
            wait_for(shared, communicator->rank, &message->taken);
            free(message);
        }
    }
    return GW_OK;
}

static enum gw_status local_test(struct gw_communicator *communicator, struct gw_request *request,
                                 bool *done, struct gw_error *error) {
    struct local *shared = communicator->state;
    const void *handle = (const void *)request->handle;
    pthread_mutex_lock(&shared->mutex);
    *done = request->receives ? ((const struct receive *)handle)->done
                              : handle == NULL || ((const struct message *)handle)->taken;
    pthread_mutex_unlock(&shared->mutex);
    return *done ? local_wait(communicator, request, 1, error) : GW_OK;
}

/* ---- control messages ---------------------------------------------------------------------- */

static enum gw_status local_post(struct gw_communicator *communicator, int to, const void *data,
                                 size_t bytes, struct gw_error *error) {
    struct local *shared = communicator->state;
    struct message *message = make_message(communicator->rank, data, bytes, true);
    if (message == NULL) {
        return gw_fail_memory(error, "posting a message");
    }
    pthread_mutex_lock(&shared->mutex);
    append_message(&shared->mailboxes[to].control, message);
    pthread_mutex_unlock(&shared->mutex);
    return GW_OK;
}

static enum gw_status local_poll(struct gw_communicator *communicator, void *data, size_t capacity,
                                 size_t *bytes, int *from, struct gw_error *error) {
    struct local *shared = communicator->state;
    struct message **first = &shared->mailboxes[communicator->rank].control;
    *from = -1;
    *bytes = 0;
    pthread_mutex_lock(&shared->mutex);
    struct message *message = *first;
    if (message != NULL) {
        *first = message->next;
    }
    pthread_mutex_unlock(&shared->mutex);
    if (message == NULL) {
        return GW_OK;
    }
    size_t size = message->bytes;
    if (size <= capacity) {
        *from = message->from;
        *bytes = size;
        copy(data, message->data, size);
    }
    free(message);
    return size <= capacity
               ? GW_OK
               : gw_fail(error, GW_FAILED, "expected a message of at most %zu bytes, got %zu",
                         capacity, size);
}

/* ---- opening and closing ------------------------------------------------------------------- */

static void local_abort(struct gw_communicator *communicator, int status) {
    (void)communicator;
    _Exit(status);
}

static void free_messages(struct message *message) {
    while (message != NULL) {
        struct message *next = message->next;
        free(message);
        message = next;
    }
}

/* Drops messages that were never received. */
static void free_local(struct local *shared) {
    for (int rank = 0; rank < shared->size; rank++) {
        struct mailbox *box = &shared->mailboxes[rank];
        free_messages(box->messages);
        free_messages(box->control);
        while (box->receives != NULL) {
            struct receive *receive = box->receives;
            box->receives = receive->next;
            free(receive);
        }
        pthread_cond_destroy(&box->changed);
    }
    pthread_cond_destroy(&shared->all_arrived);
    pthread_mutex_destroy(&shared->mutex);
    free(shared->buffers);
    free(shared);
}

static void local_close(struct gw_communicator *communicator) {
    struct local *shared = communicator->state;
    pthread_mutex_lock(&shared->mutex);
    bool last = --shared->open == 0;
    pthread_mutex_unlock(&shared->mutex);
    if (last) {
        free_local(shared);
    }
}

/* Rank 0 makes the communicators of all; the others take theirs while it waits. */
static enum gw_status local_open_first(struct gw_communicator *parent, int size,
                                       struct gw_communicator *out, struct gw_error *error) {
    struct local *shared = parent->state;
    struct gw_communicator *made = NULL;
    enum gw_status status = GW_OK;
    *out = (struct gw_communicator){0};
    GW_TRY(gw_communicator_check_first(parent, size, error));
    if (parent->rank == 0) {
        made = calloc((size_t)size, sizeof *made);
        status = made == NULL ? gw_fail_memory(error, "opening communicators")
                              : gw_communicators_open_local(size, made, error);
        shared->buffers[0] = status == GW_OK ? made : NULL;
    }
    meet(shared);
    const struct gw_communicator *all = shared->buffers[0];
    if (all == NULL && parent->rank != 0) {
        status =
            gw_fail(error, GW_FAILED, "rank 0 could not open a communicator of %d ranks", size);
    } else if (all != NULL && parent->rank < size) {
        *out = all[parent->rank];
        out->transport = parent->transport;
    }
    meet(shared);
    free(made);
    return status;
}

static const struct gw_transport local_transport = {
    .name = "local",
    .collect = local_collect,
    .barrier = local_barrier,
    .start = local_start,
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
    struct local *shared = calloc(1, sizeof *shared + (size_t)size * sizeof *shared->mailboxes);
    const void **buffers = calloc((size_t)size, sizeof *buffers);
    if (shared == NULL || buffers == NULL) {
        free(shared);
        free(buffers);
        return gw_fail_memory(error, "opening communicators");
    }
    shared->size = shared->open = size;
    shared->buffers = buffers;
    pthread_mutex_init(&shared->mutex, NULL);
    pthread_cond_init(&shared->all_arrived, NULL);
    for (int rank = 0; rank < size; rank++) {
        pthread_cond_init(&shared->mailboxes[rank].changed, NULL);
        out[rank] = (struct gw_communicator){
            .transport = &local_transport, .rank = rank, .size = size, .state = shared};
    }
    return GW_OK;
}

/* ---- a job --------------------------------------------------------------------------------- */

struct thread {
    pthread_t thread;
    struct gw_communicator communicator;
    void (*run)(struct gw_communicator *communicator, void *context);
    void *context;
};

static void *run_thread(void *argument) {
    struct thread *thread = argument;
    thread->run(&thread->communicator, thread->context);
    return NULL;
}

void run_local_ranks(int size, void (*run)(struct gw_communicator *communicator, void *context),
                     void *contexts, size_t each) {
    enum { MOST = 32 };
    struct gw_communicator communicators[MOST];
    struct thread threads[MOST];
    if (size > MOST || gw_communicators_open_local(size, communicators, NULL) != GW_OK) {
        abort();
    }
    for (int rank = 0; rank < size; rank++) {
        threads[rank] = (struct thread){.communicator = communicators[rank],
                                        .run = run,
                                        .context = (char *)contexts + (size_t)rank * each};
        if (pthread_create(&threads[rank].thread, NULL, run_thread, &threads[rank]) != 0) {
            abort();
        }
    }
    for (int rank = 0; rank < size; rank++) {
        pthread_join(threads[rank].thread, NULL);
        communicators[rank].transport->close(&communicators[rank]);
    }
}
