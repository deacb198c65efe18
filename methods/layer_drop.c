#include "methods/presets.h"

const struct gw_algorithm gw_algorithm_layer_drop = {
    .name = "layer-drop",
    .title = "whole layers to a parameter server and back, others dropped",
    .paper = "Lee et al., Communication Optimization Schemes (layer dropping), 2020, Algorithm 1",
    .policy = "single",
    .compressor = "layer-drop",
    .exchange = "layer-server",
    .overlap = false,
};
