/*
 * A call's bytes are a list of k entries: two merged lists keep k, so messages do not grow.
 */
#include "collectives/layout.h"
#include "collectives/tree.h"

const struct gw_collective gw_collective_gtopk_tree = {
    .operation = "gtopk",
    .name = "tree",
    .title = "pairs merge their entries and keep k, up a tree; the result goes down",
    .source = "gTop-k (Shi et al., ICDCS 2019)",
    .symmetric = gw_symmetric_never,
    .ranks = gw_ranks_workers,
    .steps = gw_tree_both_ways_steps,
    .step = gw_tree_both_ways_step,
    .blocks = gw_blocks_one,
    .cost = gw_tree_both_ways_cost,
};
