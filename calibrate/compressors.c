#include <stdlib.h>
#include <string.h>

#include "calibrate/subjects.h"
#include "kernels/kernels.h"

static const size_t smallest_elements = 1024;

/*
 * In execution the thread that compresses has just waited for the accelerator, and finds its core
 * cold. Without this, three validations of the sparse pipelines were 1 to 5% too fast; with it,
 * from 3% too fast to 2% too slow (ResNet-50, two ranks on two cores).
 */
static const double idle_s = 0.005;

/* One compressor at one size, each time on another part of the gradient, as in collectives.c. */
struct compression {
    const struct gw_compressor *compressor;
    float *gradient, *residual;
    size_t pool_elements;
    size_t elements, kept, position;
    double density;
    struct gw_workspace workspace;
    struct gw_selection selection;
};

static enum gw_status run_compression(void *context, struct gw_error *error) {
    struct compression *compression = context;
    if (compression->position + compression->elements > compression->pool_elements) {
        compression->position = 0;
    }
    size_t part = compression->position;
    compression->position += compression->elements;
    struct gw_task task = {.u = compression->residual + part,
                           .gradient = compression->gradient + part,
                           .n = compression->elements,
                           .k = compression->kept,
                           .workspace = &compression->workspace};
    return gw_compress(compression->compressor, &task, &compression->selection, error);
}

static void prepare(void *context, size_t elements) {
    struct compression *compression = context;
    compression->elements = elements;
    compression->kept = gw_elements_kept(elements, compression->density);
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
                                 .context = compression,
                                 .idle_s = idle_s,
                                 .shapes = shapes,
                                 .shape_count = 2};
    struct gw_curve curve;
    cJSON *details = NULL;
    GW_TRY(gw_measure_curve(communicator, calibration, &subject, report, &curve, &details, error));
    return gw_cluster_add_compressor(cluster, subject.name, curve, details, error);
}

static enum gw_status calibrate_all(struct gw_communicator *communicator,
                                    struct compression *compression,
                                    const struct gw_calibration *calibration,
                                    const struct gw_report *report, struct gw_cluster *cluster,
                                    struct gw_error *error) {
    GW_TRY(gw_gradient_fill(compression->gradient, compression->pool_elements, 1e-3, 1,
                            (uint64_t)communicator->rank, error));
    size_t count = 0;
    while (gw_compressors[count] != NULL) {
        count++;
    }
    for (size_t i = 0; i < count; i++) {
        struct gw_report part = *report;
        part.scale = report->scale / (double)count;
        part.offset = report->offset + part.scale * (double)i;
        compression->compressor = gw_compressors[i];
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
    enum gw_status status =
        compression.gradient == NULL || compression.residual == NULL
            ? gw_fail_memory(error, "calibrating compressors")
            : calibrate_all(communicator, &compression, calibration, report, cluster, error);
    free(compression.gradient);
    free(compression.residual);
    gw_selection_free(&compression.selection);
    gw_workspace_free(&compression.workspace);
    return status;
}
