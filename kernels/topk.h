/* Exact top-k; private to kernels/. */
#ifndef GW_KERNELS_TOPK_H
#define GW_KERNELS_TOPK_H

#include "kernels/kernels.h"

extern const struct gw_compressor gw_compressor_topk;

gw_select gw_topk_reference;

/*
 * Where the fast version samples u: once in every `stride` elements, at a position that follows no
 * period. Fixed, so that selections are reproducible; here, so that tests can deceive the sample.
 */
size_t gw_topk_sample_stride(size_t n);
size_t gw_topk_sample_position(size_t sample, size_t stride);

/* The message for a NaN at u[index]. */
enum gw_status gw_topk_fail_nan(size_t index, size_t n, struct gw_error *error);

#endif
