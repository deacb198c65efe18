/* Times of a GPU's events on the clock of the host. */
#include "exec/accelerator.h"

enum { ANCHOR_TRIES = 5 };

enum gw_status gw_gpu_clock_open(struct gw_gpu_clock *out, struct gw_device *device,
                                 struct gw_error *error) {
    *out = (struct gw_gpu_clock){.rate = 1};
    GW_TRY(gw_device_event_open(device, true, &out->before.event, error));
    GW_TRY(gw_device_event_open(device, true, &out->after.event, error));
    return gw_device_event_open(device, true, &out->tried.event, error);
}

void gw_gpu_clock_close(struct gw_gpu_clock *clock) {
    gw_device_event_close(clock->before.event);
    gw_device_event_close(clock->after.event);
    gw_device_event_close(clock->tried.event);
    *clock = (struct gw_gpu_clock){0};
}

static enum gw_status measure_anchor(struct gw_anchor *anchor, struct gw_device_stream *stream,
                                     struct gw_error *error) {
    double start_s = gw_clock_now_s();
    bool reached = false;
    GW_TRY(gw_device_event_record(anchor->event, stream, error));
    while (!reached) {
        GW_TRY(gw_device_event_reached(anchor->event, &reached, error));
    }
    anchor->width_s = gw_clock_now_s() - start_s;
    anchor->at_s = start_s + anchor->width_s / 2;
    return GW_OK;
}

static enum gw_status set_anchor(struct gw_gpu_clock *clock, struct gw_anchor *anchor,
                                 struct gw_device_stream *stream, struct gw_error *error) {
    GW_TRY(measure_anchor(anchor, stream, error));
    for (int i = 1; i < ANCHOR_TRIES; i++) {
        GW_TRY(measure_anchor(&clock->tried, stream, error));
        if (clock->tried.width_s < anchor->width_s) {
            struct gw_anchor narrower = clock->tried;
            clock->tried = *anchor;
            *anchor = narrower;
        }
    }
    return GW_OK;
}

enum gw_status gw_gpu_clock_begin(struct gw_gpu_clock *clock, struct gw_device_stream *stream,
                                  struct gw_error *error) {
    return set_anchor(clock, &clock->before, stream, error);
}

enum gw_status gw_gpu_clock_end(struct gw_gpu_clock *clock, struct gw_device_stream *stream,
                                struct gw_error *error) {
    double passed_s = 0;
    GW_TRY(set_anchor(clock, &clock->after, stream, error));
    GW_TRY(gw_device_event_elapsed_s(clock->before.event, clock->after.event, &passed_s, error));
    clock->rate = passed_s > 0 ? (clock->after.at_s - clock->before.at_s) / passed_s : 1;
    return GW_OK;
}

enum gw_status gw_gpu_clock_time_s(const struct gw_gpu_clock *clock, struct gw_device_event *event,
                                   double *seconds, struct gw_error *error) {
    GW_TRY(gw_device_event_elapsed_s(clock->before.event, event, seconds, error));
    *seconds = clock->before.at_s + clock->rate * *seconds;
    return GW_OK;
}
