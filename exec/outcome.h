/* What the ranks tell each other after an iteration, outside of its time; private to this room. */
#ifndef GW_EXEC_OUTCOME_H
#define GW_EXEC_OUTCOME_H

#include "exec/worker.h"

/* Of a group, from a rank. */
struct gw_group_outcome {
    uint64_t selected; /* elements, by this worker */
    uint64_t all;      /* elements whose values travelled together */
    uint64_t checksum; /* of the aggregate */
};

/* The last iteration's, the same on all ranks. */
struct gw_outcome {
    struct gw_group_outcome *own; /* [groups] */
    struct gw_group_outcome *of;  /* [ranks * groups] */
    uint64_t *selected;           /* [groups * workers] */
    size_t *counts;               /* [workers], of one group */
    struct gw_selected *extents;  /* [groups] */
};

/* In the worker's arena. */
enum gw_status gw_outcome_open(struct gw_outcome *out, const struct gw_worker *worker,
                               struct gw_error *error);

/*
 * Gathers, fails if the aggregate is not the same on all workers, and tells compressors how many
 * elements each worker selected. All ranks call it, between iterations.
 */
enum gw_status gw_outcome_conclude(struct gw_outcome *outcome, struct gw_worker *worker,
                                   struct gw_error *error);

/* The same where nothing was exchanged: without aggregates. */
enum gw_status gw_outcome_share_counts(struct gw_outcome *outcome, struct gw_worker *worker,
                                       struct gw_error *error);

/* The same where compressors know: aggregates and counts. */
enum gw_status gw_outcome_compare(struct gw_outcome *outcome, struct gw_worker *worker,
                                  struct gw_error *error);

/*
 * Zeroes what the group's exchange wrote in the aggregate, if the next iteration may not write it
 * again.
 */
enum gw_status gw_aggregate_clear(const struct gw_worker *worker,
                                  const struct gw_group_state *group, struct gw_error *error);

#endif
