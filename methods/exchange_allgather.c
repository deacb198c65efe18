#include "kernels/kernels.h"
#include "methods/exchanges.h"

static bool carries(const char *compressor) {
    const struct gw_compressor *found = gw_compressor_find(compressor);
    return found != NULL && found->exact;
}

const struct gw_exchange_kind gw_exchange_allgather = {
    .name = "allgather",
    .title = "as many entries of each worker, by one allgather",
    .source = "Lin et al., Deep Gradient Compression, 2018",
    .needed = "a compressor that selects just as many elements as it is asked for",
    .carries = carries,
    .leg_count = 1,
    .legs = {{.collective = "allgather", .payload = GW_SPARSE}},
};
