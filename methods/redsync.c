#include "methods/presets.h"

const struct gw_algorithm gw_algorithm_redsync = {
    .name = "redsync",
    .title = "trimmed top-k, one padded allgather",
    .paper = "RedSync (Fang et al., 2019)",
    .policy = "single",
    .compressor = "redsync",
    .exchange = "allgather-padded",
    .overlap = false,
};
