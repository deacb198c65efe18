/*
 * The GPU behind a C interface: its memory, streams of work that is done in order, and events,
 * which are points in that work. Opening a GPU fails with GW_BAD_INPUT in a build without CUDA and
 * on a machine without a GPU; the message says which of the two. No other function is called then.
 * A call of the CUDA runtime that fails gives GW_FAILED, and the message names the call.
 */
#ifndef GW_DEVICE_DEVICE_H
#define GW_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/core.h"

/* ---- the machine's GPUs --------------------------------------------------------------------- */

struct gw_gpu {
    char name[64];
    char pci[32]; /* the PCI address, "0000:3B:00.0"; empty: unknown */
    double memory_bytes;
    double clock_hz; /* the highest clock of the multiprocessors; 0: unknown */
    bool ecc;        /* memory corrects errors, at a cost in bandwidth */
};

/* The version of the CUDA Toolkit that this build links ("13.0"), or NULL. */
const char *gw_cuda_version(void);

/* Describes this machine's GPUs, at most `capacity`, and returns their number; 0 without CUDA. */
size_t gw_cuda_devices(struct gw_gpu *gpus, size_t capacity);

/* ---- a GPU --------------------------------------------------------------------------------- */

struct gw_device;

/* Opens GPU `ordinal` of those that this process sees. Several processes may open the same one. */
enum gw_status gw_device_open(struct gw_device **out, size_t ordinal, struct gw_error *error);

/* Opens a GPU that this process uses already, and leaves the process's way of waiting unchanged. */
enum gw_status gw_device_join(struct gw_device **out, size_t ordinal, struct gw_error *error);
void gw_device_close(struct gw_device *device);

/* The number of multiprocessors, to size launches by. */
size_t gw_device_multiprocessors(const struct gw_device *device);

/* Writes the PCI address, "0000:3b:00.0": the same in all processes that see the GPU. */
enum { GW_BUS_SIZE = 16 };
enum gw_status gw_device_bus(const struct gw_device *device, char bus[GW_BUS_SIZE],
                             struct gw_error *error);

/* The size of the L2 cache, in bytes. */
size_t gw_device_cache_bytes(const struct gw_device *device);

/* Allocates zeroed memory of the GPU, aligned to 256 bytes; 0 bytes give NULL. */
enum gw_status gw_device_allocate(struct gw_device *device, size_t bytes, void **out,
                                  struct gw_error *error);
void gw_device_free(struct gw_device *device, void *memory);

/* Allocates zeroed page-locked memory of the host: copies from and to it are asynchronous. */
enum gw_status gw_device_allocate_host(struct gw_device *device, size_t bytes, void **out,
                                       struct gw_error *error);
void gw_device_free_host(struct gw_device *device, void *memory);

/* ---- streams ------------------------------------------------------------------------------- */

/* A queue of work that is done in order. Work of two streams may be done at the same time. */
struct gw_device_stream;

/* Opens a stream. Work of an `urgent` one (communication) is scheduled first. */
enum gw_status gw_device_stream_open(struct gw_device *device, bool urgent,
                                     struct gw_device_stream **out, struct gw_error *error);
/* Wraps a cudaStream_t (NULL: the default stream), which stays the caller's. */
enum gw_status gw_device_stream_borrow(struct gw_device *device, void *handle,
                                       struct gw_device_stream **out, struct gw_error *error);
void gw_device_stream_close(struct gw_device_stream *stream);

struct gw_device *gw_device_stream_device(const struct gw_device_stream *stream);

/* Sleeps until all work of the stream is done. Returns errors of earlier work. */
enum gw_status gw_device_stream_finish(struct gw_device_stream *stream, struct gw_error *error);

/* Copies `bytes` between any two buffers of the GPU or the host, as work of the stream. */
enum gw_status gw_device_copy(struct gw_device_stream *stream, void *to, const void *from,
                              size_t bytes, struct gw_error *error);

/* Sets bytes to zero. */
enum gw_status gw_device_clear(struct gw_device_stream *stream, void *memory, size_t bytes,
                               struct gw_error *error);

/* ---- events -------------------------------------------------------------------------------- */

/* A point in a stream's work. */
struct gw_device_event;

/* Opens an event. Only a `timed` event records its time; recording it is slower. */
enum gw_status gw_device_event_open(struct gw_device *device, bool timed,
                                    struct gw_device_event **out, struct gw_error *error);
void gw_device_event_close(struct gw_device_event *event);

/* Records the point after all work that the stream has now; an event may be recorded again. */
enum gw_status gw_device_event_record(struct gw_device_event *event,
                                      struct gw_device_stream *stream, struct gw_error *error);

/* Makes later work of the stream wait for the event; the caller does not wait. */
enum gw_status gw_device_event_hold(struct gw_device_event *event, struct gw_device_stream *stream,
                                    struct gw_error *error);

/* Sleeps until the event is reached. */
enum gw_status gw_device_event_finish(struct gw_device_event *event, struct gw_error *error);

/* Sets *reached to whether the event has been reached, without waiting. */
enum gw_status gw_device_event_reached(struct gw_device_event *event, bool *reached,
                                       struct gw_error *error);

/* Sets *seconds to the time between two events, both timed and reached. */
enum gw_status gw_device_event_elapsed_s(struct gw_device_event *from, struct gw_device_event *to,
                                         double *seconds, struct gw_error *error);

#endif
