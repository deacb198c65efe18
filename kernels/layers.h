/*
 * Layer dropping (Lee et al., Communication Optimization Schemes for Accelerating Distributed Deep
 * Learning Systems, 2020): a layer travels whole, or not at all and as a single zero. What is
 * dropped stays in the residual. Layers, at least one, lie one after the other in u, and have at
 * least one element each.
 */
#ifndef GW_KERNELS_LAYERS_H
#define GW_KERNELS_LAYERS_H

#include "core/arena.h"
#include "kernels/kernels.h"

/*
 * What represents a layer: the mean |u|. It is summed in double precision, and in one fixed order,
 * so that it is the same everywhere. GW_BAD_INPUT if u holds a NaN; an infinite element makes its
 * layer's mean infinite.
 *
 * The paper's Section 4 compares this mean with the threshold, its Section 5 takes the threshold
 * from L1 norms, which are sums: larger by a layer's size than what they are compared with, so that
 * next to nothing would ever travel. Its equation (2) has no magnitudes at all. Here both are the
 * mean |u|.
 */
enum gw_status gw_layers_means(const float *u, const size_t *sizes, size_t layers, double *means,
                               struct gw_error *error);

/*
 * The threshold that drops as many elements as it can, but no more than `ratio` (the paper's R, 0
 * to 1, else GW_BAD_INPUT) of all: Algorithm 1. Of the layers in ascending order of their means it
 * is the first mean at which more than that would be dropped, or the largest, so that one layer at
 * least is sent. Equal layers are sent together.
 *
 * The paper sorts in "reverse" order; dropping from the largest on is not meant. For R = 1 its
 * Algorithm 1 finds no threshold and says -1, "invalid"; taken as one, it would send all layers.
 */
enum gw_status gw_layers_threshold(const double *means, const size_t *sizes, size_t layers,
                                   double ratio, double *threshold, struct gw_error *error);

/*
 * Which layers are sent: those whose mean reaches the threshold. (The paper says what happens above
 * and below, not at it; Algorithm 1 keeps its word only if that layer is sent.) Returns how many
 * elements that costs: a dropped layer travels as one. With the threshold of an earlier iteration
 * it may be that no layer is sent.
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
    double threshold; /* NaN until it has been looked for */
};

/* From the means, which layers are sent; looks for the threshold when it is time to. */
enum gw_status gw_layer_drop_choose(const struct gw_task *task, struct gw_error *error);

#endif
