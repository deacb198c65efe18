#include "methods/presets.h"

const struct gw_algorithm gw_algorithm_ps = {
    .name = "ps",
    .title = "everything to a parameter server and back",
    .paper = "Parameter Server (Li et al., OSDI 2014), baseline of the layer dropping paper",
    .policy = "single",
    .compressor = "none",
    .exchange = "server",
    .overlap = false,
};
