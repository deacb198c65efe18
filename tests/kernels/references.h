/* Reference versions of compressors and sketches. */
#ifndef GW_TESTS_KERNELS_REFERENCES_H
#define GW_TESTS_KERNELS_REFERENCES_H

#include "kernels/kernels.h"
#include "kernels/sketch.h"

/* The reference of the compressor's select, for the same tasks and states; fails the test
 * without one. */
gw_select *gw_reference_of(const struct gw_compressor *compressor);

/* The reference of gw_keep_largest. */
void gw_keep_largest_reference(struct gw_selection *selection, size_t k);

enum gw_status gw_sketch_encode_reference(struct gw_sketch *sketch, const float *u, size_t first,
                                          size_t n, struct gw_error *error);
void gw_sketch_estimate_reference(const struct gw_sketch *sketch, size_t first, size_t n,
                                  float *estimates);
enum gw_status gw_sketch_heavymix_reference(const struct gw_sketch *sketch, size_t n, size_t k,
                                            uint64_t iteration, uint32_t *indices, size_t *heavy,
                                            struct gw_error *error);

#endif
