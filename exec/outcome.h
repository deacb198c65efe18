/* The outcomes that ranks exchange after an iteration, outside its time; private to this room. */
#ifndef GW_EXEC_OUTCOME_H
#define GW_EXEC_OUTCOME_H

#include "exec/worker.h"

/* The outcome of a group on a rank. */
struct gw_group_outcome {
    uint64_t selected; /* elements, by this worker */
    uint64_t all;      /* elements whose values were sent jointly */
    uint64_t checksum; /* of the aggregate */
};

/* The outcomes of the last iteration, equal on all ranks. */
struct gw_outcome {
    struct gw_group_outcome *own; /* [groups] */
    struct gw_group_outcome *of;  /* [ranks * groups] */
    uint64_t *selected;           /* [groups * workers] */
    size_t *counts;               /* [workers], of one group */
    struct gw_selected *extents;  /* [groups] */
};

/* Allocates an outcome in the worker's arena. */
enum gw_status gw_outcome_open(struct gw_outcome *out, const struct gw_worker *worker,
                               struct gw_error *error);

/* Gathers outcomes, fails if the aggregate differs between workers, and tells compressors how many
 * elements each worker selected. All ranks call it, between iterations. */
enum gw_status gw_outcome_conclude(struct gw_outcome *outcome, struct gw_worker *worker,
                                   struct gw_error *error);

/* The same without aggregates, if nothing was exchanged. */
enum gw_status gw_outcome_share_counts(struct gw_outcome *outcome, struct gw_worker *worker,
                                       struct gw_error *error);

/* The same without telling compressors. */
enum gw_status gw_outcome_compare(struct gw_outcome *outcome, struct gw_worker *worker,
                                  struct gw_error *error);

/* Zeroes the elements of the aggregate that the group's exchange wrote, if the next iteration may
 * not write them again. */
enum gw_status gw_aggregate_clear(const struct gw_worker *worker,
                                  const struct gw_group_state *group, struct gw_error *error);

#endif
