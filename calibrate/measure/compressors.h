/* Compressors that are measured; private to this room. */
#ifndef GW_CALIBRATE_COMPRESSORS_H
#define GW_CALIBRATE_COMPRESSORS_H

#include "kernels/kernels.h"

/* One selection from task->u, and its count. */
struct gw_selecting {
    enum gw_status (*select)(void *context, const struct gw_task *task, size_t *count,
                             struct gw_error *error);
    void *context;
};

/* Lets a compressor with a state select from task->u repeatedly, until it has warmed up
 * (core/warm_up.h), or for `longest_s`. Advances task->iteration. */
enum gw_status gw_warm_up_compressor(const struct gw_compressor *compressor, struct gw_task *task,
                                     const struct gw_selecting *selecting,
                                     const struct gw_clock *clock, double longest_s,
                                     struct gw_error *error);

#endif
