/*
 * Ranks as threads of one process. Collectives read each other's buffers between two meetings. A
 * message meets the oldest receive of its sender's messages in its receiver's mailbox, and is then
 * copied from buffer to buffer.
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

/* Each list is the oldest first. */
struct mailbox {
    struct message *messages; /* that no receive was there for */
    struct receive *receives; /* that no message was there for */
    struct message *control;  /* control messages */
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

/* Copies `bytes` bytes of each rank's buffer from `first` on. */
static void copy_all(const struct local *shared, size_t first, size_t bytes, void *receive) {
    for (int rank = 0; rank < shared->size && bytes > 0; rank++) {
        memcpy((char *)receive + (size_t)rank * bytes, (const char *)shared->buffers[rank] + first,
               bytes);
    }
}

static void set_number(void *numbers, size_t i, enum gw_number_type type, float value) {
    if (type == GW_NUMBER_FLOAT) {
        ((float *)numbers)[i] = value;
    } else {
        ((uint16_t *)numbers)[i] = gw_half_of(type, value);
    }
}

/* In the order of ranks, so that all who sum get the same bits; rounds to the type at each. */
static void sum_all(const struct local *shared, size_t count, enum gw_number_type type,
                    void *receive) {
    for (size_t i = 0; i < count; i++) {
        set_number(receive, i, type, gw_number_at(type, shared->buffers[0], i));
        for (int rank = 1; rank < shared->size; rank++) {
            float sum =
                gw_number_at(type, receive, i) + gw_number_at(type, shared->buffers[rank], i);
            set_number(receive, i, type, sum);
        }
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
        copy_all(shared, 0, bytes, call->receive);
    } else if (call->kind == GW_ALLREDUCE) {
        sum_all(shared, bytes / gw_number_bytes(call->type), call->type, call->receive);
    } else if (call->kind == GW_ALLTOALL && bytes > 0) {
        copy_all(shared, (size_t)communicator->rank * bytes, bytes, call->receive);
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

/* Ends the program without memory: other ranks would wait for this one. */
static void *allocate(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static struct message *append_message(struct message **end, int from, const void *data,
                                      size_t bytes, bool copies) {
    struct message *message = allocate(sizeof *message + (copies ? bytes : 0));
    *message = (struct message){.from = from, .bytes = bytes, .data = data};
    if (copies) {
        copy(message->copy, data, bytes);
        message->data = message->copy;
    }
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = message;
    return message;
}

/* Copies messages of the rank's mailbox to receives that they fit. Called with the mutex. */
static void match_messages(struct local *shared, int rank) {
    struct mailbox *box = &shared->mailboxes[rank];
    for (struct receive **at = &box->receives; *at != NULL;) {
        struct receive *receive = *at;
        struct message **place = &box->messages;
        while (*place != NULL && (*place)->from != receive->from) {
            place = &(*place)->next;
        }
        struct message *message = *place;
        if (message == NULL) {
            at = &receive->next;
            continue;
        }
        *at = receive->next;
        *place = message->next;
        copy(receive->data, message->data,
             message->bytes < receive->capacity ? message->bytes : receive->capacity);
        receive->bytes = message->bytes;
        receive->done = true;
        pthread_cond_signal(&box->changed);
        if (message->data == message->copy) {
            free(message);
        } else {
            message->taken = true;
            pthread_cond_signal(&shared->mailboxes[message->from].changed);
        }
    }
}

/* A request's handle is the receive, or the message while that is the sender's, else 0. */
static enum gw_status local_start(struct gw_communicator *communicator,
                                  const struct gw_message *asked, struct gw_request *out,
                                  struct gw_error *error) {
    struct local *shared = communicator->state;
    int to = asked->receives ? communicator->rank : asked->other;
    struct mailbox *box = &shared->mailboxes[to];
    (void)error;
    *out = (struct gw_request){.bytes = asked->bytes, .receives = asked->receives};
    pthread_mutex_lock(&shared->mutex);
    if (asked->receives) {
        struct receive **end = &box->receives;
        while (*end != NULL) {
            end = &(*end)->next;
        }
        *end = allocate(sizeof **end);
        **end =
            (struct receive){.from = asked->other, .capacity = asked->bytes, .data = asked->data};
        out->handle = (uintptr_t)*end;
    } else {
        bool copies = asked->bytes <= BUFFERED_BYTES;
        struct message *sent =
            append_message(&box->messages, communicator->rank, asked->data, asked->bytes, copies);
        out->handle = copies ? 0 : (uintptr_t)sent;
    }
    match_messages(shared, to);
    pthread_mutex_unlock(&shared->mutex);
    return GW_OK;
}

static bool is_done(const struct gw_request *request) {
    const void *handle = (const void *)request->handle;
    return request->receives ? ((const struct receive *)handle)->done
                             : handle == NULL || ((const struct message *)handle)->taken;
}

/* Frees a request that is done. */
static enum gw_status finish_request(const struct gw_request *request, struct gw_error *error) {
    void *handle = (void *)request->handle;
    struct receive done = request->receives ? *(struct receive *)handle : (struct receive){0};
    free(handle);
    return done.bytes == done.capacity
               ? GW_OK
               : gw_fail(error, GW_FAILED, "a message from rank %d: expected %zu bytes, got %zu",
                         done.from, done.capacity, done.bytes);
}

static enum gw_status local_wait(struct gw_communicator *communicator, struct gw_request *requests,
                                 size_t count, struct gw_error *error) {
    struct local *shared = communicator->state;
    for (size_t i = 0; i < count; i++) {
        pthread_mutex_lock(&shared->mutex);
        while (!is_done(&requests[i])) {
            pthread_cond_wait(&shared->mailboxes[communicator->rank].changed, &shared->mutex);
        }
        pthread_mutex_unlock(&shared->mutex);
        GW_TRY(finish_request(&requests[i], error));
    }
    return GW_OK;
}

static enum gw_status local_test(struct gw_communicator *communicator, struct gw_request *request,
                                 bool *done, struct gw_error *error) {
    struct local *shared = communicator->state;
    pthread_mutex_lock(&shared->mutex);
    *done = is_done(request);
    pthread_mutex_unlock(&shared->mutex);
    return *done ? finish_request(request, error) : GW_OK;
}

/* ---- control messages ---------------------------------------------------------------------- */

static enum gw_status local_post(struct gw_communicator *communicator, int to, const void *data,
                                 size_t bytes, struct gw_error *error) {
    struct local *shared = communicator->state;
    (void)error;
    pthread_mutex_lock(&shared->mutex);
    (void)append_message(&shared->mailboxes[to].control, communicator->rank, data, bytes, true);
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
    *out = (struct gw_communicator){0};
    GW_TRY(gw_communicator_check_first(parent, size, error));
    if (parent->rank == 0) {
        made = allocate((size_t)size * sizeof *made);
        (void)gw_communicators_open_local(size, made, NULL);
    }
    const struct gw_communicator *all = show(parent, made)->buffers[0];
    if (parent->rank < size) {
        *out = all[parent->rank];
        out->transport = parent->transport;
    }
    meet(shared);
    free(made);
    return GW_OK;
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
    struct local *shared = allocate(sizeof *shared + (size_t)size * sizeof *shared->mailboxes);
    (void)error;
    shared->size = shared->open = size;
    shared->buffers = allocate((size_t)size * sizeof *shared->buffers);
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
    if (size > MOST) {
        abort();
    }
    (void)gw_communicators_open_local(size, communicators, NULL);
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
