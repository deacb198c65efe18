/* A build without CUDA: there is no GPU to time with. */
#include "calibrate/measure/gpu_timer.h"

static enum gw_status refuse(struct gw_error *error) {
    return gw_fail(error, GW_BAD_INPUT, "expected a GPU: this build has no CUDA in it");
}

enum gw_status gw_gpu_timer_open(struct gw_device *device, struct gw_gpu_timer *out,
                                 struct gw_error *error) {
    (void)device;
    *out = (struct gw_gpu_timer){0};
    return refuse(error);
}

void gw_gpu_timer_close(struct gw_gpu_timer *timer) {
    (void)timer;
}

enum gw_status gw_gpu_timer_start(struct gw_gpu_timer *timer, struct gw_error *error) {
    (void)timer;
    return refuse(error);
}

enum gw_status gw_gpu_timer_stop(struct gw_gpu_timer *timer, double *seconds,
                                 struct gw_error *error) {
    (void)timer;
    *seconds = 0;
    return refuse(error);
}
