/*
 * Messages over NCCL. On a stream, a send would hold up what comes after it until it is received;
 * in a group, all go at the same time. So what is started is kept until a rank waits, and then all
 * goes in one group, in the order in which it was started.
 *
 * That the two sides have different lengths shows when one gives up, and then on both. To ask the
 * other side would cost each message one of the host's, or, after a while only, find nobody: a
 * short message's sender is done when it has left, and need not wait for anything any more.
 */
#include <stdlib.h>
#include <string.h>

#include "transport/nccl/nccl.h"

struct gw_nccl_message {
    bool receives;
    int other; /* whom it goes to, or comes from */
    void *data;
    size_t bytes;
};

void gw_nccl_forget_messages(struct gw_nccl_world *world) {
    free(world->messages);
    world->messages = NULL;
    world->message_count = world->message_capacity = 0;
}

static enum gw_status add(struct gw_communicator *communicator, struct gw_nccl_message message,
                          struct gw_request *out, struct gw_error *error) {
    struct gw_nccl_world *world = NULL;
    GW_TRY(gw_nccl_enter(communicator, &world, error));
    if (world->message_count == world->message_capacity) {
        size_t capacity = 2 * world->message_capacity + 16;
        struct gw_nccl_message *grown = realloc(world->messages, capacity * sizeof *grown);
        if (grown == NULL) {
            struct gw_error failure = {0};
            (void)gw_fail_memory(&failure, "a message over NCCL");
            return gw_nccl_give_up(world, &failure, error);
        }
        world->messages = grown;
        world->message_capacity = capacity;
    }
    world->messages[world->message_count++] = message;
    *out = (struct gw_request){
        .handle = world->next_message++, .bytes = message.bytes, .receives = message.receives};
    return GW_OK;
}

enum gw_status gw_nccl_start_send(struct gw_communicator *communicator, int to, const void *data,
                                  size_t bytes, struct gw_request *out, struct gw_error *error) {
    struct gw_nccl_message message = {.other = to, .bytes = bytes};
    memcpy(&message.data, &data, sizeof data); /* which is only read */
    return add(communicator, message, out, error);
}

enum gw_status gw_nccl_start_receive(struct gw_communicator *communicator, int from, void *data,
                                     size_t bytes, struct gw_request *out, struct gw_error *error) {
    return from == GW_ANY_RANK
               ? gw_fail(error, GW_BAD_INPUT,
                         "a message over NCCL: expected the rank that it comes from")
               : add(communicator,
                     (struct gw_nccl_message){
                         .receives = true, .other = from, .data = data, .bytes = bytes},
                     out, error);
}

static ncclResult_t start(struct gw_nccl_world *world, const struct gw_nccl_message *message) {
    const struct gw_nccl_calls *calls = world->calls;
    return message->bytes == 0 ? ncclSuccess
           : message->receives ? calls->Recv(message->data, message->bytes, ncclChar,
                                             message->other, world->comm, world->stream)
                               : calls->Send(message->data, message->bytes, ncclChar,
                                             message->other, world->comm, world->stream);
}

static enum gw_status finish_all(struct gw_nccl_world *world, struct gw_error *error) {
    ncclResult_t result = world->calls->GroupStart();
    for (size_t i = 0; i < world->message_count; i++) {
        result = gw_nccl_worse(result, start(world, &world->messages[i]));
    }
    result = gw_nccl_worse(result, world->calls->GroupEnd());
    world->message_count = 0;
    return gw_nccl_finish(world, result, "ncclSend, ncclRecv", error);
}

/* Messages that an earlier wait has finished have lower numbers than those that are left. */
enum gw_status gw_nccl_wait(struct gw_communicator *communicator, struct gw_request *requests,
                            size_t count, struct gw_error *error) {
    struct gw_nccl_world *world = NULL;
    bool any = false;
    GW_TRY(gw_nccl_enter(communicator, &world, error));
    for (size_t i = 0; i < count; i++) {
        any = any || requests[i].handle >= world->next_message - world->message_count;
    }
    return any ? finish_all(world, error) : GW_OK;
}
