/*
 * When events of a GPU were, on the clock of the host; private to this room.
 *
 * A GPU says only how long after one event another was, to about half a microsecond. So there are
 * two anchors, of which the host knows when they were: one on an idle stream before the events, one
 * after them. The host looks at its clock before it records one, asks until the GPU is there, and
 * looks again: the anchor was in between, for which the middle is taken, of the narrowest of some
 * tries. Times between the anchors are interpolated, so that neither a difference between the two
 * clocks' rates nor a slow anchor adds up; an error is at most half of `width_s`.
 */
#ifndef GW_EXEC_GPU_CLOCK_H
#define GW_EXEC_GPU_CLOCK_H

#include "device/device.h"

/* An event that the host knows the time of. */
struct gw_anchor {
    struct gw_device_event *event;
    double at_s, width_s; /* host's clock */
};

struct gw_gpu_clock {
    struct gw_anchor before, after, tried;
    double rate; /* seconds of the host to one of the GPU's */
};

/* *out is safe to close in any case. */
enum gw_status gw_gpu_clock_open(struct gw_gpu_clock *out, struct gw_device *device,
                                 struct gw_error *error);
void gw_gpu_clock_close(struct gw_gpu_clock *clock);

/* Sets the anchors, on a stream that has nothing to do. */
enum gw_status gw_gpu_clock_begin(struct gw_gpu_clock *clock, struct gw_device_stream *stream,
                                  struct gw_error *error);
enum gw_status gw_gpu_clock_end(struct gw_gpu_clock *clock, struct gw_device_stream *stream,
                                struct gw_error *error);

/* Of a timed event between them. */
enum gw_status gw_gpu_clock_time_s(const struct gw_gpu_clock *clock, struct gw_device_event *event,
                                   double *seconds, struct gw_error *error);

#endif
