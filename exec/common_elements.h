/*
 * Elements that all ranks know, though none has said its own: found in a sketch of the sum of all
 * workers', or selected by all alike; and their values. Private to this room.
 */
#ifndef GW_EXEC_COMMON_ELEMENTS_H
#define GW_EXEC_COMMON_ELEMENTS_H

#include "exec/worker.h"

/* Room for float [count] in `sent`, and in `received`. */
enum gw_status gw_values_reserve(const struct gw_worker *worker, struct gw_group_state *group,
                                 size_t count, struct gw_error *error);

/* Takes them from the residual, into `sent`. */
enum gw_status gw_values_take(const struct gw_worker *worker, struct gw_group_state *group,
                              struct gw_error *error);

/* Puts what became of them where they belong in the aggregate. */
enum gw_status gw_values_put(const struct gw_worker *worker, struct gw_group_state *group,
                             const float *sums, struct gw_error *error);

/* The group's sketch, with the group's columns and hash functions, and room for common indices. */
enum gw_status gw_sketches_open(const struct gw_worker *worker, struct gw_group_state *group,
                                struct gw_error *error);
size_t gw_sketches_cells(const struct gw_group_state *group);

/* From the group's sketch, which is the sum of all workers': the common indices. */
enum gw_status gw_sketches_find(struct gw_worker *worker, struct gw_group_state *group,
                                struct gw_error *error);

#endif
