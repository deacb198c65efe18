#include "kernels/kernels.h"
#include "methods/exchanges.h"

static bool carries(const char *compressor) {
    const struct gw_compressor *found = gw_compressor_find(compressor);
    return found != NULL && found->exact && !found->common;
}

const struct gw_exchange_kind gw_exchange_gtopk = {
    .name = "gtopk",
    .title = "entries merged two by two along a tree, of which the k largest sums go on; then a "
             "broadcast",
    .source = "Shi et al., A Distributed Synchronous SGD Algorithm with Global Top-k "
              "Sparsification, 2019",
    .needed = "a compressor that selects just as many elements as it is asked for, on each worker "
              "its own",
    .carries = carries,
    .leg_count = 1,
    .legs = {{.collective = "gtopk", .payload = GW_SPARSE}},
};
