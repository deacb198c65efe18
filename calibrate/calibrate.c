#include "calibrate/calibrate.h"

#include "calibrate/subjects.h"

struct gw_calibration gw_calibration_defaults(void) {
    return (struct gw_calibration){.name = "calibrated",
                                   .command = "",
                                   .version = "",
                                   .max_bytes = 16 << 20,
                                   .max_elements = 1 << 24,
                                   .density = 0.001,
                                   .compressors = gw_compressors,
                                   .network = true,
                                   .precision = 0.02,
                                   .max_s_per_point = 0.5};
}

struct bar {
    struct gw_progress progress;
    bool speaks; /* rank 0 */
};

static void draw(void *context, double share, const char *what) {
    struct bar *bar = context;
    gw_progress_update(&bar->progress, share, what);
    if (bar->speaks) {
        gw_log(GW_LOG_VERBOSE, "measuring %s", what);
    }
}

static enum gw_status measure_all(struct gw_communicator *communicator,
                                  const struct gw_calibration *calibration,
                                  struct gw_cluster *cluster, struct gw_error *error) {
    bool speaks = communicator->rank == 0;
    struct bar bar = {.progress = gw_progress_begin("calibrate", speaks), .speaks = speaks};
    struct gw_report report = {.tell = draw, .context = &bar, .scale = 0.45};
    enum gw_status status =
        gw_calibrate_collectives(communicator, calibration, &report, cluster, error);
    report.offset = 0.45;
    report.scale = 0.05;
    if (status == GW_OK && calibration->network && communicator->size > 1) {
        status = gw_calibrate_network(communicator, calibration, &report, cluster, error);
    }
    report.offset = 0.5;
    report.scale = 0.5;
    if (status == GW_OK) {
        status = gw_calibrate_compressors(communicator, calibration, &report, cluster, error);
    }
    gw_progress_end(&bar.progress);
    return status;
}

enum gw_status gw_calibrate(struct gw_communicator *communicator,
                            const struct gw_calibration *calibration, struct gw_cluster *out,
                            struct gw_error *error) {
    GW_TRY(gw_cluster_create(out, calibration->name, (size_t)communicator->size, 1, error));
    enum gw_status status = gw_put_provenance(communicator, calibration, out, error);
    if (status == GW_OK) {
        status = measure_all(communicator, calibration, out, error);
    }
    if (status != GW_OK) {
        gw_cluster_free(out);
    }
    return status;
}
