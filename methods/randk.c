#include "methods/presets.h"

const struct gw_algorithm gw_algorithm_randk = {
    .name = "randk",
    .title = "random k, the same on all workers, one allreduce of their values",
    .paper = "random-k, as the GaussianK paper compares with (Shi et al., 2019)",
    .policy = "single",
    .compressor = "randk",
    .exchange = "common-values",
    .overlap = false,
};
