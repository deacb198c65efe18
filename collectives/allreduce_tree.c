#include "collectives/layout.h"
#include "collectives/tree.h"

const struct gw_collective gw_collective_allreduce_tree = {
    .operation = "allreduce",
    .name = "tree",
    .title = "sums go up a binomial tree, then down again",
    .source = "Thakur, Rabenseifner and Gropp 2005",
    .symmetric = gw_symmetric_never,
    .ranks = gw_ranks_workers,
    .steps = gw_tree_both_ways_steps,
    .step = gw_tree_both_ways_step,
    .blocks = gw_blocks_one,
    .cost = gw_tree_both_ways_cost,
};
