/* Times of kernels on a vector, by how much of it is selected, or looked for in a sketch. */
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
 * How far something is on the way from what was measured at the first density to what was at the
 * second, 0 where one alone was measured: a compressor that selects this share of so many elements,
 * by density, or if it is a sketch (none, as in schedules that no pipeline built: not a sketch) by
 * what elements take at other sizes by tables of as many columns; a search in a sketch of so many
 * columns, likewise; and what goes to entries at random places of a vector of which they are this
 * share, by how many cache lines hold none: the others are found ahead of their use. The last is at
 * least 0.
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
 * Seconds of compressors and searches on so many elements: on the line through what both
 * densities take, at least half of the first; and what goes to so many entries at random places: on
 * that line, at least half of the second.
 */
double gw_kernel_s(const struct gw_kernel_cost *cost, double elements, double share);
double gw_scatter_s(const struct gw_kernel_cost *cost, double entries, double share);

/*
 * Seconds of all ranks of a machine that begin at once, each of which takes `alone_s` alone: on the
 * line through both densities, but as many times as long as at one of the two, or between; where
 * one alone was measured together, as much longer as there.
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
