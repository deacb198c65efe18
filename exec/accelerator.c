#include "exec/accelerator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 128 }; /* rows and columns that a multiprocessor has of c at a time, or so */
enum { LEAST_ROUNDS = 3, MOST_ROUNDS = 20 };

static const double calibration_s = 0.02; /* after which no further round is begun */
/* As long rounds go on where depths tell nothing yet: ranks that share a GPU have it in turns of
 * milliseconds, and a turn may end within any product. */
static const double shared_calibration_s = 2;

/* The deepest bounds the memory: longer work is several products. */
static const size_t measured_depths[] = {GW_DEPTH_STEP, 256, 512, 1024, 2048, 4096};
enum { DEPTHS = sizeof measured_depths / sizeof *measured_depths };

/* ---- depths -------------------------------------------------------------------------------- */

enum { LEAST_POINTS = 3 };

enum gw_status gw_depths_set(struct gw_depths *out, const struct gw_curve_point *measured,
                             size_t count, struct gw_error *error) {
    double deeper_s = INFINITY;
    size_t first = GW_MOST_DEPTHS;
    bool timed = count > 0 && count <= GW_MOST_DEPTHS;
    for (size_t i = count; i-- > 0 && timed;) {
        timed = measured[i].time_s > 0 && isfinite(measured[i].time_s);
        if (measured[i].time_s < deeper_s) {
            out->points[--first] = measured[i];
            deeper_s = measured[i].time_s;
        }
    }
    out->count = GW_MOST_DEPTHS - first;
    memmove(out->points, out->points + first, out->count * sizeof *out->points);
    if (!timed) {
        return gw_fail(error, GW_FAILED, "calibrating work on a GPU: got times that are none");
    }
    if (out->count < LEAST_POINTS ||
        out->points[out->count - 1].time_s < 2 * out->points[0].time_s) {
        return gw_fail(error, GW_FAILED,
                       "calibrating work on a GPU: expected deeper products to take longer, got %g "
                       "s for a depth of %g and %g s for %g",
                       measured[0].time_s, measured[0].size, measured[count - 1].time_s,
                       measured[count - 1].size);
    }
    return GW_OK;
}

size_t gw_depths_take(const struct gw_depths *depths, double *owed_s) {
    const struct gw_curve_point *low = depths->points;
    const struct gw_curve_point *deepest = &depths->points[depths->count - 1];
    if (*owed_s < low->time_s) {
        return 0;
    }
    if (*owed_s >= deepest->time_s) {
        *owed_s -= deepest->time_s;
        return (size_t)deepest->size;
    }
    while (low[1].time_s <= *owed_s) {
        low++;
    }
    double s_per_depth = (low[1].time_s - low[0].time_s) / (low[1].size - low[0].size);
    double exact = low->size + (*owed_s - low->time_s) / s_per_depth;
    double depth = GW_DEPTH_STEP * floor(exact / GW_DEPTH_STEP + 0.5);
    *owed_s -= low->time_s + (depth - low->size) * s_per_depth;
    return (size_t)depth;
}

/* ---- calibration --------------------------------------------------------------------------- */

/* Behind another one, while which the host launches it: the GPU does not wait in between. */
static enum gw_status time_product(const struct gw_gpu_work *work,
                                   struct gw_device_event *const *events, size_t depth,
                                   double *seconds, struct gw_error *error) {
    GW_TRY(gw_products_multiply(&work->products, measured_depths[DEPTHS - 1], error));
    GW_TRY(gw_device_event_record(events[0], work->stream, error));
    GW_TRY(gw_products_multiply(&work->products, depth, error));
    GW_TRY(gw_device_event_record(events[1], work->stream, error));
    GW_TRY(gw_device_event_finish(events[1], error));
    return gw_device_event_elapsed_s(events[0], events[1], seconds, error);
}

/* The shortest of each depth's times, by events before and behind. */
static enum gw_status calibrate(struct gw_gpu_work *work, struct gw_device_event *const *events,
                                struct gw_error *error) {
    struct gw_curve_point measured[DEPTHS] = {{0}};
    enum gw_status status = GW_OK;
    double start_s = gw_clock_now_s();
    double passed_s = 0;
    for (int round = 0; round < LEAST_ROUNDS || (round < MOST_ROUNDS && passed_s < calibration_s) ||
                        (status != GW_OK && passed_s < shared_calibration_s);
         round++) {
        for (size_t i = 0; i < DEPTHS; i++) {
            double seconds = 0;
            GW_TRY(time_product(work, events, measured_depths[i], &seconds, error));
            measured[i] =
                (struct gw_curve_point){(double)measured_depths[i],
                                        round == 0 ? seconds : fmin(measured[i].time_s, seconds)};
        }
        status = gw_depths_set(&work->depths, measured, DEPTHS, error);
        passed_s = gw_clock_now_s() - start_s;
    }
    return status;
}

/* ---- opening work -------------------------------------------------------------------------- */

/* As many tiles as keep all multiprocessors at work, two each. */
static enum gw_status open_products(struct gw_gpu_work *work, struct gw_error *error) {
    struct gw_device_event *events[2] = {NULL, NULL};
    size_t multiprocessors = gw_device_multiprocessors(work->device);
    size_t n = TILE * (size_t)ceil(sqrt(2 * (double)multiprocessors));
    GW_TRY(gw_products_open(&work->products, work->stream, n, measured_depths[DEPTHS - 1], error));
    enum gw_status status = gw_device_event_open(work->device, true, &events[0], error);
    if (status == GW_OK) {
        status = gw_device_event_open(work->device, true, &events[1], error);
    }
    if (status == GW_OK) {
        status = calibrate(work, events, error);
    }
    gw_device_event_close(events[0]);
    gw_device_event_close(events[1]);
    return status;
}

enum gw_status gw_gpu_work_open(struct gw_gpu_work *out, struct gw_device_stream *stream,
                                enum gw_compute compute, struct gw_error *error) {
    void *clock = NULL;
    *out = (struct gw_gpu_work){
        .device = gw_device_stream_device(stream), .stream = stream, .compute = compute};
    if (compute == GW_COMPUTE_GEMM) {
        return open_products(out, error);
    }
    GW_TRY(gw_device_allocate(out->device, sizeof *out->clock, &clock, error));
    out->clock = clock;
    return GW_OK;
}

void gw_gpu_work_close(struct gw_gpu_work *work) {
    gw_device_free(work->device, work->clock);
    gw_products_close(&work->products);
    *work = (struct gw_gpu_work){0};
}

/* ---- work ---------------------------------------------------------------------------------- */

enum gw_status gw_gpu_work_do(struct gw_gpu_work *work, double seconds, bool continues,
                              struct gw_error *error) {
    if (work->compute == GW_COMPUTE_WAIT) {
        return gw_gpu_hold(work->clock, (uint64_t)(seconds * 1e9 + 0.5), continues, work->stream,
                           error);
    }
    size_t depth = 0;
    work->owed_s += seconds;
    while ((depth = gw_depths_take(&work->depths, &work->owed_s)) > 0) {
        GW_TRY(gw_products_multiply(&work->products, depth, error));
    }
    return GW_OK;
}

/* ---- the clock ----------------------------------------------------------------------------- */

enum { TRIES = 5 };

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

static enum gw_status try_anchor(struct gw_anchor *anchor, struct gw_device_stream *stream,
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
    GW_TRY(try_anchor(anchor, stream, error));
    for (int i = 1; i < TRIES; i++) {
        GW_TRY(try_anchor(&clock->tried, stream, error));
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

/* ---- opening ------------------------------------------------------------------------------- */

static enum gw_status open_events(struct gw_accelerator *accelerator, struct gw_device *device,
                                  struct gw_error *error) {
    size_t count = accelerator->schedule->operation_count;
    accelerator->begins = calloc(count, sizeof(struct gw_device_event *));
    accelerator->ends = calloc(count, sizeof(struct gw_device_event *));
    if (accelerator->begins == NULL || accelerator->ends == NULL) {
        return gw_fail_memory(error, "opening a GPU's events");
    }
    for (size_t i = 0; i < count; i++) {
        GW_TRY(gw_device_event_open(device, true, &accelerator->begins[i], error));
        GW_TRY(gw_device_event_open(device, true, &accelerator->ends[i], error));
    }
    return GW_OK;
}

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
    return open_events(out, options->device, error);
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
