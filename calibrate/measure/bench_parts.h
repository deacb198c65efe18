/* What benchmarks of compressors on CPUs and on GPUs share; private to this room. */
#ifndef GW_CALIBRATE_BENCH_PARTS_H
#define GW_CALIBRATE_BENCH_PARTS_H

#include "calibrate/bench.h"

/* Compressors asked for. */
size_t gw_bench_count(const struct gw_bench *bench);

/* The sum of squares of what is selected. */
double gw_bench_energy(const struct gw_selection *selection);

/*
 * Exact top-k of task->u, by the CPU: what others are compared with, and, as task->threshold, what
 * selects just that.
 */
enum gw_status gw_bench_find_topk(struct gw_task *task, struct gw_selection *out, double *energy,
                                  struct gw_error *error);

/* Gives the task equal layers of about k elements, [n / k], of which the last has the rest. */
void gw_bench_lay_out(struct gw_task *task, size_t *layers);

#endif
