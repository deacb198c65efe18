#include <string.h>

#include "methods/exchanges.h"

static bool carries(const char *compressor) {
    return strcmp(compressor, "none") == 0;
}

const struct gw_exchange_kind gw_exchange_server = {
    .name = "server",
    .title = "everything to a server, which updates, and back",
    .source = "Li et al., Scaling Distributed Machine Learning with the Parameter Server, 2014",
    .needed = "no compressor",
    .carries = carries,
    .server = true,
    .leg_count = 2,
    .legs = {{.collective = "push", .payload = GW_DENSE},
             {.collective = "pull", .payload = GW_DENSE, .updates = true}},
};
