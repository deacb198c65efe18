/* NCCL as it is found at run time, and communicators over it; private to transport/. */
#ifndef GW_TRANSPORT_NCCL_H
#define GW_TRANSPORT_NCCL_H

#include <nccl.h>

#include "device/cuda.h"
#include "transport/gpu_base.h"

/* NCCL's functions by their names, without "nccl". */
struct gw_nccl_calls {
    ncclResult_t (*GetVersion)(int *version);
    ncclResult_t (*GetUniqueId)(ncclUniqueId *id);
    ncclResult_t (*CommInitRank)(ncclComm_t *comm, int size, ncclUniqueId id, int rank);
    ncclResult_t (*CommFinalize)(ncclComm_t comm);
    ncclResult_t (*CommDestroy)(ncclComm_t comm);
    ncclResult_t (*CommAbort)(ncclComm_t comm);
    ncclResult_t (*CommGetAsyncError)(ncclComm_t comm, ncclResult_t *result);
    const char *(*GetErrorString)(ncclResult_t result);
    const char *(*GetLastError)(ncclComm_t comm);
    ncclResult_t (*GroupStart)(void);
    ncclResult_t (*GroupEnd)(void);
    ncclResult_t (*AllGather)(const void *send, void *receive, size_t count, ncclDataType_t type,
                              ncclComm_t comm, cudaStream_t stream);
    ncclResult_t (*AllReduce)(const void *send, void *receive, size_t count, ncclDataType_t type,
                              ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream);
    ncclResult_t (*Broadcast)(const void *send, void *receive, size_t count, ncclDataType_t type,
                              int root, ncclComm_t comm, cudaStream_t stream);
    ncclResult_t (*Reduce)(const void *send, void *receive, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, int root, ncclComm_t comm, cudaStream_t stream);
    ncclResult_t (*Send)(const void *send, size_t count, ncclDataType_t type, int to,
                         ncclComm_t comm, cudaStream_t stream);
    ncclResult_t (*Recv)(void *receive, size_t count, ncclDataType_t type, int from,
                         ncclComm_t comm, cudaStream_t stream);
};

/* The lowest rank on a host stands for it. */
struct gw_nccl_node {
    int of;       /* of the rank that this is in the place of: who stands for its host */
    int ranks;    /* on its host, if it stands for it; else 0 */
    size_t bytes; /* that those have to send, for one call */
};

struct gw_nccl_world {
    struct gw_gpu_base base;
    const struct gw_nccl_calls *calls;
    ncclComm_t comm;     /* NULL after a failure */
    cudaStream_t stream; /* the settings' */
    double timeout_s;
    struct gw_communicator news; /* of failures, as control messages */
    bool announced;              /* all have been told of one */
    struct gw_nccl_node *nodes;  /* [size] */
    char *padded;                /* on the GPU: for parts that are made equally long */
    size_t padded_bytes;
    struct gw_message *messages; /* started, and not yet NCCL's */
    size_t message_count, message_capacity;
    uintptr_t next_message; /* its number */
};

/* The world's communicator, with its GPU as the thread's, unless it has failed. */
enum gw_status gw_nccl_enter(struct gw_communicator *communicator, struct gw_nccl_world **out,
                             struct gw_error *error);

/* What a call of NCCL returned, as a status. */
enum gw_status gw_nccl_check(const struct gw_nccl_world *world, ncclResult_t result,
                             const char *call, struct gw_error *error);

/* Ends the communicator, on the other ranks as soon as they wait; returns the failure. */
enum gw_status gw_nccl_give_up(struct gw_nccl_world *world, const struct gw_error *failure,
                               struct gw_error *error);

/* Ends NCCL's communicator, if there is one, without a word to other ranks. */
void gw_nccl_abort(struct gw_nccl_world *world);

/* Since when something is waited for, and when news were looked for, counted from then. */
struct gw_nccl_wait {
    double start_s, heard_s;
};

/* Between two looks; fails if another rank has failed, or `call` takes too long. */
enum gw_status gw_nccl_rest(struct gw_nccl_world *world, const char *call,
                            struct gw_nccl_wait *wait, struct gw_error *error);

/*
 * Waits until NCCL has taken in what `call`, which returned `result`, gave it, and the stream, if
 * it is asked for, is through. If that fails or takes too long, ends the communicator.
 */
enum gw_status gw_nccl_wait_for(struct gw_nccl_world *world, ncclResult_t result, const char *call,
                                bool stream, struct gw_error *error);

/* The first of two results that is not good. */
static inline ncclResult_t gw_nccl_worse(ncclResult_t first, ncclResult_t second) {
    return first == ncclSuccess ? second : first;
}

/* Closes NCCL's communicator, if there is one, with all ranks', and frees what the world has. */
void gw_nccl_close(struct gw_communicator *communicator);

/* A call of NCCL's that waits for other ranks, without end if one is lost: on a thread of its own.
 */
struct gw_nccl_aside;

/*
 * Has call(context) made on another thread, for this thread's GPU; if it is left behind, also
 * dispose(context) afterwards.
 */
enum gw_status gw_nccl_aside_start(struct gw_nccl_aside **out, void (*call)(void *context),
                                   void (*dispose)(void *context), void *context,
                                   struct gw_error *error);

bool gw_nccl_aside_is_done(struct gw_nccl_aside *aside);

/* Whether the call is done, and the context the caller's again; otherwise it is left behind. */
bool gw_nccl_aside_end(struct gw_nccl_aside *aside);

/* The collectives and messages (collectives.c). */
extern const struct gw_transport gw_nccl_transport;

#endif
