#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/measure/compressions.h"
#include "calibrate/measure/settle.h"
#include "kernels/kernels.h"

static const size_t smallest_elements = 1024;

/*
 * In execution the thread that compresses has just waited for the accelerator, and finds its core
 * cold. Without this, three validations of the sparse pipelines were 1 to 5% too fast; with it,
 * from 3% too fast to 2% too slow (ResNet-50, two ranks on two cores, then with 5 ms). Processors
 * go to their deepest sleep in less than 1 ms.
 */
static const double idle_s = 0.002;

/* ---- one repeat ---------------------------------------------------------------------------- */

static enum gw_status run_compression(void *context, struct gw_error *error) {
    struct gw_compression *compression = context;
    struct gw_compressor_series *all = compression->all;
    struct gw_task *task = compression->task;
    task->u = gw_pool_next(&all->residual, task->n * sizeof(float));
    task->gradient = gw_pool_next(&all->gradient, task->n * sizeof(float));
    if (compression->gpu != NULL) {
        return gw_compression_run_gpu(compression, error);
    }
    GW_TRY(gw_compress(compression->compressor, task, &all->selection, error));
    compression->selected = all->selection.count;
    return GW_OK;
}

/*
 * Residuals would grow over the repeats, and with them what a fixed threshold selects, to many
 * times what was asked for.
 */
static void restore(void *context) {
    struct gw_compression *compression = context;
    struct gw_task *task = compression->task;
    if (compression->gpu != NULL) {
        gw_compression_clear_gpu(compression);
    } else {
        memset(task->u, 0, task->n * sizeof *task->u);
    }
    gw_state_observe(compression->compressor, task->state, &compression->selected);
    task->iteration++;
}

/* ---- sizes --------------------------------------------------------------------------------- */

static void lay_out_layers(struct gw_compressor_series *all, struct gw_task *task) {
    task->layer_count = task->n / task->k;
    task->layers = all->layers;
    for (size_t i = 0; i < task->layer_count; i++) {
        all->layers[i] = task->k + (i == 0 ? task->n % task->k : 0);
    }
}

/* n / k: k is at least half of density n, if that is 1 or more, and at least 1. */
static size_t most_layers(const struct gw_calibration *calibration) {
    return (size_t)fmin(2 / calibration->density, (double)calibration->max_elements) + 1;
}

static enum gw_status open_size(struct gw_compression *compression, struct gw_task *task,
                                size_t elements, struct gw_error *error) {
    struct gw_compressor_series *all = compression->all;
    *task = gw_pool_task(elements, all->density, &all->workspace);
    lay_out_layers(all, task);
    GW_TRY(gw_state_open(compression->compressor, task, &task->state, error));
    compression->task_count++;
    if (!compression->compressor->stateful) {
        return GW_OK;
    }
    task->u = all->gradient.data;
    const struct gw_selecting on_gpu = {.select = gw_compression_select_gpu,
                                        .context = compression};
    return compression->gpu != NULL
               ? gw_settle(compression->compressor, task, &on_gpu, all->longest_settling_s, error)
               : gw_settle_on_cpu(compression->compressor, task, &all->selection,
                                  all->longest_settling_s, error);
}

static enum gw_status prepare(void *context, size_t elements, struct gw_error *error) {
    struct gw_compression *compression = context;
    size_t i = 0;
    while (i < compression->task_count && compression->tasks[i].n != elements) {
        i++;
    }
    if (i == GW_MOST_COMPRESSION_SIZES) {
        return gw_fail(error, GW_FAILED, "%s: expected at most %d sizes",
                       compression->compressor->name, GW_MOST_COMPRESSION_SIZES);
    }
    compression->task = &compression->tasks[i];
    if (i < compression->task_count) {
        lay_out_layers(compression->all, compression->task);
        return GW_OK;
    }
    return open_size(compression, &compression->tasks[i], elements, error);
}

static void close_sizes(struct gw_compression *compression) {
    for (size_t i = 0; i < compression->task_count; i++) {
        gw_state_close(compression->compressor, compression->tasks[i].state);
    }
}

/* ---- all ----------------------------------------------------------------------------------- */

static enum gw_status find_gpu(struct gw_compression *compression, struct gw_error *error) {
    compression->gpu = gw_gpu_kernel_of(compression->compressor);
    return compression->gpu != NULL
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "%s: expected a compressor that there is for GPUs",
                         compression->compressor->name);
}

static enum gw_status add(struct gw_compression *compression, int workers,
                          const struct gw_calibration *calibration, struct gw_series_list *list,
                          struct gw_error *error) {
    /* Of a GPU, which sorts nothing by comparing, the first alone. */
    static const enum gw_curve_shape shapes[] = {GW_STRAIGHT, GW_NLOG2N};
    bool on_gpu = calibration->device != NULL;
    GW_TRY(on_gpu ? find_gpu(compression, error) : GW_OK);
    const struct gw_series series = {.workers = workers,
                                     .subject = {.name = compression->compressor->name,
                                                 .size_key = "elements",
                                                 .smallest = smallest_elements,
                                                 .largest = calibration->max_elements,
                                                 .prepare = prepare,
                                                 .run = run_compression,
                                                 .restore = restore,
                                                 .took_s = on_gpu ? gw_compression_took_s : NULL,
                                                 .context = compression,
                                                 .separate = true,
                                                 .idle_s = on_gpu ? 0 : idle_s,
                                                 .shapes = shapes,
                                                 .shape_count = on_gpu ? 1 : 2}};
    return gw_series_list_add(list, series, error);
}

static enum gw_status open_pools(struct gw_compressor_series *all, int rank,
                                 const struct gw_calibration *calibration, struct gw_error *error) {
    size_t twice = 2 * calibration->max_elements * sizeof(float);
    size_t quarter = calibration->pool_bytes / 4; /* by default more than caches hold */
    size_t bytes = twice > quarter ? twice : quarter;
    all->layers = malloc(most_layers(calibration) * sizeof(size_t));
    if (all->items == NULL || all->layers == NULL) {
        return gw_fail_memory(error, "calibrating compressors");
    }
    GW_TRY(calibration->device != NULL ? gw_compressions_open_gpu(all, calibration, error) : GW_OK);
    GW_TRY(gw_pool_open(bytes, calibration->device, &all->gradient, error));
    GW_TRY(gw_pool_open(bytes, calibration->device, &all->residual, error));
    return gw_pool_fill(&all->gradient, bytes, rank, error);
}

enum gw_status gw_compressor_series_open(struct gw_communicator *communicator,
                                         const struct gw_calibration *calibration,
                                         struct gw_series_list *list,
                                         struct gw_compressor_series **out,
                                         struct gw_error *error) {
    size_t count = 0;
    *out = NULL;
    while (calibration->compressors[count] != NULL) {
        count++;
    }
    if (count == 0) {
        return GW_OK;
    }
    struct gw_compressor_series *all = calloc(1, sizeof *all);
    if (all == NULL) {
        return gw_fail_memory(error, "calibrating compressors");
    }
    *out = all;
    all->density = calibration->density;
    all->longest_settling_s = fmin(fmax(calibration->time_s / 300, 0.03), 0.5);
    all->items = calloc(count, sizeof *all->items);
    enum gw_status status = open_pools(all, communicator->rank, calibration, error);
    for (size_t i = 0; i < count && status == GW_OK; i++) {
        struct gw_compression *compression = &all->items[all->count++];
        compression->all = all;
        compression->compressor = calibration->compressors[i];
        status = add(compression, communicator->size, calibration, list, error);
    }
    if (status != GW_OK) {
        gw_compressor_series_close(all);
        *out = NULL;
    }
    return status;
}

void gw_compressor_series_close(struct gw_compressor_series *all) {
    if (all == NULL) {
        return;
    }
    for (size_t i = 0; i < all->count; i++) {
        close_sizes(&all->items[i]);
    }
    gw_pool_close(&all->gradient);
    gw_pool_close(&all->residual);
    free(all->layers);
    free(all->items);
    gw_compressions_close_gpu(all);
    gw_selection_free(&all->selection);
    gw_workspace_free(&all->workspace);
    free(all);
}
