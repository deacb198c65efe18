/*
 * Measuring all points of a calibration within a given time; private to this room.
 *
 * Rank 0 decides what is measured next and says so before each block of repeats: its clock, its
 * random numbers and its journal are the only ones that count, and no rank can come to another
 * decision. Each number of workers has its turn, a phase: while its ranks measure, the others rest.
 *
 * First each point is run a few times, from small sizes to large ones, to warm up and to learn what
 * it costs; sizes that would take more than their share of the time are left out. Then rounds
 * follow (calibrate/measure/rounds.h) until all medians are known or the time is over.
 */
#ifndef GW_CALIBRATE_CAMPAIGN_H
#define GW_CALIBRATE_CAMPAIGN_H

#include "calibrate/measure/journal.h"
#include "calibrate/measure/report.h"
#include "calibrate/measure/timing.h"
#include "calibrate/measure/worker_counts.h"

struct gw_campaign {
    struct gw_worker_counts *worker_counts;
    struct gw_points *points; /* the same on all ranks; on rank 0 they get their repeats */
    struct gw_clocks *clocks;
    struct gw_stop_rule rule;
    double time_s;              /* for all of it */
    struct gw_journal *journal; /* of rank 0: what it held before is not measured again */
    const struct gw_report *report;
};

/* Collective over the world. Every point that is not left out gets a repeat. */
enum gw_status gw_campaign_run(const struct gw_campaign *campaign, struct gw_error *error);

#endif
