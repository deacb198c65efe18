#include "kernels/kernels.h"
#include "methods/exchanges.h"

static bool carries(const char *compressor) {
    const struct gw_compressor *found = gw_compressor_find(compressor);
    return found != NULL && found->sketched;
}

const struct gw_exchange_kind gw_exchange_sketch_tree = {
    .name = "sketch-tree",
    .title = "sketches summed along a tree; then the exact values of what the sum points to",
    .source = "Dai et al., gs-SGD, 2022, Algorithms 1 and 2, Fig. 1",
    .needed = "a compressor that sketches",
    .carries = carries,
    .leg_count = 2,
    .legs = {{.collective = "sketch", .payload = GW_SKETCH},
             {.collective = "sketch", .payload = GW_VALUES}},
};
