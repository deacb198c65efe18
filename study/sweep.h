/* Sweeps: questions at many points, shared among threads and ranks. */
#ifndef GW_STUDY_SWEEP_H
#define GW_STUDY_SWEEP_H

#include "study/study.h"
#include "transport/transport.h"

/* ---- points shared among threads and ranks (share.c) ---------------------------------------- */

/*
 * Points that do not depend on each other, answered in rounds: of each round rank r answers every
 * size-th point from its r-th on, with all its threads, and rank 0 takes the answers of all.
 */
struct gw_shared_points {
    uint64_t first, count; /* the points are first .. count - 1 */
    size_t threads;        /* of each rank, at least 1 */
    void *context;

    /* Writes a point's answer: the same bytes on whichever thread of whichever rank. */
    enum gw_status (*answer)(uint64_t point, FILE *out, void *context, struct gw_error *error);

    /*
     * Takes a point's answer, on rank 0's calling thread, in the order of the points. `last`: of a
     * round, which are tenths of seconds unless a point takes longer.
     */
    enum gw_status (*take)(uint64_t point, const char *answer, size_t length, bool last,
                           void *context, struct gw_error *error);
};

/*
 * Returns when all answers are taken. All ranks call it with the same points; NULL: this process is
 * alone. A failure is that of all ranks, but for one to take the last round, which is rank 0's.
 */
enum gw_status gw_share_points(const struct gw_shared_points *points,
                               struct gw_communicator *communicator, struct gw_error *error);

#endif
