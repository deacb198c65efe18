/* A GPU's streams, and the events around the operations on them. */
#include "exec/accelerator.h"

#include <stdlib.h>

/* ---- opening ------------------------------------------------------------------------------- */

enum gw_status gw_accelerator_open(struct gw_accelerator *out, const struct gw_schedule *schedule,
                                   const struct gw_session_options *options,
                                   struct gw_error *error) {
    *out = (struct gw_accelerator){.schedule = schedule};
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        GW_TRY(gw_device_stream_open(options->device, stream == GW_STREAM_COMMUNICATION,
                                     &out->streams[stream], error));
        GW_TRY(gw_gpu_work_open(&out->work[stream], out->streams[stream], options->compute, error));
    }
    GW_TRY(gw_gpu_clock_open(&out->clock, options->device, error));
    size_t count = out->schedule->operation_count;
    out->begins = calloc(count, sizeof(struct gw_device_event *));
    out->ends = calloc(count, sizeof(struct gw_device_event *));
    if (out->begins == NULL || out->ends == NULL) {
        return gw_fail_memory(error, "opening a GPU's events");
    }
    for (size_t i = 0; i < count; i++) {
        GW_TRY(gw_device_event_open(options->device, true, &out->begins[i], error));
        GW_TRY(gw_device_event_open(options->device, true, &out->ends[i], error));
    }
    return GW_OK;
}

void gw_accelerator_close(struct gw_accelerator *accelerator) {
    size_t count = accelerator->schedule == NULL ? 0 : accelerator->schedule->operation_count;
    for (size_t i = 0; i < count && accelerator->begins != NULL && accelerator->ends != NULL; i++) {
        gw_device_event_close(accelerator->begins[i]);
        gw_device_event_close(accelerator->ends[i]);
    }
    free(accelerator->begins);
    free(accelerator->ends);
    gw_gpu_clock_close(&accelerator->clock);
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        gw_gpu_work_close(&accelerator->work[stream]);
        gw_device_stream_close(accelerator->streams[stream]);
    }
    *accelerator = (struct gw_accelerator){0};
}

/* ---- an iteration -------------------------------------------------------------------------- */

enum gw_status gw_accelerator_start(struct gw_accelerator *accelerator, struct gw_error *error) {
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        accelerator->worked[stream] = false;
        GW_TRY(gw_device_stream_finish(accelerator->streams[stream], error));
    }
    return gw_gpu_clock_begin(&accelerator->clock, accelerator->streams[GW_STREAM_COMPUTE], error);
}

enum gw_status gw_accelerator_finish(struct gw_accelerator *accelerator, struct gw_error *error) {
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        GW_TRY(gw_device_stream_finish(accelerator->streams[stream], error));
    }
    return gw_gpu_clock_end(&accelerator->clock, accelerator->streams[GW_STREAM_COMPUTE], error);
}

/* ---- an operation -------------------------------------------------------------------------- */

enum gw_status gw_accelerator_begin(struct gw_accelerator *accelerator, size_t operation,
                                    struct gw_error *error) {
    const struct gw_schedule *schedule = accelerator->schedule;
    const struct gw_operation *one = &schedule->operations[operation];
    struct gw_device_stream *stream = accelerator->streams[one->stream];
    for (size_t d = 0; d < one->dependency_count; d++) {
        size_t dependency = schedule->dependencies[one->first_dependency + d];
        if (schedule->operations[dependency].stream != one->stream) {
            GW_TRY(gw_device_event_hold(accelerator->ends[dependency], stream, error));
        }
    }
    return gw_device_event_record(accelerator->begins[operation], stream, error);
}

enum gw_status gw_accelerator_follow(struct gw_accelerator *accelerator, size_t operation,
                                     struct gw_device_stream *trainer, struct gw_error *error) {
    enum gw_stream stream = accelerator->schedule->operations[operation].stream;
    struct gw_device_event *there = accelerator->begins[operation];
    GW_TRY(gw_device_event_record(there, trainer, error));
    return gw_device_event_hold(there, accelerator->streams[stream], error);
}

enum gw_status gw_accelerator_await(struct gw_accelerator *accelerator, size_t operation,
                                    struct gw_error *error) {
    enum gw_stream stream = accelerator->schedule->operations[operation].stream;
    GW_TRY(gw_device_event_finish(accelerator->begins[operation], error));
    return gw_device_event_record(accelerator->begins[operation], accelerator->streams[stream],
                                  error);
}

enum gw_status gw_accelerator_end(struct gw_accelerator *accelerator, size_t operation,
                                  struct gw_error *error) {
    const struct gw_operation *one = &accelerator->schedule->operations[operation];
    enum gw_stream stream = one->stream;
    accelerator->worked[stream] = one->kind != GW_COMPRESS && one->kind != GW_EXCHANGE;
    return gw_device_event_record(accelerator->ends[operation], accelerator->streams[stream],
                                  error);
}

enum gw_status gw_accelerator_work(struct gw_accelerator *accelerator,
                                   const struct gw_operation *operation, struct gw_error *error) {
    bool continues = accelerator->worked[operation->stream] && operation->dependency_count == 0;
    return gw_gpu_work_do(&accelerator->work[operation->stream], operation->duration_s, continues,
                          error);
}

enum gw_status gw_accelerator_interval(const struct gw_accelerator *accelerator, size_t operation,
                                       double *start_s, double *end_s, struct gw_error *error) {
    const struct gw_gpu_clock *clock = &accelerator->clock;
    if (start_s != NULL) {
        GW_TRY(gw_gpu_clock_time_s(clock, accelerator->begins[operation], start_s, error));
    }
    return gw_gpu_clock_time_s(clock, accelerator->ends[operation], end_s, error);
}
