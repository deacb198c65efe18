#include "collectives/layout.h"
#include "collectives/ring.h"

static uint32_t steps(const struct gw_call *call, uint32_t rank) {
    (void)rank;
    return call->workers - 1;
}

static void step(const struct gw_call *call, uint32_t rank, uint32_t index, struct gw_step *out) {
    gw_ring_step(call->workers, rank, index, out);
    out->send_bytes = call->bytes;
    out->receive_bytes = call->bytes;
    out->combined_bytes = 0;
}

static double cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    return (double)(call->workers - 1) * (alpha_s + (double)call->bytes * beta_s_per_byte);
}

const struct gw_collective gw_collective_allgather_ring = {
    .operation = "allgather",
    .name = "ring",
    .title = "each block goes round the ring of workers",
    .source = "Thakur, Rabenseifner and Gropp 2005",
    .symmetric = gw_symmetric_always,
    .uniform = true,
    .ranks = gw_ranks_workers,
    .steps = steps,
    .step = step,
    .blocks = gw_blocks_per_worker,
    .cost = cost,
};
