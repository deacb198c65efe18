/* The ring: in every step each rank sends the block that it received last to its right neighbour,
 * so that each block has been everywhere after P - 1 steps. */
#include "collectives/layout.h"

/* Sets ranks and blocks of a step (of a second round too); the caller sets the bytes. */
static inline void ring_step(uint32_t workers, uint32_t rank, uint32_t index, struct gw_step *out) {
    uint32_t round = index < workers ? index : index - workers;
    uint32_t sent = rank >= round ? rank - round : rank + workers - round;
    out->to = rank + 1 < workers ? rank + 1 : 0;
    out->from = rank > 0 ? rank - 1 : workers - 1;
    out->send.first = sent;
    out->send.count = 1;
    out->receive.first = sent > 0 ? sent - 1 : workers - 1;
    out->receive.count = 1;
}

static uint32_t allgather_steps(const struct gw_call *call, uint32_t rank) {
    (void)rank;
    return call->workers - 1;
}

static void allgather_step(const struct gw_call *call, uint32_t rank, uint32_t index,
                           struct gw_step *out) {
    ring_step(call->workers, rank, index, out);
    out->send_bytes = call->bytes;
    out->receive_bytes = call->bytes;
    out->combined_bytes = 0;
}

static double allgather_cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    return (double)(call->workers - 1) * (alpha_s + (double)call->bytes * beta_s_per_byte);
}

const struct gw_collective gw_collective_allgather_ring = {
    .operation = "allgather",
    .name = "ring",
    .title = "each block goes round the ring of workers",
    .source = "Thakur, Rabenseifner and Gropp 2005",
    .symmetric = GW_SYMMETRIC_ALWAYS,
    .uniform = true,
    .steps = allgather_steps,
    .step = allgather_step,
    .cut = GW_BLOCK_PER_WORKER,
    .cost = allgather_cost,
};

/* Once around for the sums, and once more to distribute them. */
static uint32_t allreduce_steps(const struct gw_call *call, uint32_t rank) {
    (void)rank;
    return 2 * (call->workers - 1);
}

static void allreduce_step(const struct gw_call *call, uint32_t rank, uint32_t index,
                           struct gw_step *out) {
    ring_step(call->workers, rank, index, out);
    struct gw_shares shares = gw_shares_of(call->bytes, call->workers);
    out->send_bytes = gw_share_bytes(&shares, out->send.first);
    out->receive_bytes = gw_share_bytes(&shares, out->receive.first);
    out->combined_bytes = index < call->workers - 1 ? out->receive_bytes : 0;
}

/* In every step some rank sends the first share, which is the largest. */
static double allreduce_cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    double share = (double)gw_share_offset(call->bytes, call->workers, 1);
    return 2 * (double)(call->workers - 1) * (alpha_s + share * beta_s_per_byte);
}

const struct gw_collective gw_collective_allreduce_ring = {
    .operation = "allreduce",
    .name = "ring",
    .title = "reduce-scatter and allgather, both round the ring of workers",
    .source = "Patarasuk and Yuan 2009",
    .symmetric = GW_SYMMETRIC_ALWAYS,
    .uniform = true,
    .steps = allreduce_steps,
    .step = allreduce_step,
    .cut = GW_BLOCK_PER_WORKER,
    .shares = GW_SHARES,
    .cost = allreduce_cost,
};
