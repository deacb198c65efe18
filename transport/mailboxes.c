/*
 * A message meets the oldest receive that it fits, or waits for one in its receiver's mailbox; then
 * whoever came second copies it, from buffer to buffer and outside the lock.
 */
#include "transport/mailboxes.h"

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
    int from; /* or GW_ANY_RANK; then whose message was taken */
    size_t room, bytes;
    void *data;
    bool done;
};

struct mailbox {
    struct message *messages; /* that no receive was there for, the oldest first */
    struct receive *receives; /* that no message was there for */
    pthread_cond_t changed;   /* one of the rank's sends was taken, or its receives done */
};

struct gw_mailboxes {
    int size;
    pthread_mutex_t mutex;
    struct mailbox boxes[];
};

enum gw_status gw_mailboxes_open(struct gw_mailboxes **out, int size, struct gw_error *error) {
    struct gw_mailboxes *made = calloc(1, sizeof *made + (size_t)size * sizeof *made->boxes);
    if (made == NULL) {
        return gw_fail_memory(error, "opening mailboxes");
    }
    made->size = size;
    pthread_mutex_init(&made->mutex, NULL);
    for (int rank = 0; rank < size; rank++) {
        pthread_cond_init(&made->boxes[rank].changed, NULL);
    }
    *out = made;
    return GW_OK;
}

void gw_mailboxes_close(struct gw_mailboxes *mailboxes) {
    for (int rank = 0; rank < mailboxes->size; rank++) {
        struct mailbox *box = &mailboxes->boxes[rank];
        while (box->messages != NULL) {
            struct message *message = box->messages;
            box->messages = message->next;
            free(message);
        }
        while (box->receives != NULL) {
            struct receive *receive = box->receives;
            box->receives = receive->next;
            free(receive);
        }
        pthread_cond_destroy(&box->changed);
    }
    pthread_mutex_destroy(&mailboxes->mutex);
    free(mailboxes);
}

/* ---- meeting ------------------------------------------------------------------------------- */

/* Unlinks the oldest receive that takes messages from `from`, or adds the message at the end. */
static struct receive *meet_receive(struct mailbox *box, struct message *message) {
    struct receive **receive = &box->receives;
    while (*receive != NULL && (*receive)->from != GW_ANY_RANK &&
           (*receive)->from != message->from) {
        receive = &(*receive)->next;
    }
    struct receive *met = *receive;
    if (met != NULL) {
        *receive = met->next;
        return met;
    }
    struct message **end = &box->messages;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = message;
    return NULL;
}

static struct message *meet_message(struct mailbox *box, struct receive *receive) {
    struct message **message = &box->messages;
    while (*message != NULL && receive->from != GW_ANY_RANK && receive->from != (*message)->from) {
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
    size_t bytes = message->bytes < receive->room ? message->bytes : receive->room;
    if (bytes > 0) {
        memcpy(receive->data, message->data, bytes);
    }
    receive->from = message->from;
    receive->bytes = message->bytes;
}

static void tell(struct gw_mailboxes *mailboxes, int rank, bool *what) {
    pthread_mutex_lock(&mailboxes->mutex);
    *what = true;
    pthread_cond_signal(&mailboxes->boxes[rank].changed);
    pthread_mutex_unlock(&mailboxes->mutex);
}

/* ---- the transport's functions ------------------------------------------------------------- */

/* Its request's handle is the message while that is the sender's, else 0. */
enum gw_status gw_mailboxes_start_send(struct gw_mailboxes *mailboxes, int rank, int to,
                                       const void *data, size_t bytes, struct gw_request *out,
                                       struct gw_error *error) {
    size_t copied = bytes <= BUFFERED_BYTES ? bytes : 0;
    struct message *message = malloc(sizeof *message + copied);
    if (message == NULL) {
        return gw_fail_memory(error, "sending a message");
    }
    *message = (struct message){.from = rank, .bytes = bytes, .data = data};
    if (copied > 0) {
        memcpy(message->copy, data, bytes);
        message->data = message->copy;
    }
    *out = (struct gw_request){.bytes = bytes};
    pthread_mutex_lock(&mailboxes->mutex);
    struct receive *receive = meet_receive(&mailboxes->boxes[to], message);
    pthread_mutex_unlock(&mailboxes->mutex);
    if (receive != NULL) {
        copy_message(message, receive);
        tell(mailboxes, to, &receive->done);
        free(message);
    } else if (bytes > BUFFERED_BYTES) {
        out->handle = (uintptr_t)message;
    }
    return GW_OK;
}

enum gw_status gw_mailboxes_start_receive(struct gw_mailboxes *mailboxes, int rank, int from,
                                          void *data, size_t bytes, struct gw_request *out,
                                          struct gw_error *error) {
    struct receive *receive = malloc(sizeof *receive);
    if (receive == NULL) {
        return gw_fail_memory(error, "receiving a message");
    }
    *receive = (struct receive){.from = from, .room = bytes, .data = data};
    *out = (struct gw_request){.handle = (uintptr_t)receive, .bytes = bytes, .receives = true};
    pthread_mutex_lock(&mailboxes->mutex);
    struct message *message = meet_message(&mailboxes->boxes[rank], receive);
    pthread_mutex_unlock(&mailboxes->mutex);
    if (message != NULL) {
        copy_message(message, receive);
        receive->done = true;
        if (message->bytes > BUFFERED_BYTES) {
            tell(mailboxes, message->from, &message->taken);
        } else {
            free(message);
        }
    }
    return GW_OK;
}

static void wait_for(struct gw_mailboxes *mailboxes, int rank, const bool *what) {
    pthread_mutex_lock(&mailboxes->mutex);
    while (!*what) {
        pthread_cond_wait(&mailboxes->boxes[rank].changed, &mailboxes->mutex);
    }
    pthread_mutex_unlock(&mailboxes->mutex);
}

static enum gw_status finish_receive(struct gw_mailboxes *mailboxes, int rank,
                                     struct receive *receive, struct gw_error *error) {
    wait_for(mailboxes, rank, &receive->done);
    struct receive done = *receive;
    free(receive);
    return done.bytes == done.room
               ? GW_OK
               : gw_fail(error, GW_FAILED, "a message from rank %d: expected %zu bytes, got %zu",
                         done.from, done.room, done.bytes);
}

enum gw_status gw_mailboxes_wait(struct gw_mailboxes *mailboxes, int rank,
                                 struct gw_request *requests, size_t count,
                                 struct gw_error *error) {
    for (size_t i = 0; i < count; i++) {
        void *handle = (void *)requests[i].handle;
        if (requests[i].receives) {
            GW_TRY(finish_receive(mailboxes, rank, handle, error));
        } else if (handle != NULL) {
            struct message *message = handle;
            wait_for(mailboxes, rank, &message->taken);
            free(message);
        }
    }
    return GW_OK;
}

enum gw_status gw_mailboxes_test(struct gw_mailboxes *mailboxes, int rank,
                                 struct gw_request *request, bool *done, struct gw_error *error) {
    const void *handle = (const void *)request->handle;
    pthread_mutex_lock(&mailboxes->mutex);
    *done = request->receives ? ((const struct receive *)handle)->done
                              : handle == NULL || ((const struct message *)handle)->taken;
    pthread_mutex_unlock(&mailboxes->mutex);
    return *done ? gw_mailboxes_wait(mailboxes, rank, request, 1, error) : GW_OK;
}
