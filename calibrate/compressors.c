#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/pool.h"
#include "calibrate/settle.h"
#include "calibrate/subjects.h"
#include "kernels/kernels.h"

static const size_t smallest_elements = 1024;

/*
 * In execution the thread that compresses has just waited for the accelerator, and finds its core
 * cold. Without this, three validations of the sparse pipelines were 1 to 5% too fast; with it,
 * from 3% too fast to 2% too slow (ResNet-50, two ranks on two cores, then with 5 ms). Processors
 * go to their deepest sleep in less than 1 ms.
 */
static const double idle_s = 0.002;

static const size_t least_pool = 8 << 20; /* elements: more than caches hold */

/* What compressors share. */
struct gw_compressor_series {
    struct gw_pool gradient, residual; /* the residual is all zeros between repeats */
    size_t *layers; /* [2 / density]: of about k elements each, for layer-drop to choose from */
    double density;
    double longest_settling_s;
    struct gw_workspace workspace;
    struct gw_selection selection;
    struct compression *items; /* [count] */
    size_t count;
};

enum { MOST_SIZES = 64 };

struct compression {
    struct gw_compressor_series *all;
    const struct gw_compressor *compressor;
    /* One for each size. Their states live from visit to visit: what they have learnt, stays. */
    struct gw_task tasks[MOST_SIZES];
    size_t task_count;
    struct gw_task *task; /* of the size that is measured */
};

/* ---- one repeat ---------------------------------------------------------------------------- */

static enum gw_status run_compression(void *context, struct gw_error *error) {
    struct compression *compression = context;
    struct gw_compressor_series *all = compression->all;
    struct gw_task *task = compression->task;
    task->u = gw_pool_next(&all->residual, task->n * sizeof(float));
    task->gradient = gw_pool_next(&all->gradient, task->n * sizeof(float));
    return gw_compress(compression->compressor, task, &all->selection, error);
}

/*
 * Residuals would grow over the repeats, and with them what a fixed threshold selects, to many
 * times what was asked for.
 */
static void restore(void *context) {
    struct compression *compression = context;
    struct gw_task *task = compression->task;
    memset(task->u, 0, task->n * sizeof *task->u);
    if (compression->compressor->observe != NULL) {
        compression->compressor->observe(task->state, &compression->all->selection.count);
    }
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

static enum gw_status open_size(struct compression *compression, struct gw_task *task,
                                size_t elements, struct gw_error *error) {
    struct gw_compressor_series *all = compression->all;
    *task = gw_pool_task(elements, all->density, &all->workspace);
    lay_out_layers(all, task);
    if (compression->compressor->open != NULL) {
        GW_TRY(compression->compressor->open(task, &task->state, error));
    }
    compression->task_count++;
    if (compression->compressor->open == NULL) {
        return GW_OK;
    }
    task->u = all->gradient.data;
    return gw_settle(compression->compressor, task, &all->selection, all->longest_settling_s,
                     error);
}

static enum gw_status prepare(void *context, size_t elements, struct gw_error *error) {
    struct compression *compression = context;
    size_t i = 0;
    while (i < compression->task_count && compression->tasks[i].n != elements) {
        i++;
    }
    if (i == MOST_SIZES) {
        return gw_fail(error, GW_FAILED, "%s: expected at most %d sizes",
                       compression->compressor->name, MOST_SIZES);
    }
    compression->task = &compression->tasks[i];
    if (i < compression->task_count) {
        lay_out_layers(compression->all, compression->task);
        return GW_OK;
    }
    return open_size(compression, &compression->tasks[i], elements, error);
}

static void close_sizes(struct compression *compression) {
    for (size_t i = 0; i < compression->task_count; i++) {
        if (compression->compressor->close != NULL) {
            compression->compressor->close(compression->tasks[i].state);
        }
    }
}

/* ---- all ----------------------------------------------------------------------------------- */

static enum gw_status add(struct compression *compression, int workers,
                          const struct gw_calibration *calibration, struct gw_series_list *list,
                          struct gw_error *error) {
    static const enum gw_curve_shape shapes[] = {GW_STRAIGHT, GW_NLOG2N};
    const struct gw_series series = {.workers = workers,
                                     .subject = {.name = compression->compressor->name,
                                                 .size_key = "elements",
                                                 .smallest = smallest_elements,
                                                 .largest = calibration->max_elements,
                                                 .prepare = prepare,
                                                 .run = run_compression,
                                                 .restore = restore,
                                                 .context = compression,
                                                 .separate = true,
                                                 .idle_s = idle_s,
                                                 .shapes = shapes,
                                                 .shape_count = 2}};
    return gw_series_list_add(list, series, error);
}

static enum gw_status open_pools(struct gw_compressor_series *all, int rank,
                                 const struct gw_calibration *calibration, struct gw_error *error) {
    size_t twice = 2 * calibration->max_elements;
    size_t bytes = (twice > least_pool ? twice : least_pool) * sizeof(float);
    all->layers = malloc(most_layers(calibration) * sizeof(size_t));
    if (all->items == NULL || all->layers == NULL) {
        return gw_fail_memory(error, "calibrating compressors");
    }
    GW_TRY(gw_pool_open(bytes, &all->gradient, error));
    GW_TRY(gw_pool_open(bytes, &all->residual, error));
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
        struct compression *compression = &all->items[all->count++];
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
    gw_selection_free(&all->selection);
    gw_workspace_free(&all->workspace);
    free(all);
}
