/*
 * The binomial tree: the parent of a rank is the rank without its lowest bit; the root is rank 0.
 * On the way up, a rank receives from its children, nearest first, then sends to its parent; on the
 * way down, it does the reverse. The ranks below a rank follow it without gaps.
 */
#include "collectives/layout.h"

/* The two ranks of a step, and the number of ranks from the child on down. */
struct tree_edge {
    uint32_t parent, child;
    uint32_t below; /* child .. child + below - 1 */
};

/* Children are rank + 1, rank + 2, rank + 4, ..., below the rank's lowest bit and the workers. */
static uint32_t count_children(uint32_t workers, uint32_t rank) {
    uint32_t fit = gw_ceil_log2(workers - rank);
    return rank == 0 ? fit : gw_smaller(fit, (uint32_t)__builtin_ctz(rank));
}

/* The number of steps up, and down: one for each child and one for the parent, if there is one. */
static uint32_t tree_steps(uint32_t workers, uint32_t rank) {
    return count_children(workers, rank) + (rank > 0 ? 1 : 0);
}

/* The edge of the `index`th step of the way up, or of the way down. */
static struct tree_edge tree_edge_of_step(uint32_t workers, uint32_t rank, uint32_t index,
                                          bool up) {
    uint32_t hop = up ? index : tree_steps(workers, rank) - 1 - index;
    uint32_t child = hop < count_children(workers, rank) ? rank + (1U << hop) : rank;
    uint32_t lowest = child & (~child + 1);
    return (struct tree_edge){
        .parent = child - lowest, .child = child, .below = gw_smaller(lowest, workers - child)};
}

/* Whole vectors, combined on the way up. */
static struct gw_step tree_vector_step(const struct gw_call *call, uint32_t rank, uint32_t index,
                                       bool up) {
    struct tree_edge edge = tree_edge_of_step(call->workers, rank, index, up);
    const struct gw_transfer vector = {.from = up ? edge.child : edge.parent,
                                       .to = up ? edge.parent : edge.child,
                                       .blocks = gw_whole,
                                       .bytes = call->bytes,
                                       .combined = up};
    return gw_transfer_step(&vector, rank);
}

/* The blocks of the child and all ranks below it. */
static struct gw_step tree_blocks_step(const struct gw_call *call, uint32_t rank, uint32_t index,
                                       bool up) {
    struct tree_edge edge = tree_edge_of_step(call->workers, rank, index, up);
    const struct gw_transfer transfer = {.from = up ? edge.child : edge.parent,
                                         .to = up ? edge.parent : edge.child,
                                         .blocks = {.first = edge.child, .count = edge.below},
                                         .bytes = gw_copies_bytes(call->bytes, edge.below)};
    return gw_transfer_step(&transfer, rank);
}

static uint32_t tree_one_way_steps(const struct gw_call *call, uint32_t rank) {
    return tree_steps(call->workers, rank);
}

static double tree_one_way_cost(const struct gw_call *call, double alpha_s,
                                double beta_s_per_byte) {
    return (double)gw_ceil_log2(call->workers) * (alpha_s + (double)call->bytes * beta_s_per_byte);
}

static uint32_t tree_both_ways_steps(const struct gw_call *call, uint32_t rank) {
    return 2 * tree_steps(call->workers, rank);
}

static void tree_both_ways_step(const struct gw_call *call, uint32_t rank, uint32_t index,
                                struct gw_step *out) {
    uint32_t up = tree_steps(call->workers, rank);
    *out = index < up ? tree_vector_step(call, rank, index, true)
                      : tree_vector_step(call, rank, index - up, false);
}

static double tree_both_ways_cost(const struct gw_call *call, double alpha_s,
                                  double beta_s_per_byte) {
    return 2 * tree_one_way_cost(call, alpha_s, beta_s_per_byte);
}

static double tree_blocks_cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    return (double)gw_ceil_log2(call->workers) * alpha_s +
           (double)(call->workers - 1) * (double)call->bytes * beta_s_per_byte;
}

static void tree_reduce_step(const struct gw_call *call, uint32_t rank, uint32_t index,
                             struct gw_step *out) {
    *out = tree_vector_step(call, rank, index, true);
}

const struct gw_collective gw_collective_reduce_binomial = {
    .operation = "reduce",
    .name = "binomial",
    .title = "sums go up a binomial tree to rank 0",
    .source = "Thakur, Rabenseifner and Gropp 2005",
    .steps = tree_one_way_steps,
    .step = tree_reduce_step,
    .cost = tree_one_way_cost,
};

static void tree_broadcast_step(const struct gw_call *call, uint32_t rank, uint32_t index,
                                struct gw_step *out) {
    *out = tree_vector_step(call, rank, index, false);
}

const struct gw_collective gw_collective_broadcast_binomial = {
    .operation = "broadcast",
    .name = "binomial",
    .title = "from rank 0 down a binomial tree",
    .source = "Thakur, Rabenseifner and Gropp 2005",
    .steps = tree_one_way_steps,
    .step = tree_broadcast_step,
    .cost = tree_one_way_cost,
};

static void tree_gather_step(const struct gw_call *call, uint32_t rank, uint32_t index,
                             struct gw_step *out) {
    *out = tree_blocks_step(call, rank, index, true);
}

const struct gw_collective gw_collective_gather_binomial = {
    .operation = "gather",
    .name = "binomial",
    .title = "up a binomial tree to rank 0, growing on the way",
    .source = "Thakur, Rabenseifner and Gropp 2005",
    .steps = tree_one_way_steps,
    .step = tree_gather_step,
    .cut = GW_BLOCK_PER_WORKER,
    .cost = tree_blocks_cost,
};

static void tree_scatter_step(const struct gw_call *call, uint32_t rank, uint32_t index,
                              struct gw_step *out) {
    *out = tree_blocks_step(call, rank, index, false);
}

const struct gw_collective gw_collective_scatter_binomial = {
    .operation = "scatter",
    .name = "binomial",
    .title = "from rank 0 down a binomial tree, shrinking on the way",
    .source = "Thakur, Rabenseifner and Gropp 2005",
    .steps = tree_one_way_steps,
    .step = tree_scatter_step,
    .cut = GW_BLOCK_PER_WORKER,
    .cost = tree_blocks_cost,
};

const struct gw_collective gw_collective_allreduce_tree = {
    .operation = "allreduce",
    .name = "tree",
    .title = "sums go up a binomial tree, then down again",
    .source = "Thakur, Rabenseifner and Gropp 2005",
    .steps = tree_both_ways_steps,
    .step = tree_both_ways_step,
    .cost = tree_both_ways_cost,
};

/* A call's bytes are a list of k entries. Two merged lists keep k, so messages do not grow. */
const struct gw_collective gw_collective_gtopk_tree = {
    .operation = "gtopk",
    .name = "tree",
    .title = "pairs merge their entries and keep k, up a tree; the result goes down",
    .source = "gTop-k (Shi et al., ICDCS 2019)",
    .steps = tree_both_ways_steps,
    .step = tree_both_ways_step,
    .cost = tree_both_ways_cost,
};

/*
 * In round i the ranks that remain after i rounds add in pairs; one without a partner goes on to
 * the next round. This is the binomial tree, in which no rank waits for a child that does not
 * exist.
 */
const struct gw_collective gw_collective_sketch_tree = {
    .operation = "sketch",
    .name = "tree",
    .title = "sketches are added in pairs, up a tree; the sum goes down",
    .source = "gs-SGD (Dai et al.), Fig. 1",
    .steps = tree_both_ways_steps,
    .step = tree_both_ways_step,
    .cost = tree_both_ways_cost,
};
