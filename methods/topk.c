#include "methods/presets.h"

const struct gw_algorithm gw_algorithm_topk = {
    .name = "topk",
    .title = "exact top-k of the whole gradient, one allgather",
    .paper = "TopK-SGD (Aji and Heafield, EMNLP 2017; Lin et al., ICLR 2018)",
    .policy = "single",
    .compressor = "topk",
    .exchange = "allgather",
    .overlap = false,
};
