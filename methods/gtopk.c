#include "methods/presets.h"

const struct gw_algorithm gw_algorithm_gtopk = {
    .name = "gtopk",
    .title = "exact top-k, merged along a tree to the k largest sums",
    .paper = "gTop-k S-SGD (Shi et al., ICDCS 2019)",
    .policy = "single",
    .compressor = "topk",
    .exchange = "gtopk",
    .overlap = false,
};
