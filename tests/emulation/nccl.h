/*
 * The part of NCCL that gradweave calls, between threads of one process, so that its callers are
 * tested without a GPU. The names are NVIDIA's. No call waits, as with NCCL_COMM_BLOCKING=0, except
 * ncclCommInitRank with NCCL_COMM_BLOCKING=1. Ranks do not notice that another has aborted, as
 * within a node. Stricter than NCCL: a communicator runs one group at a time, and ranks that call
 * different collectives get an error.
 */
#ifndef GW_EMULATION_NCCL_H
#define GW_EMULATION_NCCL_H

#include <cuda_runtime_api.h>

#define NCCL_MAJOR 0
#define NCCL_MINOR 0
#define NCCL_PATCH 1

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

typedef struct ncclComm *ncclComm_t;
typedef struct {
    char internal[128];
} ncclUniqueId;

typedef enum {
    ncclSuccess = 0,
    ncclUnhandledCudaError = 1,
    ncclSystemError = 2,
    ncclInternalError = 3,
    ncclInvalidArgument = 4,
    ncclInvalidUsage = 5,
    ncclRemoteError = 6,
    ncclInProgress = 7,
} ncclResult_t;

typedef enum { ncclChar = 0, ncclFloat16 = 6, ncclFloat = 7, ncclBfloat16 = 9 } ncclDataType_t;
typedef enum { ncclSum = 0 } ncclRedOp_t;

ncclResult_t ncclGetVersion(int *version);
const char *ncclGetErrorString(ncclResult_t result);
const char *ncclGetLastError(ncclComm_t comm);

/* ---- communicators ------------------------------------------------------------------------- */

ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
ncclResult_t ncclCommInitRank(ncclComm_t *comm, int size, ncclUniqueId id, int rank);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *result);

/* ---- what they do -------------------------------------------------------------------------- */

ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);
ncclResult_t ncclAllGather(const void *send, void *receive, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclBroadcast(const void *send, void *receive, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int to, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t ncclRecv(void *receive, size_t count, ncclDataType_t type, int from, ncclComm_t comm,
                      cudaStream_t stream);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
