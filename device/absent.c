/* The device room of a build without CUDA: opening a GPU fails, so no other function is called. */
#include "device/device.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define REFUSES(name, ...)                                                                         \
    enum gw_status name(__VA_ARGS__, struct gw_error *error) {                                     \
        return gw_fail(error, GW_BAD_INPUT, "expected a GPU: this build has no CUDA in it");       \
    }

const char *gw_cuda_version(void) {
    return NULL;
}

size_t gw_cuda_devices(struct gw_gpu *gpus, size_t capacity) {
    return 0;
}

/* ---- a GPU --------------------------------------------------------------------------------- */

REFUSES(gw_device_open, struct gw_device **out, size_t ordinal)
REFUSES(gw_device_join, struct gw_device **out, size_t ordinal)
REFUSES(gw_device_bus, const struct gw_device *device, char bus[GW_BUS_SIZE])
REFUSES(gw_device_allocate, struct gw_device *device, size_t bytes, void **out)
REFUSES(gw_device_allocate_host, struct gw_device *device, size_t bytes, void **out)

size_t gw_device_multiprocessors(const struct gw_device *device) {
    return 0;
}

size_t gw_device_cache_bytes(const struct gw_device *device) {
    return 0;
}

void gw_device_free(struct gw_device *device, void *memory) {
}

void gw_device_free_host(struct gw_device *device, void *memory) {
}

void gw_device_close(struct gw_device *device) {
}

/* ---- streams and events -------------------------------------------------------------------- */

REFUSES(gw_device_stream_open, struct gw_device *device, bool urgent, struct gw_device_stream **out)
REFUSES(gw_device_stream_borrow, struct gw_device *device, void *handle,
        struct gw_device_stream **out)
REFUSES(gw_device_stream_finish, struct gw_device_stream *stream)
REFUSES(gw_device_copy, struct gw_device_stream *stream, void *to, const void *from, size_t bytes)
REFUSES(gw_device_clear, struct gw_device_stream *stream, void *memory, size_t bytes)
REFUSES(gw_device_event_open, struct gw_device *device, bool timed, struct gw_device_event **out)
REFUSES(gw_device_event_record, struct gw_device_event *event, struct gw_device_stream *stream)
REFUSES(gw_device_event_hold, struct gw_device_event *event, struct gw_device_stream *stream)
REFUSES(gw_device_event_finish, struct gw_device_event *event)
REFUSES(gw_device_event_reached, struct gw_device_event *event, bool *reached)
REFUSES(gw_device_event_elapsed_s, struct gw_device_event *from, struct gw_device_event *to,
        double *seconds)

struct gw_device *gw_device_stream_device(const struct gw_device_stream *stream) {
    return NULL;
}

void gw_device_stream_close(struct gw_device_stream *stream) {
}

void gw_device_event_close(struct gw_device_event *event) {
}
