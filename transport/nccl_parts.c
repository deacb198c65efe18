/*
 * Collectives over NCCL that are made of messages in a group, which travel at the same time: those
 * with a root that gathers or scatters, and allgathers of unequal parts.
 */
#include "transport/nccl.h"

/* ---- one message of a group ---------------------------------------------------------------- */

static ncclResult_t send_part(struct gw_nccl_world *world, int to, const char *data, size_t bytes) {
    return bytes == 0 ? ncclSuccess
                      : world->calls->Send(data, bytes, ncclChar, to, world->comm, world->stream);
}

static ncclResult_t receive_part(struct gw_nccl_world *world, int from, char *data, size_t bytes) {
    return bytes == 0 ? ncclSuccess
                      : world->calls->Recv(data, bytes, ncclChar, from, world->comm, world->stream);
}

/* A rank's own part does not travel. */
static enum gw_status keep_part(struct gw_nccl_world *world, char *to, const char *from,
                                size_t bytes, struct gw_error *error) {
    return to == from ? GW_OK : gw_device_copy(world->base.settings.stream, to, from, bytes, error);
}

/* ---- with a root --------------------------------------------------------------------------- */

enum gw_status gw_nccl_gather(struct gw_communicator *communicator, int root, const void *send,
                              size_t bytes, void *receive, struct gw_error *error) {
    struct gw_nccl_world *world = NULL;
    char *all = receive;
    GW_TRY(gw_nccl_enter(communicator, &world, error));
    if (communicator->rank == root) {
        GW_TRY(keep_part(world, all + (size_t)root * bytes, send, bytes, error));
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
    return gw_nccl_finish(world, result, "ncclSend, ncclRecv (gather)", error);
}

enum gw_status gw_nccl_scatter(struct gw_communicator *communicator, int root, const void *send,
                               size_t bytes, void *receive, struct gw_error *error) {
    struct gw_nccl_world *world = NULL;
    const char *all = send;
    GW_TRY(gw_nccl_enter(communicator, &world, error));
    if (communicator->rank == root) {
        GW_TRY(keep_part(world, receive, all + (size_t)root * bytes, bytes, error));
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
    return gw_nccl_finish(world, result, "ncclSend, ncclRecv (scatter)", error);
}

/* ---- allgather of unequal parts ------------------------------------------------------------ */

/* Everyone's part to everyone: each part crosses a node's link once for each of its ranks. */
static enum gw_status gather_by_messages(struct gw_nccl_world *world, const char *send,
                                         const size_t *bytes, char *receive,
                                         struct gw_error *error) {
    const struct gw_communicator *host = &world->base.host;
    size_t part = 0;
    ncclResult_t result = world->calls->GroupStart();
    enum gw_status kept = GW_OK;
    for (int rank = 0; rank < host->size; rank++) {
        if (rank == host->rank) {
            kept = keep_part(world, receive + part, send, bytes[rank], error);
        } else {
            result = gw_nccl_worse(result, send_part(world, rank, send, bytes[host->rank]));
            result = gw_nccl_worse(result, receive_part(world, rank, receive + part, bytes[rank]));
        }
        part += bytes[rank];
    }
    result = gw_nccl_worse(result, world->calls->GroupEnd());
    enum gw_status status = gw_nccl_finish(world, result, "ncclSend, ncclRecv (allgather)", error);
    return kept == GW_OK ? status : kept;
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

/* As NCCL's allgather, in which a part crosses a node's link once, with parts of `longest`. */
static enum gw_status gather_padded(struct gw_nccl_world *world, const char *send,
                                    const size_t *bytes, size_t longest, char *receive,
                                    struct gw_error *error) {
    const struct gw_communicator *host = &world->base.host;
    struct gw_device_stream *stream = world->base.settings.stream;
    GW_TRY(reserve_padded(world, (size_t)host->size * longest, error));
    char *own = world->padded + (size_t)host->rank * longest;
    GW_TRY(gw_device_copy(stream, own, send, bytes[host->rank], error));
    ncclResult_t result =
        world->calls->AllGather(own, world->padded, longest, ncclChar, world->comm, world->stream);
    GW_TRY(gw_nccl_finish(world, result, "ncclAllGather", error));
    for (int rank = 0; rank < host->size; rank++) {
        GW_TRY(gw_device_copy(stream, receive, world->padded + (size_t)rank * longest, bytes[rank],
                              error));
        receive += bytes[rank];
    }
    return gw_device_stream_finish(stream, error);
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
