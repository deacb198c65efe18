/*
 * A training's gradients without the network: workers one after the other, each with gradients of
 * its own and error feedback, so that compressors with a state see what they would see. For
 * benchmarks, for simulation of methods whose counts depend on data, and for tests.
 */
#ifndef GW_KERNELS_TRAINING_H
#define GW_KERNELS_TRAINING_H

#include "kernels/kernels.h"

struct gw_training_spec {
    const struct gw_compressor *compressor;
    struct gw_gradients_spec gradients; /* of each worker; its sizes are the layers */
    size_t kept, workers;               /* asked for of all elements; at least one each */
    double threshold;                   /* of hard-threshold */
};

struct gw_training {
    const struct gw_compressor *compressor;
    size_t elements, workers;
    float *gradient; /* [elements], of one worker at a time */
    struct gw_training_worker {
        struct gw_gradients *gradients;
        struct gw_task task;
        struct gw_selection selection; /* of the last iteration */
    } * each;                          /* [workers] */
    size_t *counts;                    /* [workers]: elements selected in the last iteration */
    struct gw_workspace workspace;
    uint32_t iteration; /* the next one */
};

/* *out is safe to close in any case. */
enum gw_status gw_training_open(struct gw_training *out, const struct gw_training_spec *spec,
                                struct gw_error *error);
void gw_training_close(struct gw_training *training);

/* One iteration, with gradients `factor` times as large as the specification says. */
enum gw_status gw_training_step(struct gw_training *training, double factor,
                                struct gw_error *error);

/* Of the last iteration, over all workers: elements selected, those of several workers once. */
size_t gw_training_selected(const struct gw_training *training);

#endif
