/*
 * Gradients of a training, a sample of each tensor's elements, worker by worker and iteration by
 * iteration: "schema": "gradweave/gradients@1". Selections from the samples stand for selections
 * from all elements.
 *
 *     {"schema": "gradweave/gradients@1", "model": "tiny", "source": {},
 *      "tensors": [{"name": "fc.weight", "elements": 40960, "sampled": 4}],
 *      "scales": [[0.5, 0.25]], "values": "f39/AA=="}
 *
 * "scales" has a list for each iteration, and in it the largest magnitude of each worker's sample.
 * "values", base64, has a byte for each sampled element, tensor by tensor, of the first worker in
 * the first iteration, then of the next worker, and so on. The byte's lower 7 bits are a level: 0
 * stands for 0, and any other for a magnitude of 2^((level - 127) / 8) times the scale; the upper
 * bit is set where it is negative. Magnitudes are stored within 4.4%, and those below 2^-15.8 of
 * the largest as 0.
 */
#ifndef GW_TRACES_GRADIENTS_H
#define GW_TRACES_GRADIENTS_H

#include "core/core.h"

struct gw_recorded_tensor {
    char *name;
    uint64_t elements;
    size_t sampled, first; /* of them, at least 1; where they begin in a worker's sample */
};

struct gw_recorded_gradients {
    char *path, *model;
    size_t tensor_count, workers, iteration_count, sample; /* all tensors' `sampled` */
    struct gw_recorded_tensor *tensors;                    /* [tensor_count] */
    double *scales;        /* [iteration_count * workers], not negative */
    unsigned char *levels; /* [iteration_count * workers * sample] */
};

/* Whether the document's schema is this one. */
bool gw_are_recorded_gradients(const cJSON *document);

GW_DOCUMENT(gw_recorded_gradients)

/*
 * Returns the number of iterations for that many workers: those beyond the recorded ones replay
 * these one iteration later, and so on. 0: too many workers.
 */
size_t gw_recorded_iterations(const struct gw_recorded_gradients *recorded, size_t workers);

/* Writes the sampled elements of a tensor for a worker in one of these iterations. */
void gw_recorded_gradients_fill(const struct gw_recorded_gradients *recorded, size_t iteration,
                                size_t worker, size_t tensor, float *out);

#endif
