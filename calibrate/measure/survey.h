/* A survey, in which all points of a calibration's curves are measured; private to this room. */
#ifndef GW_CALIBRATE_SURVEY_H
#define GW_CALIBRATE_SURVEY_H

#include "calibrate/calibrate.h"
#include "calibrate/measure/clocks.h"
#include "calibrate/measure/journal.h"
#include "calibrate/measure/points.h"
#include "calibrate/measure/pool.h"
#include "calibrate/measure/worker_counts.h"
#include "calibrate/report.h"

/* The state of measuring the points of curves, for the first time or again. */
struct gw_point_survey {
    struct gw_arena arena;
    struct gw_vector_pools vectors;
    struct gw_communicator *communicator;
    struct gw_worker_counts worker_counts;
    struct gw_sharing sharing; /* of processors; unused with GPUs */
    int sharers;               /* the number of ranks that compress at once; 0: none */
    struct gw_clocks clocks;
    struct gw_series_list list; /* of the wanted curves */
    struct gw_points points;    /* none at first: the caller chooses them */
    struct gw_stop_rule rule;
};

/* Collective. Close the survey after a failure too. */
enum gw_status gw_point_survey_open(struct gw_communicator *communicator,
                                    const struct gw_calibration *calibration,
                                    struct gw_point_survey *out, struct gw_error *error);
void gw_point_survey_close(struct gw_point_survey *survey);

/*
 * Adds the wanted collectives, for each number of workers; and the wanted compressors, on one rank
 * alone, and then on several at once, which share a machine's cores. On GPUs each rank has its own,
 * and all compress at once; the time is the GPU's.
 */
enum gw_status gw_point_survey_add_collectives(struct gw_point_survey *survey,
                                               const struct gw_calibration *calibration,
                                               struct gw_error *error);
enum gw_status gw_point_survey_add_compressors(struct gw_point_survey *survey,
                                               const struct gw_calibration *calibration,
                                               struct gw_error *error);

/* Adds the work on received data (methods/methods.h), if wanted: on one rank alone, and, for work
 * that all ranks do at the same time, on several at once. Not on GPUs. */
enum gw_status gw_point_survey_add_aggregators(struct gw_point_survey *survey,
                                               const struct gw_calibration *calibration,
                                               struct gw_error *error);

/*
 * Measures all points within time_s. Every point that is not left out gets a repeat.
 *
 * Rank 0 decides what is measured next and tells the others before each block of repeats: only its
 * clock, random numbers, points and journal count, so ranks cannot decide differently. Each number
 * of workers has its turn: while its ranks measure, the others wait.
 *
 * First each point is run a few times, to warm up and to learn its cost: from small sizes to large
 * ones, first five sizes that are spread over the range of each curve, whatever the time, then the
 * others until three quarters of it are over. Sizes that would take more than their share are left
 * out. Then points are visited in rounds, each in a new random order, for a block of repeats at a
 * time, until all medians are precise or the time is over. Slow drift then affects all sizes alike
 * and shows as spread; with one size after the other it would show as a slope. Points with repeats
 * in the journal keep them.
 */
enum gw_status gw_measure_points(struct gw_point_survey *survey, double time_s,
                                 struct gw_journal *journal, const struct gw_report *report,
                                 struct gw_error *error);

#endif
