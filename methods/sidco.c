#include "methods/presets.h"

const struct gw_algorithm gw_algorithm_sidco = {
    .name = "sidco",
    .title = "threshold of a fitted exponential distribution, one padded allgather",
    .paper = "SIDCo (Abdelmoniem et al., MLSys 2021)",
    .policy = "single",
    .compressor = "sidco",
    .exchange = "allgather-padded",
    .overlap = false,
};
