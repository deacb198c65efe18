/* Streams: each has a thread of its own. */
#ifndef GW_EMULATION_STREAMS_H
#define GW_EMULATION_STREAMS_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "queue.h"

struct CUstream_st {
    struct queue queue;
    struct CUstream_st *next; /* of all */
    int device;
    int waiting; /* so many are in streams_finish() for it */
};

/* Queues work like queue_put; calls it at once without a stream (NULL). */
bool stream_put(cudaStream_t stream, void (*run)(void *context), void *context);

/* Waits until all that has been put on a GPU's streams is done. */
void streams_finish(int device);

/* The result of a call; cudaGetLastError returns an error too. */
cudaError_t cuda_result(cudaError_t error);
int cuda_current_device(void);

#ifdef __cplusplus
}
#endif

#endif
