/*
 * In round i those ranks add in pairs that are left after i rounds, an odd one out goes on to the
 * next round: the binomial tree, in which a child that does not exist is not waited for.
 */
#include "collectives/layout.h"
#include "collectives/tree.h"

const struct gw_collective gw_collective_sketch_tree = {
    .operation = "sketch",
    .name = "tree",
    .title = "sketches are added in pairs, up a tree; the sum goes down",
    .source = "gs-SGD (Dai et al.), Fig. 1",
    .symmetric = gw_symmetric_never,
    .ranks = gw_ranks_workers,
    .steps = gw_tree_both_ways_steps,
    .step = gw_tree_both_ways_step,
    .blocks = gw_blocks_one,
    .cost = gw_tree_both_ways_cost,
};
