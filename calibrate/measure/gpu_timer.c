#include "calibrate/measure/gpu_timer.h"

enum {
    CACHES = 4
}; /* a cache that does not replace the oldest line first keeps some lines after
    * one pass */

static enum gw_status open_parts(struct gw_gpu_timer *timer, struct gw_error *error) {
    struct gw_device *device = timer->device;
    GW_TRY(gw_device_stream_open(device, false, &timer->stream, error));
    GW_TRY(gw_device_event_open(device, true, &timer->from, error));
    GW_TRY(gw_device_event_open(device, true, &timer->to, error));
    GW_TRY(gw_device_allocate(device, timer->other_elements * sizeof *timer->other,
                              (void **)&timer->other, error));
    return gw_device_allocate(device, sizeof *timer->sum, (void **)&timer->sum, error);
}

enum gw_status gw_gpu_timer_open(struct gw_device *device, struct gw_gpu_timer *out,
                                 struct gw_error *error) {
    *out = (struct gw_gpu_timer){
        .device = device,
        .other_elements = CACHES * gw_device_cache_bytes(device) / sizeof(float),
    };
    enum gw_status status = open_parts(out, error);
    if (status != GW_OK) {
        gw_gpu_timer_close(out);
    }
    return status;
}

void gw_gpu_timer_close(struct gw_gpu_timer *timer) {
    gw_device_free(timer->device, timer->other);
    gw_device_free(timer->device, timer->sum);
    gw_device_event_close(timer->from);
    gw_device_event_close(timer->to);
    gw_device_stream_close(timer->stream);
    *timer = (struct gw_gpu_timer){0};
}

/* No timer can be opened in a build without CUDA. */
enum gw_status gw_gpu_timer_start(struct gw_gpu_timer *timer, struct gw_error *error) {
#ifdef GW_HAVE_CUDA
    GW_TRY(gw_gpu_evict(timer->other, timer->other_elements, timer->stream, timer->sum, error));
#endif
    return gw_device_event_record(timer->from, timer->stream, error);
}

enum gw_status gw_gpu_timer_stop(struct gw_gpu_timer *timer, double *seconds,
                                 struct gw_error *error) {
    GW_TRY(gw_device_event_record(timer->to, timer->stream, error));
    GW_TRY(gw_device_event_finish(timer->to, error));
    return gw_device_event_elapsed_s(timer->from, timer->to, seconds, error);
}
