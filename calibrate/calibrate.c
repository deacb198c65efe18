#include "calibrate/calibrate.h"

#include <math.h>
#include <stdlib.h>

#include "calibrate/fit/fit.h"
#include "calibrate/hosts/hosts.h"
#include "calibrate/measure/journal.h"
#include "calibrate/measure/messages.h"
#include "calibrate/measure/overlap.h"
#include "calibrate/measure/points.h"
#include "calibrate/measure/survey.h"
#include "calibrate/report.h"

/* ---- settings ------------------------------------------------------------------------------ */

struct gw_calibration gw_calibration_defaults(void) {
    return (struct gw_calibration){.name = "calibrated",
                                   .command = "",
                                   .version = "",
                                   .max_bytes = 16 << 20,
                                   .max_elements = 1 << 24,
                                   .per_factor_four = 2,
                                   .pool_bytes = 128 << 20, /* about the size of gradients */
                                   .density = GW_USUAL_DENSITY,
                                   .collectives = gw_calibrated_collectives,
                                   .compressors = gw_compressors,
                                   .aggregation = true,
                                   .network = true,
                                   .overlap = true,
                                   .precision = 0.02,
                                   .max_s_per_point = 10,
                                   .time_s = 55,
                                   .seed = 1,
                                   .clock = &gw_machine_clock};
}

void gw_calibration_make_quick(struct gw_calibration *calibration) {
    calibration->max_bytes = 1 << 20;
    calibration->max_elements = 1 << 20;
    calibration->per_factor_four = 1;
    calibration->time_s = 10;
}

void gw_calibration_make_thorough(struct gw_calibration *calibration) {
    calibration->max_bytes = 64 << 20;
    calibration->max_elements = 1 << 25;
    calibration->per_factor_four = 4;
    calibration->precision = 0.01;
    calibration->max_s_per_point = 30;
    calibration->time_s = 300;
}

/* ---- curves -------------------------------------------------------------------------------- */

static enum gw_status add_curve(const struct gw_point_survey *survey, size_t which,
                                const struct gw_measurement *measurements, size_t count,
                                struct gw_cluster *cluster, struct gw_error *error) {
    const struct gw_series *series = &survey->list.items[which];
    struct gw_curve curve;
    cJSON *details = NULL;
    GW_TRY(gw_choose_curve(&series->subject, measurements, count, &curve, &details, error));
    const char *name = series->subject.name;
    struct gw_kernel_costs *costs =
        series->aggregates ? &cluster->aggregation : &cluster->compressors;
    if (series->together || series->denser_of != NULL) {
        const struct gw_kernel_curve at = {series->together,
                                           {series->densities[0], series->densities[1]}};
        return gw_kernel_costs_add_curve(
            costs, series->denser_of != NULL ? series->denser_of : name, at, curve, details, error);
    }
    return series->subject.separate
               ? gw_kernel_costs_add(costs, name, curve, details, error)
               : gw_cluster_add_collective(cluster, name, (size_t)series->workers, curve, details,
                                           error);
}

/* Called on rank 0. */
static enum gw_status fit_and_add_curves(const struct gw_point_survey *survey,
                                         struct gw_cluster *cluster, struct gw_error *error) {
    const struct gw_points *points = &survey->points;
    enum gw_status status = GW_OK;
    struct gw_measurement *measurements = calloc(points->count + 1, sizeof *measurements);
    if (measurements == NULL) {
        return gw_fail_memory(error, "fitting curves");
    }
    for (size_t i = 0; i < points->count && status == GW_OK;) {
        size_t series = points->items[i].series;
        size_t count = 0;
        for (; i < points->count && points->items[i].series == series && status == GW_OK; i++) {
            if (points->items[i].state != GW_POINT_LEFT_OUT) {
                status = gw_point_measurement(&points->items[i], &survey->rule,
                                              &measurements[count++], error);
            }
        }
        if (status == GW_OK) {
            status = add_curve(survey, series, measurements, count, cluster, error);
        }
        const struct gw_series *added = &survey->list.items[series];
        if (status == GW_OK && added->subject.ends_straight && !added->of_fewer) {
            status = gw_warn_of_sizes(
                added->subject.name, measurements[count - 1].size, (double)added->subject.largest,
                cJSON_GetObjectItemCaseSensitive(cluster->kept, "source"), error);
        }
    }
    free(measurements);
    return status == GW_OK ? gw_cluster_put_growth(cluster, error) : status;
}

/* ---- the journal --------------------------------------------------------------------------- */

/* Rank 0 opens the journal; all ranks learn whether it succeeded. */
static enum gw_status open_journal(const struct gw_calibration *calibration,
                                   struct gw_point_survey *survey, struct gw_journal *out,
                                   struct gw_error *error) {
    struct gw_journal_title title = {
        .request = gw_fingerprint_add_text(gw_fingerprint_start, calibration->version),
        .hosts = gw_fingerprint_start,
        .point_count = survey->points.count};
    uint64_t *request = &title.request;
    *request = gw_fingerprint_add(*request, &calibration->density, sizeof calibration->density);
    for (size_t i = 0; i < survey->points.count; i++) {
        const struct gw_measured_point *point = &survey->points.items[i];
        const struct gw_series *series = &survey->list.items[point->series];
        *request = gw_fingerprint_add_text(*request, series->subject.name);
        *request = gw_fingerprint_add(*request, &series->workers, sizeof series->workers);
        *request = gw_fingerprint_add(*request, &point->size, sizeof point->size);
    }
    struct gw_host_list list;
    GW_TRY(gw_host_list_open(survey->communicator, &list, error));
    for (int rank = 0; rank < survey->communicator->size; rank++) { /* the host of each */
        title.hosts = gw_fingerprint_add_text(title.hosts, list.names[list.host_of[rank]]);
    }
    gw_host_list_close(&list);
    enum gw_status status = GW_OK;
    if (survey->communicator->rank == 0) {
        status = gw_journal_open(calibration->journal, &title, calibration->resume, &survey->points,
                                 &survey->rule, out, error);
    }
    return gw_agree(survey->communicator, status, error);
}

/* ---- measuring ----------------------------------------------------------------------------- */

static const double backward_share = 0.25; /* of the time for overlap, if a backward pass is
                                            * measured */

/* The time for messages, out of the whole; enough in most cases. */
static double network_share_s(const struct gw_communicator *communicator,
                              const struct gw_calibration *calibration) {
    return calibration->network && communicator->size > 1 ? fmin(3, calibration->time_s / 20) : 0;
}

static double overlap_share_s(const struct gw_communicator *communicator,
                              const struct gw_calibration *calibration) {
    double share = calibration->backward == NULL ? 0.05 : backward_share;
    return calibration->overlap && communicator->size > 1 ? share * calibration->time_s : 0;
}

static enum gw_status run_survey(const struct gw_calibration *calibration, double started_s,
                                 const struct gw_report *report, struct gw_point_survey *survey,
                                 struct gw_error *error) {
    struct gw_journal journal = {.descriptor = -1};
    enum gw_status status = open_journal(calibration, survey, &journal, error);
    if (status == GW_OK) {
        double finishing_s = fmax(0.02 * calibration->time_s, 0.5); /* fitting, writing */
        double left_s = calibration->time_s - finishing_s -
                        network_share_s(survey->communicator, calibration) -
                        overlap_share_s(survey->communicator, calibration) -
                        (gw_clock_read_s(calibration->clock) - started_s);
        status = gw_measure_points(survey, fmax(left_s, 0), &journal, report, error);
    }
    gw_journal_close(&journal);
    return status;
}

static enum gw_status measure_curves(struct gw_communicator *communicator,
                                     const struct gw_calibration *calibration, double started_s,
                                     const struct gw_report *report, struct gw_cluster *cluster,
                                     struct gw_error *error) {
    struct gw_point_survey survey;
    enum gw_status status = gw_point_survey_open(communicator, calibration, &survey, error);
    if (status == GW_OK) {
        status = gw_points_open(survey.list.items, survey.list.count, calibration->per_factor_four,
                                &survey.points, error);
    }
    if (status == GW_OK) {
        cluster->sharing = survey.sharing;
        status = run_survey(calibration, started_s, report, &survey, error);
    }
    if (status == GW_OK && communicator->rank == 0) {
        status = fit_and_add_curves(&survey, cluster, error);
    }
    gw_point_survey_close(&survey);
    return status;
}

static enum gw_status measure_all(struct gw_communicator *communicator,
                                  const struct gw_calibration *calibration, double started_s,
                                  struct gw_cluster *cluster, struct gw_error *error) {
    struct gw_report report = {.on_progress = calibration->on_progress,
                               .context = calibration->progress_context,
                               .scale = 0.02};
    enum gw_status status = gw_calibrate_hosts(communicator, calibration, &report, cluster, error);
    double overlap = calibration->backward == NULL ? 0.04 : backward_share;
    report.offset = 0.02;
    report.scale = 0.94 - overlap;
    if (status == GW_OK) {
        status = measure_curves(communicator, calibration, started_s, &report, cluster, error);
    }
    report.offset = 0.96 - overlap;
    report.scale = 0.04;
    if (status == GW_OK && calibration->network && communicator->size > 1) {
        struct gw_calibration brief = *calibration;
        brief.max_s_per_point =
            fmin(calibration->max_s_per_point, network_share_s(communicator, calibration) / 40);
        status = gw_calibrate_network(communicator, &brief, &report, cluster, error);
    }
    report.offset = 1 - overlap;
    report.scale = overlap;
    if (status == GW_OK && calibration->overlap && communicator->size > 1) {
        struct gw_calibration brief = *calibration;
        brief.time_s = overlap_share_s(communicator, calibration);
        status = gw_calibrate_overlap(communicator, &brief, &report, cluster, error);
    }
    return status;
}

enum gw_status gw_calibrate(struct gw_communicator *communicator,
                            const struct gw_calibration *calibration, struct gw_cluster *out,
                            struct gw_error *error) {
    struct gw_host_ticks before;
    double started_s = gw_clock_read_s(calibration->clock);
    gw_host_ticks_read("", &before);
    GW_TRY(gw_cluster_create(out, calibration->name, (size_t)communicator->size, 1, error));
    enum gw_status status = gw_put_provenance(communicator, calibration, out, error);
    if (status == GW_OK) {
        status = measure_all(communicator, calibration, started_s, out, error);
    }
    if (status == GW_OK) {
        status = gw_calibrate_others(communicator, &before, out, error);
    }
    if (status == GW_OK && communicator->rank == 0 && calibration->older != NULL) {
        status = gw_calibration_add_older(out, calibration->older, error);
    }
    if (status != GW_OK) {
        gw_cluster_free(out);
    }
    return status;
}
