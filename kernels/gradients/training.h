/*
 * A training's gradients without the network: workers with gradients of their own and error
 * feedback, as compressors with a state meet them in a training. For benchmarks, for the simulation
 * of methods whose counts depend on data, and for tests.
 */
#ifndef GW_KERNELS_TRAINING_H
#define GW_KERNELS_TRAINING_H

#include "core/arena.h"
#include "kernels/kernels.h"

struct gw_training_spec {
    const struct gw_compressor *compressor;
    struct gw_gradients_spec gradients; /* of each worker; its sizes are the layers */
    size_t kept, workers;               /* k, of all elements; at least one each */
    double threshold;                   /* of hard-threshold, and ExDyna's first */
    /*
     * Workers have different batches: a worker's gradient of an iteration is multiplied by a factor
     * of mean 1 whose logarithm is normal with this deviation. 0: all gradients are equally large.
     */
    double batch_spread;
    size_t threads; /* share the workers, without an effect on counts; 0 means 1 */
};

struct gw_training {
    const struct gw_compressor *compressor;
    size_t elements, workers;
    struct gw_arena arena;
    struct gw_training_worker {
        struct gw_gradients *gradients;
        float *gradient; /* [elements] */
        struct gw_task task;
        struct gw_selection selection; /* of the last iteration */
        struct gw_workspace workspace;
        enum gw_status status; /* of its last step */
        struct gw_error error;
    } * each;           /* [workers] */
    size_t *counts;     /* [workers]: elements selected in the last iteration */
    uint32_t iteration; /* the next one */
    struct gw_noise batches;
    uint64_t seed;
    size_t threads;
    double factor;   /* of the current step */
    uint8_t *marked; /* [elements]: all 0 between calls */
};

/* *out may be closed on failure too. */
enum gw_status gw_training_open(struct gw_training *out, const struct gw_training_spec *spec,
                                struct gw_error *error);
void gw_training_close(struct gw_training *training);

/* Runs one iteration, with gradients `factor` times as large as specified. */
enum gw_status gw_training_step(struct gw_training *training, double factor,
                                struct gw_error *error);

/* The number of elements selected in the last iteration, those of several workers counted once. */
size_t gw_training_selected(const struct gw_training *training);

/* The smallest of the `kept` largest |gradient| of a worker's first gradient: the threshold that
 * would then select exactly these. For hard-threshold, whose threshold is fixed for a run. */
enum gw_status gw_training_first_threshold(const struct gw_training_spec *spec, double *out,
                                           struct gw_error *error);

#endif
