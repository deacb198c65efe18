/*
 * Messages between GPUs through the host. One stays in one piece there: a receiver that does not
 * know the sender could not tell whose the next piece is.
 */
#include <stdlib.h>

#include "transport/staged.h"

enum { SMALLEST_BYTES = 4096 };

/* A message on its way, or memory for a later one, as page-locking takes longer than sending. */
struct gw_staged_message {
    struct gw_staged_message *next;
    struct gw_request request; /* on the host */
    size_t capacity;
    void *memory; /* page-locked */
    void *data;   /* on the GPU, of a receive */
    bool under_way;
};

void gw_staged_forget_messages(struct gw_staged *staged) {
    while (staged->messages != NULL) {
        struct gw_staged_message *message = staged->messages;
        staged->messages = message->next;
        gw_device_free_host(gw_device_stream_device(staged->base.settings.stream), message->memory);
        free(message);
    }
}

/* With the least memory of those that have enough. */
static struct gw_staged_message *find_unused(const struct gw_staged *staged, size_t bytes) {
    struct gw_staged_message *found = NULL;
    for (struct gw_staged_message *m = staged->messages; m != NULL; m = m->next) {
        if (!m->under_way && m->capacity >= bytes &&
            (found == NULL || m->capacity < found->capacity)) {
            found = m;
        }
    }
    return found;
}

static size_t round_up(size_t bytes) {
    size_t rounded = SMALLEST_BYTES;
    while (rounded < bytes) {
        rounded *= 2;
    }
    return rounded;
}

static enum gw_status take_message(struct gw_staged *staged, size_t bytes,
                                   struct gw_staged_message **out, struct gw_error *error) {
    struct gw_device *device = gw_device_stream_device(staged->base.settings.stream);
    *out = find_unused(staged, bytes);
    if (*out != NULL) {
        return GW_OK;
    }
    struct gw_staged_message *made = malloc(sizeof *made);
    if (made == NULL) {
        return gw_fail_memory(error, "a message of a GPU");
    }
    *made = (struct gw_staged_message){.next = staged->messages, .capacity = round_up(bytes)};
    enum gw_status status = gw_device_allocate_host(device, made->capacity, &made->memory, error);
    if (status != GW_OK) {
        free(made);
        return status;
    }
    staged->messages = made;
    *out = made;
    return GW_OK;
}

static struct gw_request request_of(struct gw_staged_message *message, void *data) {
    message->data = data;
    message->under_way = true;
    return (struct gw_request){.handle = (uintptr_t)message,
                               .bytes = message->request.bytes,
                               .receives = message->request.receives};
}

enum gw_status gw_staged_start_send(struct gw_communicator *communicator, int to, const void *data,
                                    size_t bytes, struct gw_request *out, struct gw_error *error) {
    struct gw_staged *staged = communicator->state;
    struct gw_communicator *host = &staged->base.host;
    struct gw_staged_message *message = NULL;
    GW_TRY(take_message(staged, bytes, &message, error));
    GW_TRY(gw_device_copy(staged->base.settings.stream, message->memory, data, bytes, error));
    GW_TRY(gw_device_stream_finish(staged->base.settings.stream, error));
    GW_TRY(host->transport->start_send(host, to, message->memory, bytes, &message->request, error));
    *out = request_of(message, NULL);
    return GW_OK;
}

/* Until it is waited for, work on the stream may still use what is on the GPU. */
enum gw_status gw_staged_start_receive(struct gw_communicator *communicator, int from, void *data,
                                       size_t bytes, struct gw_request *out,
                                       struct gw_error *error) {
    struct gw_staged *staged = communicator->state;
    struct gw_communicator *host = &staged->base.host;
    struct gw_staged_message *message = NULL;
    GW_TRY(take_message(staged, bytes, &message, error));
    GW_TRY(host->transport->start_receive(host, from, message->memory, bytes, &message->request,
                                          error));
    *out = request_of(message, data);
    return GW_OK;
}

enum gw_status gw_staged_wait(struct gw_communicator *communicator, struct gw_request *requests,
                              size_t count, struct gw_error *error) {
    struct gw_staged *staged = communicator->state;
    struct gw_communicator *host = &staged->base.host;
    for (size_t i = 0; i < count; i++) {
        struct gw_staged_message *message = (struct gw_staged_message *)requests[i].handle;
        GW_TRY(host->transport->wait(host, &message->request, 1, error));
        if (requests[i].receives) {
            GW_TRY(gw_device_copy(staged->base.settings.stream, message->data, message->memory,
                                  requests[i].bytes, error));
        }
    }
    GW_TRY(gw_device_stream_finish(staged->base.settings.stream, error));
    for (size_t i = 0; i < count; i++) {
        ((struct gw_staged_message *)requests[i].handle)->under_way = false;
    }
    return GW_OK;
}
