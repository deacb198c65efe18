/*
 * A GPU behind C: its memory, work that is done in order on streams, and points in that work. In a
 * build without CUDA, and where there is no GPU, opening one fails with GW_BAD_INPUT and a message
 * that says which; all else is then never called. Calls of the CUDA runtime that fail give
 * GW_FAILED, with the call named.
 */
#ifndef GW_DEVICE_DEVICE_H
#define GW_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/core.h"

/* ---- what there is ------------------------------------------------------------------------- */

struct gw_gpu {
    char name[64];
    char pci[32]; /* where it is plugged in: "0000:3B:00.0"; empty: not known */
    double memory_bytes;
    double clock_hz; /* the highest of its processors; 0: not known */
    bool ecc;        /* whether its memory corrects errors, which costs bandwidth */
};

/* The CUDA Toolkit that this build has in it ("13.0"), or NULL. */
const char *gw_cuda_version(void);

/* Describes this machine's GPUs, at most `capacity`, and returns their number; 0 without CUDA. */
size_t gw_cuda_devices(struct gw_gpu *gpus, size_t capacity);

/* ---- a GPU --------------------------------------------------------------------------------- */

struct gw_device;

/* GPU `ordinal` of those that this process sees. Several processes may open the same one. */
enum gw_status gw_device_open(struct gw_device **out, size_t ordinal, struct gw_error *error);

/* The same in a process that uses it already, which goes on waiting for it as it did. */
enum gw_status gw_device_join(struct gw_device **out, size_t ordinal, struct gw_error *error);
void gw_device_close(struct gw_device *device);

/* Its multiprocessors: launches are made to fill them. */
size_t gw_device_multiprocessors(const struct gw_device *device);

/* Where it is on the machine's PCI, "0000:3b:00.0": the same for all processes that see it. */
enum { GW_BUS_SIZE = 16 };
enum gw_status gw_device_bus(const struct gw_device *device, char bus[GW_BUS_SIZE],
                             struct gw_error *error);

/* Of the cache before its memory, in bytes. */
size_t gw_device_cache_bytes(const struct gw_device *device);

/* Zeroed memory of the GPU, aligned to 256 bytes; 0 bytes give NULL. */
enum gw_status gw_device_allocate(struct gw_device *device, size_t bytes, void **out,
                                  struct gw_error *error);
void gw_device_free(struct gw_device *device, void *memory);

/* The same of the host, page-locked: copies from and to it do not wait. */
enum gw_status gw_device_allocate_host(struct gw_device *device, size_t bytes, void **out,
                                       struct gw_error *error);
void gw_device_free_host(struct gw_device *device, void *memory);

/* ---- streams ------------------------------------------------------------------------------- */

/* Work on one stream is done in order; on two, at the same time where nothing makes one wait. */
struct gw_device_stream;

/* `urgent` work goes first where there is a choice, as communication should. */
enum gw_status gw_device_stream_open(struct gw_device *device, bool urgent,
                                     struct gw_device_stream **out, struct gw_error *error);
/* What CUDA calls cudaStream_t (NULL: the default stream), which stays the caller's. */
enum gw_status gw_device_stream_borrow(struct gw_device *device, void *handle,
                                       struct gw_device_stream **out, struct gw_error *error);
void gw_device_stream_close(struct gw_device_stream *stream);

struct gw_device *gw_device_stream_device(const struct gw_device_stream *stream);

/* Until all of its work is done the calling thread sleeps. Errors of earlier work come out here. */
enum gw_status gw_device_stream_finish(struct gw_device_stream *stream, struct gw_error *error);

/* Copies between any two places on the GPU and on the host. */
enum gw_status gw_device_copy(struct gw_device_stream *stream, void *to, const void *from,
                              size_t bytes, struct gw_error *error);

/* Sets bytes to zero. */
enum gw_status gw_device_clear(struct gw_device_stream *stream, void *memory, size_t bytes,
                               struct gw_error *error);

/* ---- events -------------------------------------------------------------------------------- */

/* A point in a stream's work. */
struct gw_device_event;

/* Only `timed` ones know when it was reached, and are slower. */
enum gw_status gw_device_event_open(struct gw_device *device, bool timed,
                                    struct gw_device_event **out, struct gw_error *error);
void gw_device_event_close(struct gw_device_event *event);

/* The point behind all work that the stream has now; an event may be recorded again. */
enum gw_status gw_device_event_record(struct gw_device_event *event,
                                      struct gw_device_stream *stream, struct gw_error *error);

/* What comes on the stream from now on waits for the point; the caller does not. */
enum gw_status gw_device_event_hold(struct gw_device_event *event, struct gw_device_stream *stream,
                                    struct gw_error *error);

/* The caller sleeps until the point is reached. */
enum gw_status gw_device_event_finish(struct gw_device_event *event, struct gw_error *error);

/* Whether it has been, without waiting. */
enum gw_status gw_device_event_reached(struct gw_device_event *event, bool *reached,
                                       struct gw_error *error);

/* From one point to another, both timed and reached. */
enum gw_status gw_device_event_elapsed_s(struct gw_device_event *from, struct gw_device_event *to,
                                         double *seconds, struct gw_error *error);

#endif
