#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/curves.h"
#include "calibrate/subjects.h"
#include "kernels/kernels.h"

static const size_t smallest_elements = 1024;
enum { MOST_SIZES = 40 };

/* One compressor at one size, each time on another part of the gradient, as in collectives.c. */
struct compression {
    const struct gw_compressor *compressor;
    float *gradient, *residual;
    size_t pool_elements;
    size_t elements, kept, position;
    struct gw_workspace workspace;
    struct gw_entry *entries;
};

static enum gw_status run_compression(void *context, struct gw_error *error) {
    struct compression *compression = context;
    if (compression->position + compression->elements > compression->pool_elements) {
        compression->position = 0;
    }
    size_t part = compression->position;
    compression->position += compression->elements;
    return gw_compress(compression->compressor, compression->gradient + part,
                       compression->residual + part, compression->elements, compression->kept,
                       &compression->workspace, compression->entries, error);
}

static enum gw_status calibrate_one(struct gw_communicator *communicator,
                                    struct compression *compression,
                                    const struct gw_calibration *calibration,
                                    const struct gw_report *report, struct gw_cluster *cluster,
                                    struct gw_error *error) {
    static const enum gw_curve_shape shapes[] = {GW_STRAIGHT, GW_NLOG2N};
    struct gw_measurement measurements[MOST_SIZES];
    size_t count = 0;
    double total = 0;
    for (size_t n = smallest_elements; n <= calibration->max_elements; n *= 2) {
        total++;
    }
    for (size_t n = smallest_elements; n <= calibration->max_elements && count < MOST_SIZES;
         n *= 2) {
        char what[64];
        char size[GW_UNITS_SIZE];
        snprintf(what, sizeof what, "%s, %s elements", compression->compressor->name,
                 gw_format_count((double)n, size));
        report->tell(report->context, (double)count / total, what);
        compression->elements = n;
        compression->kept = gw_elements_kept(n, calibration->density);
        compression->position = 0;
        struct gw_measurement *measurement = &measurements[count++];
        measurement->size = (double)n;
        GW_TRY(gw_measure(communicator, calibration, run_compression, compression, measurement,
                          error));
    }
    struct gw_curve curve;
    cJSON *details = NULL;
    GW_TRY(gw_choose_curve(measurements, count, shapes, 2, "elements", &curve, &details, error));
    return gw_cluster_add_compressor(cluster, compression->compressor->name, curve, details, error);
}

static enum gw_status calibrate_all(struct gw_communicator *communicator,
                                    struct compression *compression,
                                    const struct gw_calibration *calibration,
                                    const struct gw_report *report, struct gw_cluster *cluster,
                                    struct gw_error *error) {
    GW_TRY(gw_gradient_fill(compression->gradient, compression->pool_elements, 1e-3, 1,
                            (uint64_t)communicator->rank, error));
    for (size_t i = 0; gw_compressors[i] != NULL; i++) {
        compression->compressor = gw_compressors[i];
        memset(compression->residual, 0, compression->pool_elements * sizeof(float));
        GW_TRY(calibrate_one(communicator, compression, calibration, report, cluster, error));
    }
    return GW_OK;
}

enum gw_status gw_calibrate_compressors(struct gw_communicator *communicator,
                                        const struct gw_calibration *calibration,
                                        const struct gw_report *report, struct gw_cluster *cluster,
                                        struct gw_error *error) {
    struct compression compression = {.pool_elements = 2 * calibration->max_elements};
    size_t most_kept = gw_elements_kept(calibration->max_elements, calibration->density);
    compression.gradient = malloc(compression.pool_elements * sizeof(float));
    compression.residual = malloc(compression.pool_elements * sizeof(float));
    compression.entries = malloc(most_kept * sizeof *compression.entries);
    enum gw_status status =
        compression.gradient == NULL || compression.residual == NULL || compression.entries == NULL
            ? gw_fail_memory(error, "calibrating compressors")
            : calibrate_all(communicator, &compression, calibration, report, cluster, error);
    free(compression.gradient);
    free(compression.residual);
    free(compression.entries);
    gw_workspace_free(&compression.workspace);
    return status;
}
