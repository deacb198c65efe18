#include "methods/presets.h"

const struct gw_algorithm gw_algorithm_exdyna = {
    .name = "exdyna",
    .title = "each worker a partition of its own, with a threshold that adapts",
    .paper = "ExDyna (Yoon and Oh, 2024), Algorithms 1 to 5",
    .policy = "single",
    .compressor = "exdyna",
    .exchange = "union",
    .overlap = false,
};
