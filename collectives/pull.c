#include "collectives/layout.h"
#include "collectives/server.h"

const struct gw_collective gw_collective_pull = {
    .operation = "pull",
    .name = "parameter-server",
    .title = "the second half of ps: the server sends to all workers, one after another",
    .source = "Li, Andersen, Smola and Yu 2014",
    .symmetric = gw_symmetric_never,
    .ranks = gw_ranks_with_server,
    .steps = gw_server_steps,
    .step = gw_server_pull,
    .blocks = gw_blocks_one,
    .cost = gw_server_cost,
};
