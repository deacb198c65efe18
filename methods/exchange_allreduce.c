#include <string.h>

#include "methods/exchanges.h"

static bool carries(const char *compressor) {
    return strcmp(compressor, "none") == 0;
}

const struct gw_exchange_kind gw_exchange_allreduce = {
    .name = "allreduce",
    .title = "everything, summed by one allreduce",
    .source = "every framework",
    .needed = "no compressor",
    .carries = carries,
    .leg_count = 1,
    .legs = {{.collective = "allreduce", .payload = GW_DENSE}},
};
