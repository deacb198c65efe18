/*
 * Layer dropping (Lee et al., Communication Optimization Schemes for Accelerating Distributed Deep
 * Learning Systems, 2020): a layer is sent whole, or dropped and sent as a single zero. Dropped
 * layers stay in the residual. Layers, at least one, are adjacent in u, and have at least one
 * element each.
 */
#ifndef GW_KERNELS_LAYERS_H
#define GW_KERNELS_LAYERS_H

#include "core/arena.h"
#include "kernels/kernels.h"

/*
 * The means of |u| of each layer, in double precision and in one fixed order, so that they are
 * equal everywhere. GW_BAD_INPUT if u holds a NaN; an infinite element makes its layer's mean
 * infinite.
 *
 * The paper's Section 4 compares this mean with the threshold, but its Section 5 takes the
 * threshold from L1 norms. These are sums, larger than the means by a layer's size, so that hardly
 * any layer would be sent. Its equation (2) has no magnitudes at all. Here both are the mean |u|.
 */
enum gw_status gw_layers_means(const float *u, const size_t *sizes, size_t layers, double *means,
                               struct gw_error *error);

/*
 * The threshold that drops as many elements as possible, but at most the share `ratio` (the paper's
 * R, 0 to 1, else GW_BAD_INPUT) of all: Algorithm 1. Among the layers in ascending order of their
 * means it is the first mean at which more would be dropped, or the largest mean, so that at least
 * one layer is sent. Equal layers are sent together.
 *
 * The paper sorts in "reverse" order, but does not mean to drop the largest first. For R = 1 its
 * Algorithm 1 finds no threshold and returns -1, "invalid", which as a threshold would send all
 * layers.
 */
enum gw_status gw_layers_threshold(const double *means, const size_t *sizes, size_t layers,
                                   double ratio, double *threshold, struct gw_error *error);

/*
 * Marks the layers that are sent: those whose mean reaches the threshold. (The paper says what
 * happens above and below it, not at it; Algorithm 1 keeps its bound only if that layer is sent.)
 * Returns the number of elements sent: a dropped layer counts as one. A threshold from an earlier
 * iteration may drop all layers.
 */
size_t gw_layers_choose(const double *means, const size_t *sizes, size_t layers, double threshold,
                        bool *sent);

/* The state of the compressor. */
struct gw_layer_drop {
    struct gw_arena arena;
    size_t layer_count;
    size_t *sizes;    /* [layer_count] */
    double *means;    /* [layer_count] */
    bool *sent;       /* [layer_count] */
    double threshold; /* NaN before the first search */
};

/* Marks the layers that are sent, by their means; searches for the threshold when that is due. */
enum gw_status gw_layer_drop_choose(const struct gw_task *task, struct gw_error *error);

#endif
