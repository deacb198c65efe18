/*
 * Collectives and messages over NCCL. It counts in size_t: collectives go in one piece. Those of
 * nothing, for which there may be no memory, only wait for the stream.
 */
#include <stdlib.h>
#include <string.h>

#include "transport/nccl/nccl.h"

/* ---- NCCL's own collectives ---------------------------------------------------------------- */

/*
 * Its algorithms of an allreduce sum each number on one rank, or up one tree, and send the sum to
 * all.
 */
static enum gw_status run_own(struct gw_communicator *communicator,
                              const struct gw_collective_call *call, struct gw_error *error) {
    static const char *const names[] = {[GW_ALLGATHER] = "ncclAllGather",
                                        [GW_ALLREDUCE] = "ncclAllReduce",
                                        [GW_BROADCAST] = "ncclBroadcast",
                                        [GW_REDUCE] = "ncclReduce"};
    const void *send = call->send;
    void *receive = call->receive;
    size_t bytes = call->bytes;
    size_t count = bytes / sizeof(float);
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
        result =
            calls->AllReduce(send, receive, count, ncclFloat, ncclSum, world->comm, world->stream);
        break;
    case GW_BROADCAST:
        result = calls->Broadcast(send, receive, bytes, ncclChar, call->root, world->comm,
                                  world->stream);
        break;
    case GW_REDUCE:
        result = calls->Reduce(send, receive, count, ncclFloat, ncclSum, call->root, world->comm,
                               world->stream);
        break;
    case GW_ALLGATHER_UNEQUAL:
    case GW_GATHER:
    case GW_SCATTER: /* made of messages, below */
        break;
    }
    return gw_nccl_wait_for(world, result, names[call->kind], true, error);
}

/* ---- collectives of messages --------------------------------------------------------------- */

/*
 * Those with a root that gathers or scatters, and allgathers of unequal parts, are messages in a
 * group, which travel at the same time. These are one of such a group.
 */

static ncclResult_t send_part(struct gw_nccl_world *world, int to, const char *data, size_t bytes) {
    return bytes == 0 ? ncclSuccess
                      : world->calls->Send(data, bytes, ncclChar, to, world->comm, world->stream);
}

static ncclResult_t receive_part(struct gw_nccl_world *world, int from, char *data, size_t bytes) {
    return bytes == 0 ? ncclSuccess
                      : world->calls->Recv(data, bytes, ncclChar, from, world->comm, world->stream);
}

/* A rank's own part does not travel. Others wait for what does, even if this fails. */
static enum gw_status keep_part(struct gw_nccl_world *world, char *to, const char *from,
                                size_t bytes, struct gw_error *error) {
    return to == from ? GW_OK : gw_device_copy(world->base.settings.stream, to, from, bytes, error);
}

static enum gw_status finish_kept(struct gw_nccl_world *world, ncclResult_t result,
                                  const char *call, const struct gw_error *kept,
                                  struct gw_error *error) {
    GW_TRY(gw_nccl_wait_for(world, result, call, true, error));
    return kept->status == GW_OK ? GW_OK : gw_nccl_give_up(world, kept, error);
}

/* ---- collectives of messages: with a root -------------------------------------------------- */

/* Between the root and each other rank a part travels; the root copies its own. */
static enum gw_status exchange_with_root(struct gw_communicator *communicator,
                                         const struct gw_collective_call *call,
                                         struct gw_error *error) {
    bool gathers = call->kind == GW_GATHER;
    const char *send = call->send;
    char *receive = call->receive;
    size_t bytes = call->bytes;
    int root = call->root;
    struct gw_nccl_world *world = NULL;
    struct gw_error kept = {0};
    bool is_root = communicator->rank == root;
    size_t own = (size_t)root * bytes;
    GW_TRY(gw_nccl_enter(communicator, &world, error));
    if (is_root) {
        (void)(gathers ? keep_part(world, receive + own, send, bytes, &kept)
                       : keep_part(world, receive, send + own, bytes, &kept));
    }
    ncclResult_t result = world->calls->GroupStart();
    for (int rank = 0; rank < communicator->size && is_root; rank++) {
        size_t part = (size_t)rank * bytes;
        if (rank != root) {
            result =
                gw_nccl_worse(result, gathers ? receive_part(world, rank, receive + part, bytes)
                                              : send_part(world, rank, send + part, bytes));
        }
    }
    if (!is_root) {
        result = gw_nccl_worse(result, gathers ? send_part(world, root, send, bytes)
                                               : receive_part(world, root, receive, bytes));
    }
    result = gw_nccl_worse(result, world->calls->GroupEnd());
    return finish_kept(world, result,
                       gathers ? "ncclSend, ncclRecv (gather)" : "ncclSend, ncclRecv (scatter)",
                       &kept, error);
}

/* ---- allgather of unequal parts ------------------------------------------------------------ */

/* Everyone's part to everyone: each part crosses a node's link once for each of its ranks. */
static enum gw_status gather_by_messages(struct gw_nccl_world *world, const char *send,
                                         const size_t *bytes, char *receive,
                                         struct gw_error *error) {
    const struct gw_communicator *host = &world->base.host;
    size_t part = 0;
    ncclResult_t result = world->calls->GroupStart();
    struct gw_error kept = {0};
    for (int rank = 0; rank < host->size; rank++) {
        if (rank == host->rank) {
            (void)keep_part(world, receive + part, send, bytes[rank], &kept);
        } else {
            result = gw_nccl_worse(result, send_part(world, rank, send, bytes[host->rank]));
            result = gw_nccl_worse(result, receive_part(world, rank, receive + part, bytes[rank]));
        }
        part += bytes[rank];
    }
    result = gw_nccl_worse(result, world->calls->GroupEnd());
    return finish_kept(world, result, "ncclSend, ncclRecv (allgather)", &kept, error);
}

static enum gw_status reserve_padded(struct gw_nccl_world *world, size_t bytes,
                                     struct gw_error *error) {
    struct gw_device *device = gw_device_stream_device(world->base.settings.stream);
    void *memory = NULL;
    if (bytes <= world->padded_bytes) {
        return GW_OK;
    }
    gw_device_free(device, world->padded);
    world->padded = NULL;
    world->padded_bytes = 0;
    GW_TRY(gw_device_allocate(device, bytes, &memory, error));
    world->padded = memory;
    world->padded_bytes = bytes;
    return GW_OK;
}

/* With a rank's own part in its place. */
static enum gw_status pad(struct gw_nccl_world *world, const char *send, size_t bytes,
                          size_t longest, struct gw_error *error) {
    const struct gw_communicator *host = &world->base.host;
    GW_TRY(reserve_padded(world, (size_t)host->size * longest, error));
    return gw_device_copy(world->base.settings.stream, world->padded + (size_t)host->rank * longest,
                          send, bytes, error);
}

static enum gw_status unpad(struct gw_nccl_world *world, const size_t *bytes, size_t longest,
                            char *receive, struct gw_error *error) {
    struct gw_device_stream *stream = world->base.settings.stream;
    for (int rank = 0; rank < world->base.host.size; rank++) {
        GW_TRY(gw_device_copy(stream, receive, world->padded + (size_t)rank * longest, bytes[rank],
                              error));
        receive += bytes[rank];
    }
    return gw_device_stream_finish(stream, error);
}

/* As NCCL's allgather, in which a part crosses a node's link once, with parts of `longest`. */
static enum gw_status gather_padded(struct gw_nccl_world *world, const char *send,
                                    const size_t *bytes, size_t longest, char *receive,
                                    struct gw_error *error) {
    int me = world->base.host.rank;
    struct gw_error failure = {0};
    if (pad(world, send, bytes[me], longest, &failure) != GW_OK) {
        return gw_nccl_give_up(world, &failure, error);
    }
    const char *own = world->padded + (size_t)me * longest;
    ncclResult_t result =
        world->calls->AllGather(own, world->padded, longest, ncclChar, world->comm, world->stream);
    GW_TRY(gw_nccl_wait_for(world, result, "ncclAllGather", true, error));
    return unpad(world, bytes, longest, receive, &failure) == GW_OK
               ? GW_OK
               : gw_nccl_give_up(world, &failure, error);
}

/*
 * Whether padding is worth it: whether less comes over the link of the node that gets most. Within
 * one node, messages bring a GPU at most what padding does.
 */
static bool is_padding_less(struct gw_nccl_world *world, const size_t *bytes, size_t longest) {
    size_t size = (size_t)world->base.host.size;
    size_t total = 0;
    size_t most_padded = 0;
    size_t most_sent = 0;
    for (size_t rank = 0; rank < size; rank++) {
        world->nodes[rank].bytes = 0;
        total += bytes[rank];
    }
    for (size_t rank = 0; rank < size; rank++) {
        world->nodes[world->nodes[rank].of].bytes += bytes[rank];
    }
    for (size_t rank = 0; rank < size; rank++) {
        const struct gw_nccl_node *node = &world->nodes[rank];
        size_t ranks = (size_t)node->ranks;
        size_t padded = ranks == 0 ? 0 : (size - ranks) * longest;
        size_t sent = ranks * (total - node->bytes);
        most_padded = padded > most_padded ? padded : most_padded;
        most_sent = sent > most_sent ? sent : most_sent;
    }
    return most_padded < most_sent;
}

static enum gw_status gather_unequal(struct gw_communicator *communicator,
                                     const struct gw_collective_call *call,
                                     struct gw_error *error) {
    struct gw_nccl_world *world = NULL;
    size_t longest = 0;
    GW_TRY(gw_nccl_enter(communicator, &world, error));
    for (int rank = 0; rank < communicator->size; rank++) {
        longest = call->parts[rank] > longest ? call->parts[rank] : longest;
    }
    return is_padding_less(world, call->parts, longest)
               ? gather_padded(world, call->send, call->parts, longest, call->receive, error)
               : gather_by_messages(world, call->send, call->parts, call->receive, error);
}

static enum gw_status nccl_collect(struct gw_communicator *communicator,
                                   const struct gw_collective_call *call, struct gw_error *error) {
    switch (call->kind) {
    case GW_ALLGATHER_UNEQUAL:
        return gather_unequal(communicator, call, error);
    case GW_GATHER:
    case GW_SCATTER:
        return exchange_with_root(communicator, call, error);
    case GW_ALLGATHER:
    case GW_ALLREDUCE:
    case GW_BROADCAST:
    case GW_REDUCE:
        break;
    }
    return run_own(communicator, call, error);
}

/* ---- messages ------------------------------------------------------------------------------ */

/*
 * On a stream, a send would hold up what comes after it until it is received;
 * in a group, all go at the same time. So what is started is kept until a rank waits, and then all
 * goes in one group, in the order in which it was started.
 *
 * That the two sides have different lengths shows when one gives up, and then on both. To ask the
 * other side would cost each message one of the host's, or, after a while only, find nobody: a
 * short message's sender is done when it has left, and need not wait for anything any more.
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

static enum gw_status finish_all(struct gw_nccl_world *world, struct gw_error *error) {
    ncclResult_t result = world->calls->GroupStart();
    for (size_t i = 0; i < world->message_count; i++) {
        const struct gw_message *message = &world->messages[i];
        result = gw_nccl_worse(
            result, message->receives
                        ? receive_part(world, message->other, message->data, message->bytes)
                        : send_part(world, message->other, message->data, message->bytes));
    }
    result = gw_nccl_worse(result, world->calls->GroupEnd());
    world->message_count = 0;
    return gw_nccl_wait_for(world, result, "ncclSend, ncclRecv", true, error);
}

/* Messages that an earlier wait has finished have lower numbers than those that are left. */
static enum gw_status nccl_wait(struct gw_communicator *communicator, struct gw_request *requests,
                                size_t count, struct gw_error *error) {
    struct gw_nccl_world *world = NULL;
    bool any = false;
    GW_TRY(gw_nccl_enter(communicator, &world, error));
    for (size_t i = 0; i < count; i++) {
        any = any || requests[i].handle >= world->next_message - world->message_count;
    }
    return any ? finish_all(world, error) : GW_OK;
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
