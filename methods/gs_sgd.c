#include "methods/presets.h"

const struct gw_algorithm gw_algorithm_gs_sgd = {
    .name = "gs-sgd",
    .title = "count sketches summed along a tree, then exact values in a second round",
    .paper = "gs-SGD (Dai et al., 2022), Algorithms 1 and 2",
    .policy = "single",
    .compressor = "count-sketch",
    .exchange = "sketch-tree",
    .overlap = false,
};
