/*
 * ExDyna without its dynamic allocation: partitions stay equal, however unequal what workers find
 * in them. What the paper compares with as coarse-grained partitioning (its Fig. 9).
 */
#include "kernels/exdyna.h"

extern const struct gw_compressor gw_compressor_exdyna_static;

const struct gw_compressor gw_compressor_exdyna_static = {
    .name = "exdyna-static",
    .title = "ExDyna with partitions that stay equal",
    .paper = "Yoon and Oh, 2024, as the paper compares with in its Fig. 9",
    .joint = true,
    .select = gw_exdyna_select,
    .reference = gw_exdyna_select_reference,
    .open = gw_exdyna_open,
    .close = gw_exdyna_close,
    .observe = gw_exdyna_observe_static,
};
