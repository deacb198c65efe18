/* How selections get their scratch memory; private to kernels/. */
#ifndef GW_KERNELS_WORKSPACE_H
#define GW_KERNELS_WORKSPACE_H

#include "kernels/kernels.h"

/* Makes workspace->memory at least `bytes` long. What it held is lost. */
enum gw_status gw_workspace_reserve(struct gw_workspace *workspace, size_t bytes,
                                    struct gw_error *error);

/* The same of workspace->sample, `count` floats. */
enum gw_status gw_workspace_reserve_sample(struct gw_workspace *workspace, size_t count,
                                           struct gw_error *error);

/* Makes workspace->parts at least `count` selections, which may hold what they held before. */
enum gw_status gw_workspace_reserve_parts(struct gw_workspace *workspace, size_t count,
                                          struct gw_error *error);

#endif
