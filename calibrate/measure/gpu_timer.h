/*
 * How long work on a GPU takes by the GPU's own clock; private to this room.
 *
 * What is timed comes behind a pass over memory of its own, several times what the GPU's cache
 * holds. So it finds the cache without its data, as it would behind a backward pass; and the host
 * has put it on the stream by the time it begins, so that launching does not count, unless the
 * work waits for a count before it goes on.
 */
#ifndef GW_CALIBRATE_GPU_TIMER_H
#define GW_CALIBRATE_GPU_TIMER_H

#include "device/device.h"

struct gw_gpu_timer {
    struct gw_device *device;
    struct gw_device_stream *stream; /* for what is timed */
    struct gw_device_event *from, *to;
    float *other, *sum; /* GPU [other_elements], [1] */
    size_t other_elements;
};

/* On failure there is nothing to close; what is all zeros may be closed. */
enum gw_status gw_gpu_timer_open(struct gw_device *device, struct gw_gpu_timer *out,
                                 struct gw_error *error);
void gw_gpu_timer_close(struct gw_gpu_timer *timer);

/* What is put on the stream between these two is timed; stop waits for it. */
enum gw_status gw_gpu_timer_start(struct gw_gpu_timer *timer, struct gw_error *error);
enum gw_status gw_gpu_timer_stop(struct gw_gpu_timer *timer, double *seconds,
                                 struct gw_error *error);

/*
 * In gpu_evict.cu, only in builds with CUDA: reads all of this zeroed memory (GPU [elements], as
 * ordinary loads do). What the cache held is then written back and gone, if this is larger by far.
 * `sum` is GPU memory for one number.
 */
enum gw_status gw_gpu_evict(const float *memory, size_t elements, struct gw_device_stream *stream,
                            float *sum, struct gw_error *error);

#endif
