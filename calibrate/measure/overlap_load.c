/* Compression that runs while exchanges are measured, for their overlap. */
#include "calibrate/measure/overlap.h"
#include "calibrate/measure/points.h"
#include "calibrate/measure/pool.h"

/*
 * A group of 2^18 elements is of medium size in ResNet-50's plans, and compressed in less than a
 * millisecond. A GPU takes microseconds for it, fewer than launching takes, so it gets a larger
 * one.
 */
static const size_t group_elements = 1 << 18;
static const size_t gpu_group_elements = 1 << 22;
enum { CACHES = 4 }; /* size of a GPU's pool, in units of its cache */

static enum gw_status compress_next(struct gw_overlap_load *load, struct gw_error *error) {
    load->task.gradient = gw_pool_next(&load->gradient, load->elements * sizeof(float));
    load->task.u = gw_pool_next(&load->residual, load->elements * sizeof(float));
    return gw_selecting_compress(&load->selecting, load->compressor, &load->task, true, error);
}

/* A residual would make a threshold select more each time. */
static enum gw_status clear_residual(struct gw_overlap_load *load, struct gw_error *error) {
    const struct gw_memory *memory = &load->selecting.memory;
    return memory->does->clear(memory, load->task.u, load->elements * sizeof *load->task.u, error);
}

static enum gw_status compress_series(struct gw_overlap_load *load, struct gw_error *error) {
    size_t selected = 0;
    double sum_s = 0;
    for (size_t i = 0; i < GW_OVERLAP_SERIES; i++) {
        GW_TRY(gw_device_event_record(load->from[i], load->stream, error));
        GW_TRY(compress_next(load, error));
        GW_TRY(gw_device_event_record(load->to[i], load->stream, error));
        GW_TRY(clear_residual(load, error));
    }
    GW_TRY(gw_gpu_selection_finish(&load->selecting.on_gpu, load->stream, &selected, error));
    for (size_t i = 1; i < GW_OVERLAP_SERIES; i++) {
        double seconds = 0;
        GW_TRY(gw_device_event_elapsed_s(load->from[i], load->to[i], &seconds, error));
        sum_s += seconds;
    }
    load->seconds = sum_s * GW_OVERLAP_SERIES / (GW_OVERLAP_SERIES - 1);
    return GW_OK;
}

enum gw_status gw_overlap_load_open(struct gw_overlap_load *out,
                                    const struct gw_calibration *calibration, int rank,
                                    struct gw_error *error) {
    struct gw_device *device = calibration->device;
    size_t cached = device == NULL ? 0 : CACHES * gw_device_cache_bytes(device);
    *out = (struct gw_overlap_load){
        .elements = gw_lesser(device == NULL ? group_elements : gpu_group_elements,
                              calibration->max_elements)};
    out->task = gw_pool_task(out->elements, calibration->density);
    /* A group with repeated values would have ties that gradients do not have. */
    size_t drawn = gw_greater(GW_OVERLAP_MIN_POOL, out->elements * sizeof(float));
    size_t bytes = gw_greater(drawn, cached);
    GW_TRY(gw_pool_open(bytes, device, &out->gradient, error));
    GW_TRY(gw_pool_open(bytes, device, &out->residual, error));
    GW_TRY(gw_pool_fill(&out->gradient, drawn, rank, error));
    for (size_t i = 0; i < GW_OVERLAP_SERIES && device != NULL; i++) {
        GW_TRY(gw_device_event_open(device, true, &out->from[i], error));
        GW_TRY(gw_device_event_open(device, true, &out->to[i], error));
    }
    GW_TRY(device == NULL ? GW_OK : gw_device_stream_open(device, false, &out->stream, error));
    return gw_selecting_open(&out->selecting, out->stream, out->elements, error);
}

void gw_overlap_load_close(struct gw_overlap_load *load) {
    gw_selecting_close(&load->selecting);
    for (size_t i = 0; i < GW_OVERLAP_SERIES; i++) {
        gw_device_event_close(load->from[i]);
        gw_device_event_close(load->to[i]);
    }
    gw_device_stream_close(load->stream);
    gw_pool_close(&load->gradient);
    gw_pool_close(&load->residual);
}

enum gw_status gw_overlap_load_run(void *context, struct gw_error *error) {
    struct gw_overlap_load *load = context;
    if (load->stream != NULL) {
        return compress_series(load, error);
    }
    GW_TRY(compress_next(load, error));
    return clear_residual(load, error);
}

double gw_overlap_load_took_s(void *context) {
    const struct gw_overlap_load *load = context;
    return load->seconds;
}
