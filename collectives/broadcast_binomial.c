#include "collectives/layout.h"
#include "collectives/tree.h"

static void step(const struct gw_call *call, uint32_t rank, uint32_t index, struct gw_step *out) {
    *out = gw_tree_broadcast(call, rank, index);
}

const struct gw_collective gw_collective_broadcast_binomial = {
    .operation = "broadcast",
    .name = "binomial",
    .title = "from rank 0 down a binomial tree",
    .source = "Thakur, Rabenseifner and Gropp 2005",
    .symmetric = gw_symmetric_never,
    .ranks = gw_ranks_workers,
    .steps = gw_tree_one_way_steps,
    .step = step,
    .blocks = gw_blocks_one,
    .cost = gw_tree_one_way_cost,
};
