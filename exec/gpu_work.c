/* Work of known duration on a GPU: waiting, or products of matrices whose times are calibrated. */
#include <math.h>

#include "exec/accelerator.h"

enum {
    TILE = 128
}; /* approximate rows and columns of c that a multiprocessor computes at a time
    */
enum { MIN_ROUNDS = 3, MAX_ROUNDS = 20 };

static const double calibration_s = 0.02; /* no further round begins after this time */
/* Rounds continue for this long while depths are not yet told apart: ranks that share a GPU get
 * time slices of milliseconds, and a slice may end within any product. */
static const double shared_calibration_s = 2;

/* The deepest limits the memory: longer work is several products. */
static const size_t measured_depths[] = {GW_DEPTH_STEP, 256, 512, 1024, 2048, 4096};
enum { DEPTHS = sizeof measured_depths / sizeof *measured_depths };

/* ---- calibration --------------------------------------------------------------------------- */

/* Takes the shortest time of each depth, by events before and after. */
static enum gw_status calibrate_depths(struct gw_gpu_work *work,
                                       struct gw_device_event *const *events,
                                       struct gw_error *error) {
    struct gw_curve_point measured[DEPTHS] = {{0}};
    enum gw_status status = GW_OK;
    double start_s = gw_clock_now_s();
    double passed_s = 0;
    for (int round = 0; round < MIN_ROUNDS || (round < MAX_ROUNDS && passed_s < calibration_s) ||
                        (status != GW_OK && passed_s < shared_calibration_s);
         round++) {
        for (size_t i = 0; i < DEPTHS; i++) {
            double seconds = 0;
            /* Time a product after another one, during which the host launches it, so the GPU has
             * no gap. */
            GW_TRY(gw_products_multiply(&work->products, measured_depths[DEPTHS - 1], error));
            GW_TRY(gw_device_event_record(events[0], work->stream, error));
            GW_TRY(gw_products_multiply(&work->products, measured_depths[i], error));
            GW_TRY(gw_device_event_record(events[1], work->stream, error));
            GW_TRY(gw_device_event_finish(events[1], error));
            GW_TRY(gw_device_event_elapsed_s(events[0], events[1], &seconds, error));
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

/* Sizes products so that all multiprocessors have two tiles each. */
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
        status = calibrate_depths(work, events, error);
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
