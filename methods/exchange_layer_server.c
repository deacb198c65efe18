#include "kernels/kernels.h"
#include "methods/exchanges.h"

static bool carries(const char *compressor) {
    const struct gw_compressor *found = gw_compressor_find(compressor);
    return found != NULL && found->layered;
}

const struct gw_exchange_kind gw_exchange_layer_server = {
    .name = "layer-server",
    .title = "whole layers to a server and back; a layer that is not chosen is one element",
    .source = "Lee et al., Communication Optimization Schemes (layer dropping), 2020, Algorithm 1",
    .needed = "a compressor that chooses whole layers",
    .carries = carries,
    .server = true,
    .leg_count = 2,
    .legs = {{.collective = "push", .payload = GW_LAYERS},
             {.collective = "pull", .payload = GW_ALL_LAYERS, .updates = true}},
};
