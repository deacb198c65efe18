/* What kernels take of a vector, by how much of it is selected, or looked for in a sketch. */
#ifndef GW_METHODS_KERNEL_COST_H
#define GW_METHODS_KERNEL_COST_H

#include "core/core.h"
#include "methods/methods.h"
#include "traces/traces.h"

/*
 * Of a sketch for a share of n coordinates, smaller <= n < larger < 2^32: the last n with as many
 * columns as for `smaller`; 0 if all have as many. Columns never fall.
 */
size_t gw_sketch_last_alike(size_t smaller, size_t larger, double density);

/*
 * What a compressor takes of so many elements, in seconds, where it selects this share of them: on
 * the line through what both densities take, by density, or by the columns of the table if it is a
 * sketch; at least half of its curve, and its curve where one density alone was measured. No
 * compressor, as in schedules that no pipeline built: not a sketch.
 */
double gw_compressor_s(const struct gw_compressor *compressor, const struct gw_kernel_cost *cost,
                       double elements, double density);

/* The same of looking for elements in a sketch of so many columns. */
double gw_sketch_search_s(const struct gw_kernel_cost *cost, double elements, double columns);

/* What a compressor takes at a density, as a curve, the caller's to free. */
enum gw_status gw_compressor_curve(const struct gw_compressor *compressor,
                                   const struct gw_kernel_cost *cost, double density,
                                   struct gw_curve *out, struct gw_error *error);

#endif
