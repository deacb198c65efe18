/*
 * Collectives over NCCL. It counts in size_t: they go in one piece. Those of nothing, for which
 * there may be no memory, only wait for the stream.
 */
#include "transport/nccl/nccl.h"

enum gw_status gw_nccl_allgather(struct gw_communicator *communicator, const void *send,
                                 size_t bytes, void *receive, struct gw_error *error) {
    struct gw_nccl_world *world = NULL;
    ncclResult_t result = ncclSuccess;
    GW_TRY(gw_nccl_enter(communicator, &world, error));
    if (bytes > 0) {
        result =
            world->calls->AllGather(send, receive, bytes, ncclChar, world->comm, world->stream);
    }
    return gw_nccl_finish(world, result, "ncclAllGather", error);
}

/* Its algorithms sum each number on one rank, or up one tree, and send the sum to all. */
enum gw_status gw_nccl_allreduce(struct gw_communicator *communicator, const float *send,
                                 float *receive, size_t count, struct gw_error *error) {
    struct gw_nccl_world *world = NULL;
    ncclResult_t result = ncclSuccess;
    GW_TRY(gw_nccl_enter(communicator, &world, error));
    if (count > 0) {
        result = world->calls->AllReduce(send, receive, count, ncclFloat, ncclSum, world->comm,
                                         world->stream);
    }
    return gw_nccl_finish(world, result, "ncclAllReduce", error);
}

enum gw_status gw_nccl_broadcast(struct gw_communicator *communicator, int root, void *data,
                                 size_t bytes, struct gw_error *error) {
    struct gw_nccl_world *world = NULL;
    ncclResult_t result = ncclSuccess;
    GW_TRY(gw_nccl_enter(communicator, &world, error));
    if (bytes > 0) {
        result =
            world->calls->Broadcast(data, data, bytes, ncclChar, root, world->comm, world->stream);
    }
    return gw_nccl_finish(world, result, "ncclBroadcast", error);
}

enum gw_status gw_nccl_reduce(struct gw_communicator *communicator, int root, const float *send,
                              float *receive, size_t count, struct gw_error *error) {
    struct gw_nccl_world *world = NULL;
    ncclResult_t result = ncclSuccess;
    GW_TRY(gw_nccl_enter(communicator, &world, error));
    if (count > 0) {
        result = world->calls->Reduce(send, receive, count, ncclFloat, ncclSum, root, world->comm,
                                      world->stream);
    }
    return gw_nccl_finish(world, result, "ncclReduce", error);
}
