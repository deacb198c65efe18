#include "methods/presets.h"

const struct gw_algorithm gw_algorithm_omgs = {
    .name = "omgs",
    .title = "top-k of groups that Algorithm 1 merges, overlapped",
    .paper = "OMGS-SGD (Shi et al., INFOCOM 2020)",
    .policy = "omgs",
    .compressor = "topk",
    .exchange = "allgather",
    .overlap = true,
};
