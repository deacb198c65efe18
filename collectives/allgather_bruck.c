#include "collectives/layout.h"

static uint32_t steps(const struct gw_call *call, uint32_t rank) {
    (void)rank;
    return gw_ceil_log2(call->workers);
}

/* Before round k a rank holds 2^k blocks, its own first. */
static void step(const struct gw_call *call, uint32_t rank, uint32_t index, struct gw_step *out) {
    uint32_t held = 1U << index;
    uint32_t count = gw_smaller(held, call->workers - held);
    uint32_t right = (rank + held) % call->workers;
    uint64_t bytes = gw_copies_bytes(call->bytes, count);
    *out = (struct gw_step){.to = (rank + call->workers - held) % call->workers,
                            .from = right,
                            .send_bytes = bytes,
                            .receive_bytes = bytes,
                            .send = {.first = rank, .count = count},
                            .receive = {.first = right, .count = count}};
}

static double cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    return (double)gw_ceil_log2(call->workers) * alpha_s +
           (double)(call->workers - 1) * (double)call->bytes * beta_s_per_byte;
}

const struct gw_collective gw_collective_allgather_bruck = {
    .operation = "allgather",
    .name = "bruck",
    .title = "what is held doubles in every round, for any number of workers",
    .source = "Bruck et al. 1997",
    .symmetric = gw_symmetric_always,
    .ranks = gw_ranks_workers,
    .steps = steps,
    .step = step,
    .blocks = gw_blocks_per_worker,
    .cost = cost,
};
