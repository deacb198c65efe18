#include "collectives/layout.h"

static uint32_t steps(const struct gw_call *call, uint32_t rank) {
    return rank == 0 ? call->workers - 1 : 1;
}

static void step(const struct gw_call *call, uint32_t rank, uint32_t index, struct gw_step *out) {
    (void)index;
    const struct gw_transfer transfer = {.from = rank == 0 ? GW_ANYBODY : rank,
                                         .to = 0,
                                         .blocks = {.first = rank, .count = 1},
                                         .bytes = call->bytes};
    *out = gw_transfer_step(&transfer, rank);
}

/* Messages queue at rank 0's link. */
static double cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    return call->workers == 1
               ? 0
               : alpha_s + (double)(call->workers - 1) * (double)call->bytes * beta_s_per_byte;
}

const struct gw_collective gw_collective_gather_linear = {
    .operation = "gather",
    .name = "linear",
    .title = "all send to rank 0, which takes them as they come",
    .source = "Alexandrov et al. 1995",
    .symmetric = gw_symmetric_never,
    .ranks = gw_ranks_workers,
    .steps = steps,
    .step = step,
    .blocks = gw_blocks_per_worker,
    .cost = cost,
};
