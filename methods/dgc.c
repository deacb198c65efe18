#include "methods/presets.h"

const struct gw_algorithm gw_algorithm_dgc = {
    .name = "dgc",
    .title = "threshold of a sample, one padded allgather",
    .paper = "Deep Gradient Compression (Lin et al., ICLR 2018)",
    .policy = "single",
    .compressor = "dgc",
    .exchange = "allgather-padded",
    .overlap = false,
};
