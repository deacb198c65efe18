#include "kernels/kernels.h"
#include "methods/exchanges.h"

static bool carries(const char *compressor) {
    const struct gw_compressor *found = gw_compressor_find(compressor);
    return found != NULL && found->common;
}

const struct gw_exchange_kind gw_exchange_common_values = {
    .name = "common-values",
    .title = "the values of elements that all workers choose alike, summed by one allreduce",
    .source = "random-k with a shared seed, as the GaussianK paper describes it (Shi et al., 2019)",
    .needed = "a compressor that selects the same elements on all workers",
    .carries = carries,
    .leg_count = 1,
    .legs = {{.collective = "allreduce", .payload = GW_VALUES}},
};
