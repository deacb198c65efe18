#include "methods/presets.h"

const struct gw_algorithm gw_algorithm_omgs_optimal = {
    .name = "omgs-optimal",
    .title = "top-k of merged tensors, merged as well as can be, overlapped",
    .paper = "gradweave: the optimum that OMGS (Shi et al., 2020) approaches",
    .policy = "optimal",
    .compressor = "topk",
    .exchange = "allgather",
    .overlap = true,
};
