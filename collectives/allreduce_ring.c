#include "collectives/layout.h"
#include "collectives/ring.h"

/* Once round for the sums, and once more for handing them on. */
static uint32_t steps(const struct gw_call *call, uint32_t rank) {
    (void)rank;
    return 2 * (call->workers - 1);
}

static void step(const struct gw_call *call, uint32_t rank, uint32_t index, struct gw_step *out) {
    gw_ring_step(call->workers, rank, index, out);
    struct gw_shares shares = gw_shares_of(call->bytes, call->workers);
    out->send_bytes = gw_share_bytes(&shares, out->send.first);
    out->receive_bytes = gw_share_bytes(&shares, out->receive.first);
    out->combined_bytes = index < call->workers - 1 ? out->receive_bytes : 0;
}

/* The largest share, the first, is always on its way. */
static double cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    double share = (double)gw_share_offset(call->bytes, call->workers, 1);
    return 2 * (double)(call->workers - 1) * (alpha_s + share * beta_s_per_byte);
}

const struct gw_collective gw_collective_allreduce_ring = {
    .operation = "allreduce",
    .name = "ring",
    .title = "reduce-scatter and allgather, both round the ring of workers",
    .source = "Patarasuk and Yuan 2009",
    .symmetric = gw_symmetric_always,
    .uniform = true,
    .ranks = gw_ranks_workers,
    .steps = steps,
    .step = step,
    .blocks = gw_blocks_per_worker,
    .shares = true,
    .cost = cost,
};
