/*
 * The binomial tree: the parent of a rank is what is left without its lowest bit, the root is rank
 * 0. Up, a rank hears its children from the nearest to the farthest, then tells its parent; down,
 * it goes the other way round. What lies below a rank are the ranks from it on, without gaps.
 * Private to this room.
 */
#ifndef GW_COLLECTIVES_TREE_H
#define GW_COLLECTIVES_TREE_H

#include "collectives/collectives.h"

/* How many steps it is up, and as many down: the rank's children and its parent, if it has one. */
uint32_t gw_tree_steps(uint32_t workers, uint32_t rank);

/* Whom a step is about, and the ranks from the lower one of the two on down. */
struct gw_tree_edge {
    uint32_t parent, child;
    uint32_t below; /* child .. child + below - 1 */
};

struct gw_tree_edge gw_tree_up(uint32_t workers, uint32_t rank, uint32_t index);
struct gw_tree_edge gw_tree_down(uint32_t workers, uint32_t rank, uint32_t index);

/* Whole vectors up, combined on the way, and down. */
struct gw_step gw_tree_reduce(const struct gw_call *call, uint32_t rank, uint32_t index);
struct gw_step gw_tree_broadcast(const struct gw_call *call, uint32_t rank, uint32_t index);

/* Fields of struct gw_collective: whole vectors up the tree, or down. */
uint32_t gw_tree_one_way_steps(const struct gw_call *call, uint32_t rank);
double gw_tree_one_way_cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte);

/* The same for the way up and then down. */
uint32_t gw_tree_both_ways_steps(const struct gw_call *call, uint32_t rank);
void gw_tree_both_ways_step(const struct gw_call *call, uint32_t rank, uint32_t index,
                            struct gw_step *out);
double gw_tree_both_ways_cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte);

/* What gathering or scattering along the tree costs: ceil(log2 P) alpha + (P - 1) n beta. */
double gw_tree_blocks_cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte);

#endif
