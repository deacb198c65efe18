/* A network's gradients: tensors with sizes and backward times. */
#ifndef GW_TRACES_MODEL_H
#define GW_TRACES_MODEL_H

#include "core/core.h"

struct gw_tensor {
    char *name;
    uint64_t elements;
    double backward_s; /* from the previous gradient being ready to this one being ready */
    size_t dimensions;
    uint64_t *shape; /* [dimensions], whose product is `elements`, owned; NULL: not known */
};

struct gw_model {
    char *name;
    char *device;    /* that computes, as its source says; NULL: not said */
    char *precision; /* of its products: "tf32"; NULL: not said */
    char *kind;      /* how its times came to be, as its source says: "measured"; NULL: not said */
    double batch_size; /* samples per worker; 0: not said */
    uint64_t bytes_per_element;
    double forward_s, update_s;
    /* Micro-batches of an iteration, each with a forward and a backward pass; the gradients of all
     * travel with the last one's. Set by the question, not read from the file; 0 means 1. */
    size_t micro_batches;
    double uncertainty; /* of these times and tensors', relative: half of a 95% interval; 0: none */
    size_t tensor_count;
    struct gw_tensor *tensors; /* in forward order; the backward pass visits them from the last */
};

GW_DOCUMENT(gw_model)

uint64_t gw_model_elements(const struct gw_model *model);
/* Elements of the smallest tensor. */
uint64_t gw_model_smallest(const struct gw_model *model);
double gw_model_backward_s(const struct gw_model *model); /* of one micro-batch */

/* Returns the start of the backward pass whose gradients travel, after all passes before it. */
double gw_model_ahead_s(const struct gw_model *model);

/* Returns the time of an iteration without exchanges and compression. */
double gw_model_alone_s(const struct gw_model *model);

#endif
