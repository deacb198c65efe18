/* Streams: each has a thread of its own. */
#ifndef GW_EMULATION_STREAMS_H
#define GW_EMULATION_STREAMS_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

#include <pthread.h>
#include <stdbool.h>

struct task;

/* A thread that does what it is given in order, and whenever it comes to it, which by lot takes a
 * while. */
struct CUstream_st {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct task *first, *last;
    unsigned long put, done;
    bool closing, left;
    struct CUstream_st *next; /* of all */
    int device;
    int waiting; /* so many are in streams_finish() for it */
};

/* Has `run` called with `context`, of which it disposes; at once without a stream (NULL). */
void stream_put(cudaStream_t stream, void (*run)(void *context), void *context);

/* Ends the program without memory. */
void *cuda_allocate(size_t bytes);

/* Waits until all that has been put on a GPU's streams is done. */
void streams_finish(int device);

/* The result of a call; cudaGetLastError returns an error too. */
cudaError_t cuda_result(cudaError_t error);
int cuda_current_device(void);

#ifdef __cplusplus
}
#endif

#endif
