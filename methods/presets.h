/* The descriptors, one file each, and the builders they share; private to this room. */
#ifndef GW_ALGORITHMS_PRESETS_H
#define GW_ALGORITHMS_PRESETS_H

#include "methods/algorithms.h"

#define ALGORITHM(name) extern const struct gw_algorithm gw_algorithm_##name;
#include "methods/list.inc"
#undef ALGORITHM

/*
 * Forward; then for each group of the plan its tensors' backward, its compression (sparse only) and
 * the legs of its exchange on the communication stream; the update when the last exchange has
 * ended, unless a server has done it. It is the OMGS paper's Fig. 1 (a) to (d), depending on the
 * plan and the compressor.
 */
enum gw_status gw_build(const struct gw_algorithm *algorithm, const struct gw_model *model,
                        const struct gw_plan *plan, struct gw_schedule *out,
                        struct gw_error *error);

#endif
