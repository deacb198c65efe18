#include "methods/presets.h"

const struct gw_algorithm gw_algorithm_gaussiank = {
    .name = "gaussiank",
    .title = "threshold of a fitted normal distribution, one padded allgather",
    .paper = "GaussianK-SGD (Shi et al., 2019), Algorithm 1",
    .policy = "single",
    .compressor = "gaussiank",
    .exchange = "allgather-padded",
    .overlap = false,
};
