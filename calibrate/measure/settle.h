/* Bringing a compressor's state to where it stays; private to this room. */
#ifndef GW_CALIBRATE_SETTLE_H
#define GW_CALIBRATE_SETTLE_H

#include "kernels/kernels.h"

/* One selection from task->u, and how many were selected. */
struct gw_selecting {
    enum gw_status (*select)(void *context, const struct gw_task *task, size_t *count,
                             struct gw_error *error);
    void *context;
};

/*
 * Lets a compressor that has a state select from task->u again and again, until it has selected
 * about task->k some times in a row, or does not change any more, or has had `longest_s`.
 * Counts task->iteration on.
 */
enum gw_status gw_settle(const struct gw_compressor *compressor, struct gw_task *task,
                         const struct gw_selecting *selecting, double longest_s,
                         struct gw_error *error);

/* The same by the compressor on the CPU. */
enum gw_status gw_settle_on_cpu(const struct gw_compressor *compressor, struct gw_task *task,
                                struct gw_selection *selection, double longest_s,
                                struct gw_error *error);

#endif
