#include "kernels/kernels.h"
#include "methods/exchanges.h"

static bool carries(const char *compressor) {
    const struct gw_compressor *found = gw_compressor_find(compressor);
    return found != NULL && found->joint;
}

const struct gw_exchange_kind gw_exchange_union = {
    .name = "union",
    .title = "each worker's indices by a padded allgather, then the values of all of them by an "
             "allreduce",
    .source = "Yoon and Oh, Preserving Near-Optimal Gradient Sparsification Cost (ExDyna, 2024), "
              "Algorithm 1",
    .needed = "a compressor whose workers share out the elements",
    .carries = carries,
    .leg_count = 3,
    .legs = {{.collective = "allgather", .payload = GW_COUNTS},
             {.collective = "allgather", .payload = GW_INDICES},
             {.collective = "allreduce", .payload = GW_VALUES}},
};
