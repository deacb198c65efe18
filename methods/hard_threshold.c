#include "methods/presets.h"

const struct gw_algorithm gw_algorithm_hard_threshold = {
    .name = "hard-threshold",
    .title = "what exceeds a fixed threshold, one padded allgather",
    .paper = "hard threshold (Strom, 2015; Sahu et al., 2021), as the ExDyna paper compares with",
    .policy = "single",
    .compressor = "hard-threshold",
    .exchange = "allgather-padded",
    .overlap = false,
};
