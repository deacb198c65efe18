#include "kernels/kernels.h"
#include "methods/exchanges.h"

static bool carries(const char *compressor) {
    const struct gw_compressor *found = gw_compressor_find(compressor);
    return found != NULL && found->sketched;
}

const struct gw_exchange_kind gw_exchange_sketch_server = {
    .name = "sketch-server",
    .title = "sketches to a server, which asks for the exact values of what their sum points to",
    .source = "Ivkin et al., Communication-efficient Distributed SGD with Sketching, 2019",
    .needed = "a compressor that sketches",
    .carries = carries,
    .server = true,
    .leg_count = 4,
    .legs = {{.collective = "push", .payload = GW_SKETCH},
             {.collective = "pull", .payload = GW_INDICES},
             {.collective = "push", .payload = GW_VALUES},
             {.collective = "pull", .payload = GW_VALUES}},
};
