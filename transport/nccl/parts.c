/*
 * Collectives over NCCL that are made of messages in a group, which travel at the same time: those
 * with a root that gathers or scatters, and allgathers of unequal parts.
 */
#include "transport/nccl/nccl.h"

/* ---- one message of a group ---------------------------------------------------------------- */

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
    GW_TRY(gw_nccl_finish(world, result, call, error));
    return kept->status == GW_OK ? GW_OK : gw_nccl_give_up(world, kept, error);
}

/* ---- with a root --------------------------------------------------------------------------- */

enum gw_status gw_nccl_gather(struct gw_communicator *communicator, int root, const void *send,
                              size_t bytes, void *receive, struct gw_error *error) {
    struct gw_nccl_world *world = NULL;
    char *all = receive;
    struct gw_error kept = {0};
    GW_TRY(gw_nccl_enter(communicator, &world, error));
    if (communicator->rank == root) {
        (void)keep_part(world, all + (size_t)root * bytes, send, bytes, &kept);
    }
    ncclResult_t result = world->calls->GroupStart();
    for (int rank = 0; rank < communicator->size && communicator->rank == root; rank++) {
        if (rank != root) {
            result =
                gw_nccl_worse(result, receive_part(world, rank, all + (size_t)rank * bytes, bytes));
        }
    }
    if (communicator->rank != root) {
        result = gw_nccl_worse(result, send_part(world, root, send, bytes));
    }
    result = gw_nccl_worse(result, world->calls->GroupEnd());
    return finish_kept(world, result, "ncclSend, ncclRecv (gather)", &kept, error);
}

enum gw_status gw_nccl_scatter(struct gw_communicator *communicator, int root, const void *send,
                               size_t bytes, void *receive, struct gw_error *error) {
    struct gw_nccl_world *world = NULL;
    const char *all = send;
    struct gw_error kept = {0};
    GW_TRY(gw_nccl_enter(communicator, &world, error));
    if (communicator->rank == root) {
        (void)keep_part(world, receive, all + (size_t)root * bytes, bytes, &kept);
    }
    ncclResult_t result = world->calls->GroupStart();
    for (int rank = 0; rank < communicator->size && communicator->rank == root; rank++) {
        if (rank != root) {
            result =
                gw_nccl_worse(result, send_part(world, rank, all + (size_t)rank * bytes, bytes));
        }
    }
    if (communicator->rank != root) {
        result = gw_nccl_worse(result, receive_part(world, root, receive, bytes));
    }
    result = gw_nccl_worse(result, world->calls->GroupEnd());
    return finish_kept(world, result, "ncclSend, ncclRecv (scatter)", &kept, error);
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
    GW_TRY(gw_nccl_finish(world, result, "ncclAllGather", error));
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

enum gw_status gw_nccl_allgather_unequal(struct gw_communicator *communicator, const void *send,
                                         const size_t *bytes, void *receive,
                                         struct gw_error *error) {
    struct gw_nccl_world *world = NULL;
    size_t longest = 0;
    GW_TRY(gw_nccl_enter(communicator, &world, error));
    for (int rank = 0; rank < communicator->size; rank++) {
        longest = bytes[rank] > longest ? bytes[rank] : longest;
    }
    return is_padding_less(world, bytes, longest)
               ? gather_padded(world, send, bytes, longest, receive, error)
               : gather_by_messages(world, send, bytes, receive, error);
}
