/* Exact top-k, of which others make use; private to kernels/. */
#ifndef GW_KERNELS_TOPK_H
#define GW_KERNELS_TOPK_H

#include "kernels/kernels.h"

extern const struct gw_kernel gw_kernel_topk;

/* Selects by definition. */
gw_select gw_topk_reference;
void gw_topk_keep_reference(struct gw_selection *selection, size_t k);

#endif
