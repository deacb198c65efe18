#include "exec/gpu_work.h"

#include <math.h>

#include "exec/gpu_kernels.h"

enum { TRIES = 10, DEPTH = 256, FEW = 4, MANY = 68 }; /* FEW, MANY: steps of a product */

static enum gw_status multiply(struct gw_gpu_work *work, size_t steps, struct gw_error *error) {
    return gw_gpu_multiply(work->a, work->b, work->c, work->n, DEPTH, steps, work->stream, error);
}

/* ---- calibration --------------------------------------------------------------------------- */

/* The shortest of some times that so many steps take, by events before and behind. */
static enum gw_status measure(struct gw_gpu_work *work, struct gw_device_event *const *events,
                              size_t steps, double *shortest_s, struct gw_error *error) {
    *shortest_s = INFINITY;
    for (int i = 0; i < TRIES; i++) {
        double seconds = 0;
        GW_TRY(gw_device_event_record(events[0], work->stream, error));
        GW_TRY(multiply(work, steps, error));
        GW_TRY(gw_device_event_record(events[1], work->stream, error));
        GW_TRY(gw_device_event_finish(events[1], error));
        GW_TRY(gw_device_event_elapsed_s(events[0], events[1], &seconds, error));
        *shortest_s = fmin(*shortest_s, seconds);
    }
    return GW_OK;
}

/* From a short and a long product: what a launch takes is in both. */
static enum gw_status calibrate(struct gw_gpu_work *work, struct gw_device_event *const *events,
                                struct gw_error *error) {
    double short_s = 0;
    double long_s = 0;
    GW_TRY(measure(work, events, FEW, &short_s, error));
    GW_TRY(measure(work, events, MANY, &long_s, error));
    if (!(long_s > short_s)) {
        return gw_fail(error, GW_FAILED,
                       "calibrating work on a GPU: expected more to take longer, got %g s and %g s",
                       short_s, long_s);
    }
    work->steps_per_s = (MANY - FEW) / (long_s - short_s);
    work->fixed_s = fmax(0, short_s - FEW / work->steps_per_s);
    return GW_OK;
}

/* ---- opening ------------------------------------------------------------------------------- */

/* As many tiles as keep all multiprocessors at work, two each. */
static enum gw_status open_matrices(struct gw_gpu_work *work, struct gw_error *error) {
    size_t multiprocessors = gw_device_multiprocessors(work->device);
    work->n = GW_TILE * (size_t)ceil(sqrt(2 * (double)multiprocessors));
    const size_t elements[] = {work->n * DEPTH, work->n * DEPTH, work->n * work->n};
    float **const matrices[] = {&work->a, &work->b, &work->c};
    for (size_t i = 0; i < 3; i++) {
        void *memory = NULL;
        GW_TRY(
            gw_device_allocate(work->device, elements[i] * sizeof **matrices[i], &memory, error));
        *matrices[i] = memory;
    }
    return GW_OK;
}

static enum gw_status open_products(struct gw_gpu_work *work, struct gw_error *error) {
    struct gw_device_event *events[2] = {NULL, NULL};
    GW_TRY(open_matrices(work, error));
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
    gw_device_free(work->device, work->a);
    gw_device_free(work->device, work->b);
    gw_device_free(work->device, work->c);
    *work = (struct gw_gpu_work){0};
}

/* ---- work ---------------------------------------------------------------------------------- */

enum gw_status gw_gpu_work_do(struct gw_gpu_work *work, double seconds, bool continues,
                              struct gw_error *error) {
    if (work->compute == GW_COMPUTE_WAIT) {
        return gw_gpu_hold(work->clock, (uint64_t)(seconds * 1e9 + 0.5), continues, work->stream,
                           error);
    }
    work->owed_s += seconds;
    double steps = floor((work->owed_s - work->fixed_s) * work->steps_per_s + 0.5);
    if (steps < 1) {
        return GW_OK;
    }
    work->owed_s -= work->fixed_s + steps / work->steps_per_s;
    return multiply(work, (size_t)steps, error);
}
