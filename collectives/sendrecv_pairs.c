#include "collectives/layout.h"

/* The last of an odd number of workers has nobody. */
static uint32_t steps(const struct gw_call *call, uint32_t rank) {
    return (rank | 1) < call->workers ? 1 : 0;
}

static void step(const struct gw_call *call, uint32_t rank, uint32_t index, struct gw_step *out) {
    (void)index;
    const struct gw_transfer message = {
        .from = rank & ~1U, .to = rank | 1, .blocks = gw_whole, .bytes = call->bytes};
    *out = gw_transfer_step(&message, rank);
}

static double cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    return call->workers == 1 ? 0 : alpha_s + (double)call->bytes * beta_s_per_byte;
}

const struct gw_collective gw_collective_sendrecv_pairs = {
    .operation = "sendrecv",
    .name = "pairs",
    .title = "every even rank sends to the odd one after it",
    .source = "Hockney 1994",
    .symmetric = gw_symmetric_never,
    .ranks = gw_ranks_workers,
    .steps = steps,
    .step = step,
    .blocks = gw_blocks_one,
    .cost = cost,
};
