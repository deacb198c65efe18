#include "collectives/tree.h"

#include "collectives/layout.h"

/* Children are rank + 1, rank + 2, rank + 4, ..., below the rank's lowest bit and the workers. */
static uint32_t children(uint32_t workers, uint32_t rank) {
    uint32_t fit = gw_ceil_log2(workers - rank);
    return rank == 0 ? fit : gw_smaller(fit, (uint32_t)__builtin_ctz(rank));
}

uint32_t gw_tree_steps(uint32_t workers, uint32_t rank) {
    return children(workers, rank) + (rank > 0 ? 1 : 0);
}

static struct gw_tree_edge edge_to(uint32_t workers, uint32_t child) {
    uint32_t lowest = child & (~child + 1);
    return (struct gw_tree_edge){
        .parent = child - lowest, .child = child, .below = gw_smaller(lowest, workers - child)};
}

struct gw_tree_edge gw_tree_up(uint32_t workers, uint32_t rank, uint32_t index) {
    return edge_to(workers, index < children(workers, rank) ? rank + (1U << index) : rank);
}

struct gw_tree_edge gw_tree_down(uint32_t workers, uint32_t rank, uint32_t index) {
    return gw_tree_up(workers, rank, gw_tree_steps(workers, rank) - 1 - index);
}

struct gw_step gw_tree_reduce(const struct gw_call *call, uint32_t rank, uint32_t index) {
    struct gw_tree_edge edge = gw_tree_up(call->workers, rank, index);
    const struct gw_transfer vector = {.from = edge.child,
                                       .to = edge.parent,
                                       .blocks = gw_whole,
                                       .bytes = call->bytes,
                                       .combined = true};
    return gw_transfer_step(&vector, rank);
}

struct gw_step gw_tree_broadcast(const struct gw_call *call, uint32_t rank, uint32_t index) {
    struct gw_tree_edge edge = gw_tree_down(call->workers, rank, index);
    const struct gw_transfer vector = {
        .from = edge.parent, .to = edge.child, .blocks = gw_whole, .bytes = call->bytes};
    return gw_transfer_step(&vector, rank);
}

uint32_t gw_tree_one_way_steps(const struct gw_call *call, uint32_t rank) {
    return gw_tree_steps(call->workers, rank);
}

double gw_tree_one_way_cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    return (double)gw_ceil_log2(call->workers) * (alpha_s + (double)call->bytes * beta_s_per_byte);
}

uint32_t gw_tree_both_ways_steps(const struct gw_call *call, uint32_t rank) {
    return 2 * gw_tree_steps(call->workers, rank);
}

void gw_tree_both_ways_step(const struct gw_call *call, uint32_t rank, uint32_t index,
                            struct gw_step *out) {
    uint32_t up = gw_tree_steps(call->workers, rank);
    *out =
        index < up ? gw_tree_reduce(call, rank, index) : gw_tree_broadcast(call, rank, index - up);
}

double gw_tree_both_ways_cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    return 2 * gw_tree_one_way_cost(call, alpha_s, beta_s_per_byte);
}

double gw_tree_blocks_cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    return (double)gw_ceil_log2(call->workers) * alpha_s +
           (double)(call->workers - 1) * (double)call->bytes * beta_s_per_byte;
}
