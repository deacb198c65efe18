/* Times of kernels on a vector, by the share of it that is selected, or found in a sketch. */
#ifndef GW_METHODS_KERNEL_COST_H
#define GW_METHODS_KERNEL_COST_H

#include <pthread.h>

#include "core/core.h"
#include "methods/methods.h"
#include "traces/traces.h"

/*
 * For sketches of a share of n coordinates, smaller <= n < larger < 2^32: the last n with as many
 * columns as for `smaller`; 0 if all have as many. Columns never fall.
 */
size_t gw_sketch_last_alike(size_t smaller, size_t larger, double density);

/* Weight of `amount` between those of the first and the second density; 0 if both are equal. */
static inline double gw_share_between(const double amounts[2], double amount) {
    return amounts[0] == amounts[1] ? 0 : (amount - amounts[0]) / (amounts[1] - amounts[0]);
}

/*
 * Interpolation weight between the curves of densities[0] and densities[1]; 0 if only one was
 * measured. Of a compressor with a rank: by rank, for which densities[] stand then. Of one that
 * selects the share `density` of `elements`: by density, or of one with sketches (NULL, as in
 * schedules without a pipeline: without) by the times of elements at other sizes with tables of as
 * many columns. Of a search in a sketch of `columns`: the same.
 */
double gw_compressor_share(const struct gw_compressor *compressor,
                           const struct gw_kernel_cost *cost, double elements, double density);
double gw_search_share(const struct gw_kernel_cost *cost, double elements, double columns);

/* Whether the second density is the nearer one. */
static inline bool gw_is_denser(double share) {
    return share > 0.5;
}

/* Seconds of compressors and searches on `elements`, on the line through the times at both
 * densities, at least half of the first. */
double gw_kernel_s(const struct gw_kernel_cost *cost, double elements, double share);

/*
 * Seconds of all ranks of a machine that begin at once, each of which takes `alone_s` alone: on the
 * line through both densities, with the ratio to alone_s kept between those at the two densities.
 * If only one density was measured together, its ratio.
 */
double gw_kernel_together_s(const struct gw_kernel_cost *cost, double elements, double share,
                            double alone_s);

/* ---- access to entries at random places ------------------------------------------------------ */

/* Share of cache lines of 16 elements that hold no entry, in a vector with `density` entries. */
static inline double gw_empty_lines(double density) {
    double empty = density < 0 ? 1 : density > 1 ? 0 : 1 - density;
    for (size_t elements = 1; elements < 16; elements *= 2) {
        empty *= empty;
    }
    return empty;
}

/* Interpolation weight for `density` entries of a vector: by the share of cache lines without
 * entries, as others are prefetched; at least 0. */
static inline double gw_scatter_share(const double densities[2], double density) {
    const double measured[2] = {gw_empty_lines(densities[0]), gw_empty_lines(densities[1])};
    double share = gw_share_between(measured, gw_empty_lines(density));
    return share > 0 ? share : 0;
}

/* Seconds of access to entries, by the times at both densities: on the line through them, at least
 * half of the second. */
static inline double gw_scatter_s(double usual_s, double denser_s, double share) {
    double time_s = share == 0 ? usual_s : usual_s + share * (denser_s - usual_s);
    return time_s > denser_s / 2 ? time_s : denser_s / 2;
}

/* ---- compressors ----------------------------------------------------------------------------- */

/* Seconds of a compressor on so many elements of which it selects this share. */
double gw_compressor_s(const struct gw_compressor *compressor, const struct gw_kernel_cost *cost,
                       double elements, double density);

/* A compressor's times at a density, as a curve, the caller's to free. */
enum gw_status gw_compressor_curve(const struct gw_compressor *compressor,
                                   const struct gw_kernel_cost *cost, double density,
                                   struct gw_curve *out, struct gw_error *error);

/* Curves that many scenarios borrow, on any thread; each is found when it is first asked for. */
struct gw_compressor_curves {
    pthread_mutex_t mutex; /* PTHREAD_MUTEX_INITIALIZER at first */
    void *tree;            /* of tsearch */
};
void gw_compressor_curves_free(struct gw_compressor_curves *curves);
enum gw_status gw_compressor_curves_find(struct gw_compressor_curves *curves,
                                         const struct gw_compressor *compressor,
                                         const struct gw_kernel_cost *cost, double density,
                                         struct gw_curve *out, struct gw_error *error);

#endif
