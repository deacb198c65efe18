/* What ExDyna's selections on the host and on a GPU share; private to kernels/. */
#ifndef GW_KERNELS_EXDYNA_H
#define GW_KERNELS_EXDYNA_H

#include "kernels/kernels.h"

/*
 * Where the task's worker selects, [begin, end), from which |u| on, and which element it sends if
 * it finds none.
 */
struct gw_exdyna_aim {
    size_t begin, end, lone;
    double threshold;
};
struct gw_exdyna_aim gw_exdyna_aim_of(const struct gw_task *task);

#endif
