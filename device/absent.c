/*
 * What a build without CUDA answers: there is no GPU to open, and so nothing is ever called with
 * one.
 */
#include "device/device.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

const char *gw_cuda_version(void) {
    return NULL;
}

size_t gw_cuda_devices(struct gw_gpu *gpus, size_t capacity) {
    return 0;
}

static enum gw_status refuse(struct gw_error *error) {
    return gw_fail(error, GW_BAD_INPUT, "expected a GPU: this build has no CUDA in it");
}

enum gw_status gw_device_open(struct gw_device **out, size_t ordinal, struct gw_error *error) {
    *out = NULL;
    return refuse(error);
}

void gw_device_close(struct gw_device *device) {
}

size_t gw_device_multiprocessors(const struct gw_device *device) {
    return 0;
}

enum gw_status gw_device_bus(const struct gw_device *device, char bus[GW_BUS_SIZE],
                             struct gw_error *error) {
    bus[0] = '\0';
    return refuse(error);
}

size_t gw_device_cache_bytes(const struct gw_device *device) {
    return 0;
}

enum gw_status gw_device_allocate(struct gw_device *device, size_t bytes, void **out,
                                  struct gw_error *error) {
    *out = NULL;
    return refuse(error);
}

void gw_device_free(struct gw_device *device, void *memory) {
}

enum gw_status gw_device_allocate_host(struct gw_device *device, size_t bytes, void **out,
                                       struct gw_error *error) {
    return gw_device_allocate(device, bytes, out, error);
}

void gw_device_free_host(struct gw_device *device, void *memory) {
}

enum gw_status gw_device_stream_open(struct gw_device *device, bool urgent,
                                     struct gw_device_stream **out, struct gw_error *error) {
    *out = NULL;
    return refuse(error);
}

void gw_device_stream_close(struct gw_device_stream *stream) {
}

struct gw_device *gw_device_stream_device(const struct gw_device_stream *stream) {
    return NULL;
}

enum gw_status gw_device_stream_finish(struct gw_device_stream *stream, struct gw_error *error) {
    return refuse(error);
}

enum gw_status gw_device_copy(struct gw_device_stream *stream, void *to, const void *from,
                              size_t bytes, struct gw_error *error) {
    return refuse(error);
}

enum gw_status gw_device_clear(struct gw_device_stream *stream, void *memory, size_t bytes,
                               struct gw_error *error) {
    return refuse(error);
}

enum gw_status gw_device_event_open(struct gw_device *device, bool timed,
                                    struct gw_device_event **out, struct gw_error *error) {
    *out = NULL;
    return refuse(error);
}

void gw_device_event_close(struct gw_device_event *event) {
}

enum gw_status gw_device_event_record(struct gw_device_event *event,
                                      struct gw_device_stream *stream, struct gw_error *error) {
    return refuse(error);
}

enum gw_status gw_device_event_hold(struct gw_device_event *event, struct gw_device_stream *stream,
                                    struct gw_error *error) {
    return refuse(error);
}

enum gw_status gw_device_event_finish(struct gw_device_event *event, struct gw_error *error) {
    return refuse(error);
}

enum gw_status gw_device_event_reached(struct gw_device_event *event, bool *reached,
                                       struct gw_error *error) {
    *reached = false;
    return refuse(error);
}

enum gw_status gw_device_event_elapsed_s(struct gw_device_event *from, struct gw_device_event *to,
                                         double *seconds, struct gw_error *error) {
    *seconds = 0;
    return refuse(error);
}
