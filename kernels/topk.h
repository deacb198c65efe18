/* Where exact top-k looks first; private to kernels/, and here so that tests can deceive it. */
#ifndef GW_KERNELS_TOPK_H
#define GW_KERNELS_TOPK_H

#include "kernels/kernels.h"

extern const struct gw_compressor gw_compressor_topk;

/* Selects by definition. */
gw_select gw_topk_reference;
void gw_topk_keep_reference(struct gw_selection *selection, size_t k);

/*
 * The fast version samples u once in every `stride` elements, at a position that follows no period,
 * but is fixed, so that selections are reproducible.
 */
size_t gw_topk_sample_stride(size_t n);
size_t gw_topk_sample_position(size_t sample, size_t stride);

#endif
