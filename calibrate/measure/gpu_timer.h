/*
 * Times of work on a GPU, by the GPU's own clock; private to this room.
 *
 * Timed work follows a pass over memory of the timer's, several times the size of the GPU's cache.
 * So the cache holds none of its data, as after a backward pass; and the host has queued the work
 * before it begins, so launching does not count, unless the work waits for a count.
 */
#ifndef GW_CALIBRATE_GPU_TIMER_H
#define GW_CALIBRATE_GPU_TIMER_H

#include "device/device.h"

struct gw_gpu_timer {
    struct gw_device *device;
    struct gw_device_stream *stream; /* of the timed work */
    struct gw_device_event *from, *to;
    float *other, *sum; /* GPU [other_elements], [1] */
    size_t other_elements;
};

/* A failed open needs no close; a zeroed timer may be closed. */
enum gw_status gw_gpu_timer_open(struct gw_device *device, struct gw_gpu_timer *out,
                                 struct gw_error *error);
void gw_gpu_timer_close(struct gw_gpu_timer *timer);

/* Time the work that is put on the stream between these two; stop waits for it. */
enum gw_status gw_gpu_timer_start(struct gw_gpu_timer *timer, struct gw_error *error);
enum gw_status gw_gpu_timer_stop(struct gw_gpu_timer *timer, double *seconds,
                                 struct gw_error *error);

/*
 * Reads all of this zeroed memory (GPU [elements], by ordinary loads), in gpu_evict.cu, only in
 * builds with CUDA. If it is much larger than the cache, the cache's contents are written back and
 * replaced. `sum` is GPU memory for one number.
 */
enum gw_status gw_gpu_evict(const float *memory, size_t elements, struct gw_device_stream *stream,
                            float *sum, struct gw_error *error);

#endif
