#include "collectives/layout.h"
#include "collectives/tree.h"

static void step(const struct gw_call *call, uint32_t rank, uint32_t index, struct gw_step *out) {
    *out = gw_tree_reduce(call, rank, index);
}

const struct gw_collective gw_collective_reduce_binomial = {
    .operation = "reduce",
    .name = "binomial",
    .title = "sums go up a binomial tree to rank 0",
    .source = "Thakur, Rabenseifner and Gropp 2005",
    .symmetric = gw_symmetric_never,
    .ranks = gw_ranks_workers,
    .steps = gw_tree_one_way_steps,
    .step = step,
    .blocks = gw_blocks_one,
    .cost = gw_tree_one_way_cost,
};
