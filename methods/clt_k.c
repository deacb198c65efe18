#include "methods/presets.h"

const struct gw_algorithm gw_algorithm_clt_k = {
    .name = "clt-k",
    .title = "one worker's top-k in turn, values of all workers by one allreduce",
    .paper = "ScaleCom (Chen et al., NeurIPS 2020), CLT-k",
    .policy = "single",
    .compressor = "topk",
    .exchange = "leader",
    .overlap = false,
};
