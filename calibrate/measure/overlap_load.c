/* Compression that runs while exchanges are measured, for their overlap. */
#include <string.h>

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

static void next_task(struct gw_overlap_load *load) {
    load->task.gradient = gw_pool_next(&load->gradient, load->elements * sizeof(float));
    load->task.u = gw_pool_next(&load->residual, load->elements * sizeof(float));
}

static enum gw_status compress_series(struct gw_overlap_load *load, struct gw_error *error) {
    size_t selected = 0;
    double sum_s = 0;
    for (size_t i = 0; i < GW_OVERLAP_SERIES; i++) {
        next_task(load);
        GW_TRY(gw_device_event_record(load->from[i], load->stream, error));
        GW_TRY(gw_gpu_compress(load->gpu, &load->task, load->stream, load->gpu_workspace,
                               &load->gpu_selection, error));
        GW_TRY(gw_device_event_record(load->to[i], load->stream, error));
        GW_TRY(gw_device_clear(load->stream, load->task.u, load->elements * sizeof *load->task.u,
                               error));
    }
    GW_TRY(gw_gpu_selection_finish(&load->gpu_selection, load->stream, &selected, error));
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
    *out = (struct gw_overlap_load){.device = device};
    out->elements =
        gw_lesser(device == NULL ? group_elements : gpu_group_elements, calibration->max_elements);
    out->task = gw_pool_task(out->elements, calibration->density, &out->workspace);
    /* A group with repeated values would have ties that gradients do not have. */
    size_t drawn = gw_greater(GW_OVERLAP_MIN_POOL, out->elements * sizeof(float));
    size_t bytes = gw_greater(drawn, cached);
    GW_TRY(gw_pool_open(bytes, device, &out->gradient, error));
    GW_TRY(gw_pool_open(bytes, device, &out->residual, error));
    GW_TRY(gw_pool_fill(&out->gradient, drawn, rank, error));
    if (device == NULL) {
        return GW_OK;
    }
    GW_TRY(gw_device_stream_open(device, false, &out->stream, error));
    for (size_t i = 0; i < GW_OVERLAP_SERIES; i++) {
        GW_TRY(gw_device_event_open(device, true, &out->from[i], error));
        GW_TRY(gw_device_event_open(device, true, &out->to[i], error));
    }
    GW_TRY(gw_gpu_workspace_open(device, &out->gpu_workspace, error));
    return gw_gpu_selection_reserve(&out->gpu_selection, device, out->elements, error);
}

void gw_overlap_load_close(struct gw_overlap_load *load) {
    if (load->device != NULL) {
        gw_gpu_selection_free(&load->gpu_selection);
        gw_gpu_workspace_close(load->gpu_workspace);
        for (size_t i = 0; i < GW_OVERLAP_SERIES; i++) {
            gw_device_event_close(load->from[i]);
            gw_device_event_close(load->to[i]);
        }
        gw_device_stream_close(load->stream);
    }
    gw_pool_close(&load->gradient);
    gw_pool_close(&load->residual);
    gw_selection_free(&load->selection);
    gw_workspace_free(&load->workspace);
}

void gw_overlap_load_choose(struct gw_overlap_load *load, const struct gw_compressor *compressor) {
    load->compressor = compressor;
    load->gpu = gw_gpu_kernel_of(compressor);
}

enum gw_status gw_overlap_load_run(void *context, struct gw_error *error) {
    struct gw_overlap_load *load = context;
    if (load->device != NULL) {
        return compress_series(load, error);
    }
    next_task(load);
    GW_TRY(gw_compress(load->compressor, &load->task, &load->selection, error));
    /* A residual would make a threshold select more each time. */
    memset(load->task.u, 0, load->elements * sizeof *load->task.u);
    return GW_OK;
}

double gw_overlap_load_took_s(void *context) {
    const struct gw_overlap_load *load = context;
    return load->seconds;
}
