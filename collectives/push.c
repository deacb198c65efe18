#include "collectives/layout.h"
#include "collectives/server.h"

const struct gw_collective gw_collective_push = {
    .operation = "push",
    .name = "parameter-server",
    .title = "the first half of ps: all workers send to the server, which adds",
    .source = "Li, Andersen, Smola and Yu 2014",
    .symmetric = gw_symmetric_never,
    .ranks = gw_ranks_with_server,
    .steps = gw_server_steps,
    .step = gw_server_push,
    .blocks = gw_blocks_one,
    .cost = gw_server_cost,
};
