#include "methods/presets.h"

const struct gw_algorithm gw_algorithm_lags = {
    .name = "lags",
    .title = "exact top-k of every tensor, one allgather each, overlapped",
    .paper = "LAGS-SGD (Shi et al., ECAI 2020)",
    .policy = "per-tensor",
    .compressor = "topk",
    .exchange = "allgather",
    .overlap = true,
};
