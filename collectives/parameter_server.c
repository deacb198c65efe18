#include "collectives/layout.h"
#include "collectives/server.h"

static uint32_t steps(const struct gw_call *call, uint32_t rank) {
    return 2 * gw_server_steps(call, rank);
}

static void step(const struct gw_call *call, uint32_t rank, uint32_t index, struct gw_step *out) {
    uint32_t pushes = gw_server_steps(call, rank);
    if (index < pushes) {
        gw_server_push(call, rank, index, out);
    } else {
        gw_server_pull(call, rank, index - pushes, out);
    }
}

static double cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    return 2 * gw_server_cost(call, alpha_s, beta_s_per_byte);
}

const struct gw_collective gw_collective_parameter_server = {
    .operation = "ps",
    .name = "parameter-server",
    .title = "all workers push to a server, which adds, then all pull from it",
    .source = "Li, Andersen, Smola and Yu 2014",
    .symmetric = gw_symmetric_never,
    .ranks = gw_ranks_with_server,
    .steps = steps,
    .step = step,
    .blocks = gw_blocks_one,
    .cost = cost,
};
