/* Memory of the emulated GPU and of the page-locked host, and copies. */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "order.h"
#include "streams.h"

enum { ALIGNMENT = 256, UNKNOWN = 0xa5 };

struct block {
    struct block *next;
    void *memory;
    size_t bytes;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks;

static size_t memory_bytes(void) {
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *bytes) {
    *free_bytes = *bytes = memory_bytes();
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **out, size_t bytes) {
    struct block *block = NULL;
    *out = NULL;
    if (bytes == 0) {
        return cudaSuccess;
    }
    if (bytes > memory_bytes() || (block = malloc(sizeof *block)) == NULL ||
        posix_memalign(out, ALIGNMENT, bytes) != 0) {
        free(block);
        *out = NULL;
        return cuda_result(cudaErrorMemoryAllocation);
    }
    memset(*out, UNKNOWN, bytes);
    quiet_lock(&mutex);
    *block = (struct block){blocks, *out, bytes};
    blocks = block;
    quiet_unlock(&mutex);
    return cudaSuccess;
}

/* Waits for the GPU, as CUDA does. */
cudaError_t cudaFree(void *memory) {
    if (memory == NULL) {
        return cudaSuccess;
    }
    streams_finish(cuda_current_device());
    quiet_lock(&mutex);
    struct block **place = &blocks;
    while (*place != NULL && (*place)->memory != memory) {
        place = &(*place)->next;
    }
    struct block *found = *place;
    if (found != NULL) {
        *place = found->next;
    }
    quiet_unlock(&mutex);
    if (found == NULL) {
        return cuda_result(cudaErrorInvalidValue);
    }
    free(found);
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **out, size_t bytes) {
    return cudaMalloc(out, bytes);
}

cudaError_t cudaFreeHost(void *memory) {
    return cudaFree(memory);
}

/* ---- copies -------------------------------------------------------------------------------- */

/* Whether a place is the GPU's, or page-locked; copies to and from others are not for later. */
static bool is_ours(const void *place) {
    quiet_lock(&mutex);
    const struct block *block = blocks;
    while (block != NULL && (uintptr_t)place - (uintptr_t)block->memory >= block->bytes) {
        block = block->next;
    }
    quiet_unlock(&mutex);
    return block != NULL;
}

struct copy {
    void *to;
    const void *from; /* NULL: `value` */
    size_t bytes;
    int value;
    char kept[]; /* of memory that the host may change again */
};

static void copy_now(void *context) {
    struct copy *copy = context;
    if (copy->from == NULL) {
        memset(copy->to, copy->value, copy->bytes);
    } else {
        memcpy(copy->to, copy->from, copy->bytes);
    }
    free(copy);
}

static void put_copy(struct copy what, bool keeps, cudaStream_t stream) {
    struct copy *copy = cuda_allocate(sizeof *copy + (keeps ? what.bytes : 0));
    *copy = what;
    if (keeps) {
        memcpy(copy->kept, what.from, what.bytes);
        copy->from = copy->kept;
    }
    stream_put(stream, copy_now, copy);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
    (void)kind;
    put_copy((struct copy){.to = to, .from = from, .bytes = bytes}, !is_ours(from), stream);
    return is_ours(to) ? cudaSuccess : cudaStreamSynchronize(stream);
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream) {
    put_copy((struct copy){.to = memory, .value = value, .bytes = bytes}, false, stream);
    return cudaSuccess;
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes) {
    return cudaMemsetAsync(memory, value, bytes, NULL);
}
