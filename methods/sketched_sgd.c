#include "methods/presets.h"

const struct gw_algorithm gw_algorithm_sketched_sgd = {
    .name = "sketched-sgd",
    .title = "count sketches to a server, then exact values in a second round",
    .paper = "Sketched-SGD (Ivkin et al., NeurIPS 2019)",
    .policy = "single",
    .compressor = "count-sketch",
    .exchange = "sketch-server",
    .overlap = false,
};
