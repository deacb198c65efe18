#include "calibrate/measure/survey.h"

#include <stdlib.h>

#include "calibrate/measure/campaign.h"

enum gw_status gw_survey_open(struct gw_communicator *communicator,
                              const struct gw_calibration *calibration, struct gw_survey *out,
                              struct gw_error *error) {
    *out = (struct gw_survey){.communicator = communicator,
                              .rule = {.precision = calibration->precision,
                                       .max_s_per_point = calibration->max_s_per_point,
                                       .seed = calibration->seed}};
    GW_TRY(gw_worker_counts_open(communicator, calibration->gpu_communicator,
                                 calibration->collectives[0] == NULL, &out->worker_counts, error));
    GW_TRY(gw_collective_series_open(&out->worker_counts, calibration, &out->list, &out->exchanges,
                                     error));
    GW_TRY(gw_compressor_series_open(communicator, calibration, &out->list, &out->compressions,
                                     error));
    return gw_clocks_open(communicator, &out->clocks, error);
}

void gw_survey_close(struct gw_survey *survey) {
    gw_points_free(&survey->points);
    gw_compressor_series_close(survey->compressions);
    gw_collective_series_close(survey->exchanges);
    free(survey->list.items);
    gw_worker_counts_close(&survey->worker_counts);
}

enum gw_status gw_survey_run(struct gw_survey *survey, double time_s, struct gw_journal *journal,
                             const struct gw_report *report, struct gw_error *error) {
    const struct gw_campaign campaign = {.worker_counts = &survey->worker_counts,
                                         .points = &survey->points,
                                         .clocks = &survey->clocks,
                                         .rule = survey->rule,
                                         .time_s = time_s,
                                         .journal = journal,
                                         .report = report};
    return gw_campaign_run(&campaign, error);
}
