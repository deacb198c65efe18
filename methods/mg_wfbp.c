#include "methods/presets.h"

const struct gw_algorithm gw_algorithm_mg_wfbp = {
    .name = "mg-wfbp",
    .title = "wait-free backpropagation with greedily merged tensors",
    .paper = "MG-WFBP (Shi et al., INFOCOM 2019)",
    .policy = "mg-wfbp",
    .compressor = "none",
    .exchange = "allreduce",
    .overlap = true,
};
