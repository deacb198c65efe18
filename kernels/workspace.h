/* How selections get their scratch memory; private to kernels/. */
#ifndef GW_KERNELS_WORKSPACE_H
#define GW_KERNELS_WORKSPACE_H

#include "kernels/kernels.h"

/* Makes workspace->memory at least `bytes` long. What it held is lost. */
enum gw_status gw_workspace_reserve(struct gw_workspace *workspace, size_t bytes,
                                    struct gw_error *error);

#endif
