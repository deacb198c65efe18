/* NCCL, loaded at run time, and communicators over it; private to transport/. */
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
    ncclResult_t (*Send)(const void *send, size_t count, ncclDataType_t type, int to,
                         ncclComm_t comm, cudaStream_t stream);
    ncclResult_t (*Recv)(void *receive, size_t count, ncclDataType_t type, int from,
                         ncclComm_t comm, cudaStream_t stream);
};

struct gw_nccl_world {
    struct gw_gpu_base base;
    const struct gw_nccl_calls *calls;
    ncclComm_t comm;     /* NULL after a failure */
    cudaStream_t stream; /* the settings' */
    double timeout_s;
    struct gw_communicator news; /* failures, as control messages */
    bool announced;              /* a failure has been sent to all ranks */
    struct gw_message *messages; /* started, and not yet given to NCCL */
    size_t message_count, message_capacity;
    uintptr_t next_message; /* its number */
};

/*
 * Returns the communicator's world and makes its GPU the thread's; fails if it has failed before.
 */
enum gw_status gw_nccl_enter(struct gw_communicator *communicator, struct gw_nccl_world **out,
                             struct gw_error *error);

/* Turns the result of an NCCL call into a status. The message names the call. */
enum gw_status gw_nccl_check(const struct gw_nccl_world *world, ncclResult_t result,
                             const char *call, struct gw_error *error);

/* Ends the communicator, on the other ranks as soon as they wait; returns the failure. */
enum gw_status gw_nccl_give_up(struct gw_nccl_world *world, const struct gw_error *failure,
                               struct gw_error *error);

/* Ends NCCL's communicator, if there is one, without telling other ranks. */
void gw_nccl_abort(struct gw_nccl_world *world);

/* The begin of a wait, and the time of the last poll for failures, counted from the begin. */
struct gw_nccl_wait {
    double start_s, heard_s;
};

/* Pauses between two polls; fails if another rank has failed, or `call` takes too long. */
enum gw_status gw_nccl_rest(struct gw_nccl_world *world, const char *call,
                            struct gw_nccl_wait *wait, struct gw_error *error);

/* Waits until NCCL has accepted `call`, which returned `result`, and, with `stream`, until the
 * stream's work is done. Ends the communicator on failure or timeout. */
enum gw_status gw_nccl_wait_for(struct gw_nccl_world *world, ncclResult_t result, const char *call,
                                bool stream, struct gw_error *error);

/* The first of two results that is a failure. */
static inline ncclResult_t gw_nccl_first_failure(ncclResult_t first, ncclResult_t second) {
    return first == ncclSuccess ? second : first;
}

/* Closes NCCL's communicator, if there is one, together with all ranks, and frees the world. */
void gw_nccl_close(struct gw_communicator *communicator);

/* A call of NCCL's on a thread of its own, because it waits for other ranks, without end if one is
 * lost. */
struct gw_nccl_async;

/* Makes call(context) on another thread, for this thread's GPU. If the call is abandoned, it is
 * followed by dispose(context). */
enum gw_status gw_nccl_async_start(struct gw_nccl_async **out, void (*call)(void *context),
                                   void (*dispose)(void *context), void *context,
                                   struct gw_error *error);

bool gw_nccl_async_is_done(struct gw_nccl_async *aside);

/* Returns true if the call is done and the context is the caller's again; otherwise abandons the
 * call. */
bool gw_nccl_async_end(struct gw_nccl_async *aside);

/* The collectives and messages (collectives.c). */
extern const struct gw_transport gw_nccl_transport;

#endif
