#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/settle.h"
#include "calibrate/subjects.h"
#include "kernels/kernels.h"

static const size_t smallest_elements = 1024;

/*
 * In execution the thread that compresses has just waited for the accelerator, and finds its core
 * cold. Without this, three validations of the sparse pipelines were 1 to 5% too fast; with it,
 * from 3% too fast to 2% too slow (ResNet-50, two ranks on two cores).
 */
static const double idle_s = 0.005;

static const double gradient_deviation = 1e-3;
static const double longest_settling_s = 0.5;

/* One compressor at one size, each time on another part of the gradient, as in collectives.c. */
struct compression {
    const struct gw_compressor *compressor;
    float *gradient, *residual;
    size_t pool_elements;
    size_t position; /* of the part that is next */
    size_t *layers;  /* [2 / density]: of about k elements each, for layer-drop to choose from */
    double density;
    struct gw_task task;
    struct gw_workspace workspace;
    struct gw_selection selection;
};

static void close_state(struct compression *compression) {
    if (compression->task.state != NULL) {
        compression->compressor->close(compression->task.state);
        compression->task.state = NULL;
    }
}

static enum gw_status run_compression(void *context, struct gw_error *error) {
    struct compression *compression = context;
    struct gw_task *task = &compression->task;
    if (compression->position + task->n > compression->pool_elements) {
        compression->position = 0;
    }
    task->u = compression->residual + compression->position;
    task->gradient = compression->gradient + compression->position;
    compression->position += task->n;
    return gw_compress(compression->compressor, task, &compression->selection, error);
}

/*
 * Residuals would grow over the repeats, and with them what a fixed threshold selects, to many
 * times what was asked for.
 */
static void restore(void *context) {
    struct compression *compression = context;
    memset(compression->task.u, 0, compression->task.n * sizeof *compression->task.u);
    if (compression->compressor->observe != NULL) {
        compression->compressor->observe(compression->task.state, &compression->selection.count);
    }
    compression->task.iteration++;
}

static void lay_out_layers(struct compression *compression) {
    struct gw_task *task = &compression->task;
    task->layer_count = task->n / task->k;
    task->layers = compression->layers;
    for (size_t i = 0; i < task->layer_count; i++) {
        compression->layers[i] = task->k + (i == 0 ? task->n % task->k : 0);
    }
}

/* n / k: k is at least half of density n, if that is 1 or more, and at least 1. */
static size_t most_layers(const struct gw_calibration *calibration) {
    return (size_t)fmin(2 / calibration->density, (double)calibration->max_elements) + 1;
}

static enum gw_status prepare(void *context, size_t elements, struct gw_error *error) {
    struct compression *compression = context;
    struct gw_task *task = &compression->task;
    close_state(compression);
    *task = (struct gw_task){.n = elements,
                             .k = gw_elements_kept(elements, compression->density),
                             .workspace = &compression->workspace};
    double tail = (double)task->k / (2 * (double)elements);
    task->threshold = gradient_deviation * gsl_cdf_ugaussian_Qinv(tail);
    lay_out_layers(compression);
    if (compression->compressor->open == NULL) {
        return GW_OK;
    }
    GW_TRY(compression->compressor->open(task, &task->state, error));
    task->u = compression->gradient;
    return gw_settle(compression->compressor, task, &compression->selection, longest_settling_s,
                     error);
}

static enum gw_status calibrate_one(struct gw_communicator *communicator,
                                    struct compression *compression,
                                    const struct gw_calibration *calibration,
                                    const struct gw_report *report, struct gw_cluster *cluster,
                                    struct gw_error *error) {
    static const enum gw_curve_shape shapes[] = {GW_STRAIGHT, GW_NLOG2N};
    struct gw_subject subject = {.name = compression->compressor->name,
                                 .size_key = "elements",
                                 .smallest = smallest_elements,
                                 .largest = calibration->max_elements,
                                 .prepare = prepare,
                                 .run = run_compression,
                                 .restore = restore,
                                 .context = compression,
                                 .idle_s = idle_s,
                                 .shapes = shapes,
                                 .shape_count = 2};
    struct gw_curve curve;
    cJSON *details = NULL;
    enum gw_status status =
        gw_measure_curve(communicator, calibration, &subject, report, &curve, &details, error);
    close_state(compression);
    GW_TRY(status);
    return gw_cluster_add_compressor(cluster, subject.name, curve, details, error);
}

static enum gw_status calibrate_all(struct gw_communicator *communicator,
                                    struct compression *compression,
                                    const struct gw_calibration *calibration,
                                    const struct gw_report *report, struct gw_cluster *cluster,
                                    struct gw_error *error) {
    GW_TRY(gw_gradient_fill(compression->gradient, compression->pool_elements, gradient_deviation,
                            1, (uint64_t)communicator->rank, error));
    size_t count = 0;
    while (calibration->compressors[count] != NULL) {
        count++;
    }
    for (size_t i = 0; i < count; i++) {
        struct gw_report part = *report;
        part.scale = report->scale / (double)count;
        part.offset = report->offset + part.scale * (double)i;
        compression->compressor = calibration->compressors[i];
        memset(compression->residual, 0, compression->pool_elements * sizeof(float));
        GW_TRY(calibrate_one(communicator, compression, calibration, &part, cluster, error));
    }
    return GW_OK;
}

enum gw_status gw_calibrate_compressors(struct gw_communicator *communicator,
                                        const struct gw_calibration *calibration,
                                        const struct gw_report *report, struct gw_cluster *cluster,
                                        struct gw_error *error) {
    struct compression compression = {.pool_elements = 2 * calibration->max_elements,
                                      .density = calibration->density};
    compression.gradient = malloc(compression.pool_elements * sizeof(float));
    compression.residual = malloc(compression.pool_elements * sizeof(float));
    compression.layers = malloc(most_layers(calibration) * sizeof(size_t));
    enum gw_status status =
        compression.gradient == NULL || compression.residual == NULL || compression.layers == NULL
            ? gw_fail_memory(error, "calibrating compressors")
            : calibrate_all(communicator, &compression, calibration, report, cluster, error);
    free(compression.gradient);
    free(compression.residual);
    free(compression.layers);
    gw_selection_free(&compression.selection);
    gw_workspace_free(&compression.workspace);
    return status;
}
