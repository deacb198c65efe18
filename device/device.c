#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda.h"

struct gw_device {
    int ordinal;
    size_t multiprocessors, cache_bytes;
};

struct gw_device_stream {
    struct gw_device *device;
    cudaStream_t stream;
    bool borrowed;
};

struct gw_device_event {
    struct gw_device *device;
    cudaEvent_t event;
};

enum gw_status gw_cuda_check(cudaError_t result, const char *call, struct gw_error *error) {
    if (result == cudaSuccess) {
        return GW_OK;
    }
    (void)cudaGetLastError(); /* clears the error, which the check of the next launch would report
                               * again */
    return gw_fail(error, GW_FAILED, "%s: %s", call, cudaGetErrorString(result));
}

/* Makes the GPU the calling thread's. CUDA gives each new thread GPU 0. */
static enum gw_status set_device(const struct gw_device *device, struct gw_error *error) {
    return gw_cuda_check(cudaSetDevice(device->ordinal), "cudaSetDevice", error);
}

/* ---- the machine's GPUs --------------------------------------------------------------------- */

const char *gw_cuda_version(void) {
    return GW_CUDA_VERSION;
}

static int attribute_or_zero(int device, enum cudaDeviceAttr attribute) {
    int value = 0;
    return cudaDeviceGetAttribute(&value, attribute, device) == cudaSuccess ? value : 0;
}

size_t gw_cuda_devices(struct gw_gpu *gpus, size_t capacity) {
    size_t listed = 0;
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        count = 0;
    }
    for (int i = 0; i < count && listed < capacity; i++) {
        struct cudaDeviceProp properties;
        if (cudaGetDeviceProperties(&properties, i) == cudaSuccess) {
            struct gw_gpu *gpu = &gpus[listed++];
            *gpu = (struct gw_gpu){.memory_bytes = (double)properties.totalGlobalMem,
                                   .clock_hz = 1e3 * attribute_or_zero(i, cudaDevAttrClockRate),
                                   .ecc = attribute_or_zero(i, cudaDevAttrEccEnabled) != 0};
            snprintf(gpu->name, sizeof gpu->name, "%.63s", properties.name);
            if (cudaDeviceGetPCIBusId(gpu->pci, sizeof gpu->pci, i) != cudaSuccess) {
                gpu->pci[0] = '\0';
            }
        }
    }
    (void)cudaGetLastError(); /* clears errors of the queries above, for the check of the next
                               * launch */
    return listed;
}

/* ---- a GPU --------------------------------------------------------------------------------- */

static enum gw_status read_attribute(const struct gw_device *device, enum cudaDeviceAttr attribute,
                                     size_t *out, struct gw_error *error) {
    int value = 0;
    GW_TRY(gw_cuda_check(cudaDeviceGetAttribute(&value, attribute, device->ordinal),
                         "cudaDeviceGetAttribute", error));
    *out = (size_t)value;
    return GW_OK;
}

static enum gw_status open_ordinal(struct gw_device *device, struct gw_error *error) {
    GW_TRY(set_device(device, error));
    GW_TRY(read_attribute(device, cudaDevAttrMultiProcessorCount, &device->multiprocessors, error));
    return read_attribute(device, cudaDevAttrL2CacheSize, &device->cache_bytes, error);
}

enum gw_status gw_device_join(struct gw_device **out, size_t ordinal, struct gw_error *error) {
    int count = 0;
    cudaError_t result = cudaGetDeviceCount(&count);
    if (result != cudaSuccess || count == 0) {
        const char *why = result == cudaSuccess ? "none is visible" : cudaGetErrorString(result);
        return gw_fail(error, GW_BAD_INPUT, "expected a GPU on this machine: %s", why);
    }
    GW_TRY(ordinal < (size_t)count
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "GPU %zu: expected one of the %d here, from 0 on",
                         ordinal, count));
    struct gw_device *device = malloc(sizeof *device);
    if (device == NULL) {
        return gw_fail_memory(error, "opening a GPU");
    }
    *device = (struct gw_device){.ordinal = (int)ordinal};
    enum gw_status status = open_ordinal(device, error);
    if (status != GW_OK) {
        free(device);
        return status;
    }
    *out = device;
    return GW_OK;
}

enum gw_status gw_device_open(struct gw_device **out, size_t ordinal, struct gw_error *error) {
    struct gw_device *device = NULL;
    GW_TRY(gw_device_join(&device, ordinal, error));
    enum gw_status status = gw_cuda_check(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync),
                                          "cudaSetDeviceFlags", error);
    if (status != GW_OK) {
        gw_device_close(device);
        return status;
    }
    *out = device;
    return GW_OK;
}

void gw_device_close(struct gw_device *device) {
    free(device);
}

size_t gw_device_multiprocessors(const struct gw_device *device) {
    return device->multiprocessors;
}

enum gw_status gw_device_bus(const struct gw_device *device, char bus[GW_BUS_SIZE],
                             struct gw_error *error) {
    return gw_cuda_check(cudaDeviceGetPCIBusId(bus, GW_BUS_SIZE, device->ordinal),
                         "cudaDeviceGetPCIBusId", error);
}

size_t gw_device_cache_bytes(const struct gw_device *device) {
    return device->cache_bytes;
}

/* ---- memory -------------------------------------------------------------------------------- */

enum gw_status gw_device_allocate(struct gw_device *device, size_t bytes, void **out,
                                  struct gw_error *error) {
    *out = NULL;
    GW_TRY(set_device(device, error));
    if (bytes == 0) {
        return GW_OK;
    }
    GW_TRY(gw_cuda_check(cudaMalloc(out, bytes), "cudaMalloc", error));
    enum gw_status status = gw_cuda_check(cudaMemset(*out, 0, bytes), "cudaMemset", error);
    if (status == GW_OK) {
        /* cudaMemset works on the default stream, for which non-blocking streams do not wait. */
        status = gw_cuda_check(cudaStreamSynchronize(NULL), "cudaStreamSynchronize", error);
    }
    if (status != GW_OK) {
        gw_device_free(device, *out);
        *out = NULL;
    }
    return status;
}

void gw_device_free(struct gw_device *device, void *memory) {
    if (memory != NULL && set_device(device, NULL) == GW_OK) {
        (void)cudaFree(memory);
    }
}

enum gw_status gw_device_allocate_host(struct gw_device *device, size_t bytes, void **out,
                                       struct gw_error *error) {
    *out = NULL;
    GW_TRY(set_device(device, error));
    if (bytes == 0) {
        return GW_OK;
    }
    GW_TRY(gw_cuda_check(cudaMallocHost(out, bytes), "cudaMallocHost", error));
    memset(*out, 0, bytes);
    return GW_OK;
}

void gw_device_free_host(struct gw_device *device, void *memory) {
    if (memory != NULL && set_device(device, NULL) == GW_OK) {
        (void)cudaFreeHost(memory);
    }
}

/* ---- streams ------------------------------------------------------------------------------- */

enum gw_status gw_device_stream_open(struct gw_device *device, bool urgent,
                                     struct gw_device_stream **out, struct gw_error *error) {
    int least = 0;
    int greatest = 0;
    GW_TRY(set_device(device, error));
    GW_TRY(gw_cuda_check(cudaDeviceGetStreamPriorityRange(&least, &greatest),
                         "cudaDeviceGetStreamPriorityRange", error));
    struct gw_device_stream *stream = malloc(sizeof *stream);
    if (stream == NULL) {
        return gw_fail_memory(error, "opening a stream of a GPU");
    }
    *stream = (struct gw_device_stream){.device = device};
    enum gw_status status =
        gw_cuda_check(cudaStreamCreateWithPriority(&stream->stream, cudaStreamNonBlocking,
                                                   urgent ? greatest : least),
                      "cudaStreamCreateWithPriority", error);
    if (status != GW_OK) {
        free(stream);
        return status;
    }
    *out = stream;
    return GW_OK;
}

enum gw_status gw_device_stream_borrow(struct gw_device *device, void *handle,
                                       struct gw_device_stream **out, struct gw_error *error) {
    struct gw_device_stream *stream = malloc(sizeof *stream);
    if (stream == NULL) {
        return gw_fail_memory(error, "borrowing a stream of a GPU");
    }
    *stream = (struct gw_device_stream){.device = device, .stream = handle, .borrowed = true};
    *out = stream;
    return GW_OK;
}

void gw_device_stream_close(struct gw_device_stream *stream) {
    if (stream != NULL && !stream->borrowed) {
        (void)cudaStreamDestroy(gw_cuda_stream(stream));
    }
    free(stream);
}

struct gw_device *gw_device_stream_device(const struct gw_device_stream *stream) {
    return stream->device;
}

cudaStream_t gw_cuda_stream(struct gw_device_stream *stream) {
    (void)cudaSetDevice(stream->device->ordinal);
    return stream->stream;
}

enum gw_status gw_device_stream_finish(struct gw_device_stream *stream, struct gw_error *error) {
    return gw_cuda_check(cudaStreamSynchronize(gw_cuda_stream(stream)), "cudaStreamSynchronize",
                         error);
}

enum gw_status gw_device_copy(struct gw_device_stream *stream, void *to, const void *from,
                              size_t bytes, struct gw_error *error) {
    return bytes == 0 ? GW_OK
                      : gw_cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault,
                                                      gw_cuda_stream(stream)),
                                      "cudaMemcpyAsync", error);
}

enum gw_status gw_device_clear(struct gw_device_stream *stream, void *memory, size_t bytes,
                               struct gw_error *error) {
    return bytes == 0 ? GW_OK
                      : gw_cuda_check(cudaMemsetAsync(memory, 0, bytes, gw_cuda_stream(stream)),
                                      "cudaMemsetAsync", error);
}

/* ---- events -------------------------------------------------------------------------------- */

enum gw_status gw_device_event_open(struct gw_device *device, bool timed,
                                    struct gw_device_event **out, struct gw_error *error) {
    unsigned flags = cudaEventBlockingSync | (timed ? 0u : cudaEventDisableTiming);
    GW_TRY(set_device(device, error));
    struct gw_device_event *event = malloc(sizeof *event);
    if (event == NULL) {
        return gw_fail_memory(error, "opening an event of a GPU");
    }
    event->device = device;
    enum gw_status status = gw_cuda_check(cudaEventCreateWithFlags(&event->event, flags),
                                          "cudaEventCreateWithFlags", error);
    if (status != GW_OK) {
        free(event);
        return status;
    }
    *out = event;
    return GW_OK;
}

void gw_device_event_close(struct gw_device_event *event) {
    if (event != NULL) {
        (void)set_device(event->device, NULL);
        (void)cudaEventDestroy(event->event);
        free(event);
    }
}

enum gw_status gw_device_event_record(struct gw_device_event *event,
                                      struct gw_device_stream *stream, struct gw_error *error) {
    return gw_cuda_check(cudaEventRecord(event->event, gw_cuda_stream(stream)), "cudaEventRecord",
                         error);
}

enum gw_status gw_device_event_hold(struct gw_device_event *event, struct gw_device_stream *stream,
                                    struct gw_error *error) {
    return gw_cuda_check(cudaStreamWaitEvent(gw_cuda_stream(stream), event->event, 0),
                         "cudaStreamWaitEvent", error);
}

enum gw_status gw_device_event_finish(struct gw_device_event *event, struct gw_error *error) {
    GW_TRY(set_device(event->device, error));
    return gw_cuda_check(cudaEventSynchronize(event->event), "cudaEventSynchronize", error);
}

enum gw_status gw_device_event_reached(struct gw_device_event *event, bool *reached,
                                       struct gw_error *error) {
    GW_TRY(set_device(event->device, error));
    cudaError_t result = cudaEventQuery(event->event);
    *reached = result == cudaSuccess;
    if (result == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* clears the error, which the check of the next launch would
                                   * report again */
        return GW_OK;
    }
    return gw_cuda_check(result, "cudaEventQuery", error);
}

enum gw_status gw_device_event_elapsed_s(struct gw_device_event *from, struct gw_device_event *to,
                                         double *seconds, struct gw_error *error) {
    float milliseconds = 0;
    GW_TRY(set_device(from->device, error));
    GW_TRY(gw_cuda_check(cudaEventElapsedTime(&milliseconds, from->event, to->event),
                         "cudaEventElapsedTime", error));
    *seconds = 1e-3 * (double)milliseconds;
    return GW_OK;
}
