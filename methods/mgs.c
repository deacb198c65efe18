#include "methods/presets.h"

const struct gw_algorithm gw_algorithm_mgs = {
    .name = "mgs",
    .title = "top-k of groups of at least 8192 elements, overlapped",
    .paper = "MGS-SGD (OMGS paper, Tables V and VI)",
    .policy = "threshold:8192",
    .compressor = "topk",
    .exchange = "allgather",
    .overlap = true,
};
