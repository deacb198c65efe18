/* Collectives and messages over NCCL, which counts in size_t, so collectives go in one piece. Empty
 * collectives, whose memory may be NULL, only wait for the stream. */
#include <stdlib.h>
#include <string.h>

#include "transport/nccl/nccl.h"

/* ---- NCCL's own collectives ---------------------------------------------------------------- */

/* NCCL's allreduce algorithms sum each number on one rank, or up one tree, and send the sum to all
 * ranks, so all have the same bits. Sums of halves are rounded in each step. */
static enum gw_status run_nccl_collective(struct gw_communicator *communicator,
                                          const struct gw_collective_call *call,
                                          struct gw_error *error) {
    static const char *const names[] = {[GW_ALLGATHER] = "ncclAllGather",
                                        [GW_ALLREDUCE] = "ncclAllReduce",
                                        [GW_BROADCAST] = "ncclBroadcast"};
    const void *send = call->send;
    void *receive = call->receive;
    size_t bytes = call->bytes;
    static const ncclDataType_t types[] = {[GW_NUMBER_FLOAT] = ncclFloat,
                                           [GW_NUMBER_BF16] = ncclBfloat16,
                                           [GW_NUMBER_FP16] = ncclFloat16};
    struct gw_nccl_world *world = NULL;
    ncclResult_t result = ncclSuccess;
    GW_TRY(gw_nccl_enter(communicator, &world, error));
    const struct gw_nccl_calls *calls = world->calls;
    if (bytes == 0) {
        return gw_nccl_wait_for(world, result, names[call->kind], true, error);
    }
    switch (call->kind) {
    case GW_ALLGATHER:
        result = calls->AllGather(send, receive, bytes, ncclChar, world->comm, world->stream);
        break;
    case GW_ALLREDUCE:
        result = calls->AllReduce(send, receive, bytes / gw_number_bytes(call->type),
                                  types[call->type], ncclSum, world->comm, world->stream);
        break;
    case GW_BROADCAST:
        result = calls->Broadcast(send, receive, bytes, ncclChar, call->root, world->comm,
                                  world->stream);
        break;
    case GW_GATHER:
    case GW_SCATTER:
    case GW_ALLTOALL: /* these are messages, below */
        break;
    }
    return gw_nccl_wait_for(world, result, names[call->kind], true, error);
}

/* ---- collectives as messages --------------------------------------------------------------- */

/* Gathers, scatters and exchanges between all are messages in a group, which are sent at the same
 * time. */

static ncclResult_t send_part(struct gw_nccl_world *world, int to, const char *data, size_t bytes) {
    return bytes == 0 ? ncclSuccess
                      : world->calls->Send(data, bytes, ncclChar, to, world->comm, world->stream);
}

static ncclResult_t receive_part(struct gw_nccl_world *world, int from, char *data, size_t bytes) {
    return bytes == 0 ? ncclSuccess
                      : world->calls->Recv(data, bytes, ncclChar, from, world->comm, world->stream);
}

/* Exchanges parts between the root and each other rank, or between all; ranks copy their own. */
static enum gw_status exchange_parts(struct gw_communicator *communicator,
                                     const struct gw_collective_call *call,
                                     struct gw_error *error) {
    static const char *const names[] = {[GW_GATHER] = "ncclSend, ncclRecv (gather)",
                                        [GW_SCATTER] = "ncclSend, ncclRecv (scatter)",
                                        [GW_ALLTOALL] = "ncclSend, ncclRecv (alltoall)"};
    size_t bytes = call->bytes;
    bool among_all = call->kind == GW_ALLTOALL;
    struct gw_nccl_world *world = NULL;
    struct gw_error kept = {0};
    int me = communicator->rank;
    GW_TRY(gw_nccl_enter(communicator, &world, error));
    ncclResult_t result = world->calls->GroupStart();
    for (int rank = 0; rank < communicator->size; rank++) {
        bool sends = among_all || (call->kind == GW_GATHER ? rank : me) == call->root;
        bool receives = among_all || (call->kind == GW_GATHER ? me : rank) == call->root;
        size_t part = (size_t)rank * bytes;
        const char *from = call->send;
        char *to = call->receive;
        from += sends && call->kind != GW_GATHER ? part : 0;
        to += receives && call->kind != GW_SCATTER ? part : 0;
        if (rank == me && sends && receives && to != from) {
            /* if it fails, other ranks still wait for the messages */
            (void)gw_device_copy(world->base.settings.stream, to, from, bytes, &kept);
        } else if (rank != me) {
            result = gw_nccl_first_failure(result, sends ? send_part(world, rank, from, bytes)
                                                         : ncclSuccess);
            result = gw_nccl_first_failure(result, receives ? receive_part(world, rank, to, bytes)
                                                            : ncclSuccess);
        }
    }
    result = gw_nccl_first_failure(result, world->calls->GroupEnd());
    GW_TRY(gw_nccl_wait_for(world, result, names[call->kind], true, error));
    return kept.status == GW_OK ? GW_OK : gw_nccl_give_up(world, &kept, error);
}

static enum gw_status nccl_collect(struct gw_communicator *communicator,
                                   const struct gw_collective_call *call, struct gw_error *error) {
    switch (call->kind) {
    case GW_GATHER:
    case GW_SCATTER:
    case GW_ALLTOALL:
        return exchange_parts(communicator, call, error);
    case GW_ALLGATHER:
    case GW_ALLREDUCE:
    case GW_BROADCAST:
        break;
    }
    return run_nccl_collective(communicator, call, error);
}

/* ---- messages ------------------------------------------------------------------------------ */

/*
 * On a stream, a send would block later work until it is received; in a group, all messages go at
 * the same time. So messages are kept until a rank waits; then all go in one group, in the order in
 * which they were started.
 *
 * If the two sides have different lengths, both fail when one gives up. Asking the other side would
 * cost a message of the host for each message; and the sender of a short message is done when it
 * has left, and need not wait for anything any more.
 */

static enum gw_status nccl_start(struct gw_communicator *communicator,
                                 const struct gw_message *message, struct gw_request *out,
                                 struct gw_error *error) {
    struct gw_nccl_world *world = NULL;
    GW_TRY(gw_nccl_enter(communicator, &world, error));
    struct gw_message *grown =
        gw_grow(world->messages, world->message_count + 1, &world->message_capacity, sizeof *grown);
    if (grown == NULL) {
        struct gw_error failure = {0};
        (void)gw_fail_memory(&failure, "a message over NCCL");
        return gw_nccl_give_up(world, &failure, error);
    }
    world->messages = grown;
    world->messages[world->message_count++] = *message;
    *out = (struct gw_request){
        .handle = world->next_message++, .bytes = message->bytes, .receives = message->receives};
    return GW_OK;
}

static enum gw_status send_messages(struct gw_nccl_world *world, struct gw_error *error) {
    ncclResult_t result = world->calls->GroupStart();
    for (size_t i = 0; i < world->message_count; i++) {
        const struct gw_message *message = &world->messages[i];
        result = gw_nccl_first_failure(
            result, message->receives
                        ? receive_part(world, message->other, message->data, message->bytes)
                        : send_part(world, message->other, message->data, message->bytes));
    }
    result = gw_nccl_first_failure(result, world->calls->GroupEnd());
    world->message_count = 0;
    return gw_nccl_wait_for(world, result, "ncclSend, ncclRecv", true, error);
}

/* Messages that an earlier wait has finished have lower numbers than the remaining ones. */
static enum gw_status nccl_wait(struct gw_communicator *communicator, struct gw_request *requests,
                                size_t count, struct gw_error *error) {
    struct gw_nccl_world *world = NULL;
    bool any = false;
    GW_TRY(gw_nccl_enter(communicator, &world, error));
    for (size_t i = 0; i < count; i++) {
        any = any || requests[i].handle >= world->next_message - world->message_count;
    }
    return any ? send_messages(world, error) : GW_OK;
}

/* ---- the transport ------------------------------------------------------------------------- */

const struct gw_transport gw_nccl_transport = {
    .name = "nccl",
    .collect = nccl_collect,
    .barrier = gw_gpu_barrier,
    .start = nccl_start,
    .wait = nccl_wait,
    .post = gw_gpu_post,
    .poll = gw_gpu_poll,
    .open_first = gw_gpu_open_first,
    .abort = gw_gpu_abort,
    .close = gw_gpu_close,
};
