#include "kernels/kernels.h"
#include "methods/exchanges.h"

static bool carries(const char *compressor) {
    return gw_compressor_find(compressor) != NULL;
}

const struct gw_exchange_kind gw_exchange_allgather_padded = {
    .name = "allgather-padded",
    .title = "counts by an allgather, then each worker's entries, padded to the most, by another",
    .source = "Shi et al., Understanding Top-k Sparsification (GaussianK), 2019",
    .needed = "a compressor",
    .carries = carries,
    .leg_count = 2,
    .legs = {{.collective = "allgather", .payload = GW_COUNTS},
             {.collective = "allgather", .payload = GW_PADDED}},
};
