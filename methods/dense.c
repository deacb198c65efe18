#include "methods/presets.h"

const struct gw_algorithm gw_algorithm_dense = {
    .name = "dense",
    .title = "S-SGD: allreduce of all gradients after the backward pass",
    .paper = "baseline of all five papers",
    .policy = "single",
    .compressor = "none",
    .exchange = "allreduce",
    .overlap = false,
};
