#include "collectives/layout.h"
#include "collectives/tree.h"

static void step(const struct gw_call *call, uint32_t rank, uint32_t index, struct gw_step *out) {
    struct gw_tree_edge edge = gw_tree_down(call->workers, rank, index);
    const struct gw_transfer transfer = {.from = edge.parent,
                                         .to = edge.child,
                                         .blocks = {.first = edge.child, .count = edge.below},
                                         .bytes = gw_copies_bytes(call->bytes, edge.below)};
    *out = gw_transfer_step(&transfer, rank);
}

const struct gw_collective gw_collective_scatter_binomial = {
    .operation = "scatter",
    .name = "binomial",
    .title = "from rank 0 down a binomial tree, shrinking on the way",
    .source = "Thakur, Rabenseifner and Gropp 2005",
    .symmetric = gw_symmetric_never,
    .ranks = gw_ranks_workers,
    .steps = gw_tree_one_way_steps,
    .step = step,
    .blocks = gw_blocks_per_worker,
    .cost = gw_tree_blocks_cost,
};
