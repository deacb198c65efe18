/* What the compressors that select by ExDyna share; private to kernels/. */
#ifndef GW_KERNELS_EXDYNA_H
#define GW_KERNELS_EXDYNA_H

#include "kernels/kernels.h"

gw_select gw_exdyna_select, gw_exdyna_select_reference;

/*
 * Where the task's worker selects, [begin, end), from which |u| on, and which element it sends if
 * it finds none.
 */
struct gw_exdyna_aim {
    size_t begin, end, lone;
    double threshold;
};
struct gw_exdyna_aim gw_exdyna_aim_of(const struct gw_task *task);

enum gw_status gw_exdyna_open(const struct gw_task *task, void **out, struct gw_error *error);
void gw_exdyna_close(void *state);

/* By Algorithm 5; by a step in proportion to the error that also follows the trend of scales. */
void gw_exdyna_observe(void *state, const size_t *counts);
void gw_exdyna_observe_trend(void *state, const size_t *counts);

/* The threshold by Algorithm 5; partitions stay as they were at first. */
void gw_exdyna_observe_static(void *state, const size_t *counts);

#endif
