/* Times of kernels on a vector, by the share of it that is selected, or found in a sketch. */
#ifndef GW_METHODS_KERNEL_COST_H
#define GW_METHODS_KERNEL_COST_H

#include "core/core.h"
#include "methods/methods.h"
#include "traces/traces.h"

/*
 * For sketches of a share of n coordinates, smaller <= n < larger < 2^32: the last n with as many
 * columns as for `smaller`; 0 if all have as many. Columns never fall.
 */
size_t gw_sketch_last_alike(size_t smaller, size_t larger, double density);

/*
 * Interpolation weight between the curves of densities[0] and densities[1]; 0 if only one was
 * measured. Of a compressor that selects the share `density` of `elements`: by density, or of one
 * with sketches (NULL, as in schedules without a pipeline: without) by the times of elements at
 * other sizes with tables of as many columns. Of a search in a sketch of `columns`: the same. Of
 * access to entries at random places, the share `density` of a vector: by the share of cache lines
 * without entries, as others are prefetched; at least 0.
 */
double gw_compressor_share(const struct gw_compressor *compressor,
                           const struct gw_kernel_cost *cost, double elements, double density);
double gw_search_share(const struct gw_kernel_cost *cost, double elements, double columns);
double gw_scatter_share(const struct gw_kernel_cost *cost, double density);

/* Whether the second density is the nearer one. */
static inline bool gw_is_denser(double share) {
    return share > 0.5;
}

/*
 * Seconds of compressors and searches on `elements`, on the line through the times at both
 * densities, at least half of the first; and (gw_scatter_s) of access to `entries` at random
 * places, on that line, at least half of the second. `near`: in both curves (gw_curve_time_near),
 * or NULL.
 */
double gw_kernel_s(const struct gw_kernel_cost *cost, double elements, double share);
double gw_scatter_s(const struct gw_kernel_cost *cost, double entries, double share, size_t *near);

/*
 * Seconds of all ranks of a machine that begin at once, each of which takes `alone_s` alone: on the
 * line through both densities, with the ratio to alone_s kept between those at the two densities.
 * If only one density was measured together, its ratio.
 */
double gw_kernel_together_s(const struct gw_kernel_cost *cost, double elements, double share,
                            double alone_s);

/* Seconds of a compressor on so many elements of which it selects this share. */
double gw_compressor_s(const struct gw_compressor *compressor, const struct gw_kernel_cost *cost,
                       double elements, double density);

/* A compressor's times at a density, as a curve, the caller's to free. */
enum gw_status gw_compressor_curve(const struct gw_compressor *compressor,
                                   const struct gw_kernel_cost *cost, double density,
                                   struct gw_curve *out, struct gw_error *error);

#endif
