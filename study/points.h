/* Points: many scenarios about pipelines, answered on all threads, and on all ranks of a job. */
#ifndef GW_STUDY_POINTS_H
#define GW_STUDY_POINTS_H

#include "study/predict.h"
#include "study/rank.h"
#include "transport/transport.h"

/* ---- points of this process ------------------------------------------------------------------ */

/*
 * Predicts one point: the pipeline on the scenario, with the scenario's straggler and noise. Only
 * reads, so that threads can share what is asked.
 */
void gw_answer_scenario(const struct gw_scenario *scenario, const struct gw_algorithm *algorithm,
                        struct gw_prediction_options options, struct gw_prediction *out);

/*
 * Predicts all pipelines of a comparison on each of these scenarios, in place of the comparison's
 * own, on all cores: predictions[scenario][algorithm]. Fails only where a pipeline is not to blame.
 */
enum gw_status gw_answer_points(const struct gw_comparison *comparison,
                                const struct gw_scenario *scenarios, size_t scenario_count,
                                struct gw_prediction *predictions, struct gw_error *error);

/* ---- points shared among threads and ranks --------------------------------------------------- */

/*
 * Independent points, shared by their numbers. They are answered in rounds: of the points of a
 * round, R ranks answer every R-th each, with all their threads, and rank 0 takes all answers.
 */
struct gw_shared_points {
    uint64_t first, count; /* the points are first .. count - 1 */
    size_t threads;        /* of each rank, at least 1 */
    void *context;

    /* Writes a point's answer: the same bytes on any thread of any rank. */
    enum gw_status (*answer)(uint64_t point, FILE *out, void *context, struct gw_error *error);

    /*
     * Takes a point's answer, on rank 0's calling thread, in the order of the points. `last`: of a
     * round, which takes some 0.2 s unless a point takes longer.
     */
    enum gw_status (*take)(uint64_t point, const char *answer, size_t length, bool last,
                           void *context, struct gw_error *error);
};

/*
 * Returns when all answers are taken. All ranks call it with the same points; NULL: this process is
 * alone. If one rank fails, all ranks fail.
 */
enum gw_status gw_share_points(const struct gw_shared_points *points,
                               struct gw_communicator *communicator, struct gw_error *error);

#endif
