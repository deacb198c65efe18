/*
 * What measuring the points of curves needs, for the first time or again; private to this room.
 */
#ifndef GW_CALIBRATE_SURVEY_H
#define GW_CALIBRATE_SURVEY_H

#include "calibrate/measure/clocks.h"
#include "calibrate/measure/journal.h"
#include "calibrate/measure/report.h"
#include "calibrate/measure/subjects.h"

struct gw_survey {
    struct gw_communicator *communicator;
    struct gw_worker_counts worker_counts;
    struct gw_clocks clocks;
    struct gw_series_list list; /* of the collectives and compressors that were asked for */
    struct gw_collective_series *exchanges;
    struct gw_compressor_series *compressions;
    struct gw_points points; /* none at first: the caller chooses them */
    struct gw_stop_rule rule;
};

/* Collective. The survey is to be closed also after a failure. */
enum gw_status gw_survey_open(struct gw_communicator *communicator,
                              const struct gw_calibration *calibration, struct gw_survey *out,
                              struct gw_error *error);
void gw_survey_close(struct gw_survey *survey);

/* Runs a campaign of at most time_s. Rank 0's points get their repeats, and its journal. */
enum gw_status gw_survey_run(struct gw_survey *survey, double time_s, struct gw_journal *journal,
                             const struct gw_report *report, struct gw_error *error);

#endif
