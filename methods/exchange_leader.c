#include "kernels/kernels.h"
#include "methods/exchanges.h"

static bool carries(const char *compressor) {
    const struct gw_compressor *found = gw_compressor_find(compressor);
    return found != NULL && found->exact && !found->common && found->open == NULL;
}

const struct gw_exchange_kind gw_exchange_leader = {
    .name = "leader",
    .title = "one worker in turn broadcasts its indices; then the values of all workers by an "
             "allreduce",
    .source = "Chen et al., ScaleCom (CLT-k), 2020",
    .needed = "a compressor without a state that selects just as many elements as it is asked for",
    .carries = carries,
    .leg_count = 2,
    .legs = {{.collective = "broadcast", .payload = GW_INDICES},
             {.collective = "allreduce", .payload = GW_VALUES}},
};
