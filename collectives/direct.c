/* Algorithms in which every message goes straight to its destination. */
#include "collectives/layout.h"

static uint32_t linear_steps(const struct gw_call *call, uint32_t rank) {
    return rank == 0 ? call->workers - 1 : 1;
}

static void linear_gather_step(const struct gw_call *call, uint32_t rank, uint32_t index,
                               struct gw_step *out) {
    (void)index;
    const struct gw_transfer transfer = {.from = rank == 0 ? GW_ANYBODY : rank,
                                         .to = 0,
                                         .blocks = {.first = rank, .count = 1},
                                         .bytes = call->bytes};
    *out = gw_transfer_step(&transfer, rank);
}

/* Messages queue at rank 0's link. */
static double linear_cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    return call->workers == 1
               ? 0
               : alpha_s + (double)(call->workers - 1) * (double)call->bytes * beta_s_per_byte;
}

const struct gw_collective gw_collective_gather_linear = {
    .operation = "gather",
    .name = "linear",
    .title = "all send to rank 0, which takes them as they come",
    .source = "Alexandrov et al. 1995",
    .steps = linear_steps,
    .step = linear_gather_step,
    .cut = GW_BLOCK_PER_WORKER,
    .cost = linear_cost,
};

static void linear_scatter_step(const struct gw_call *call, uint32_t rank, uint32_t index,
                                struct gw_step *out) {
    uint32_t receiver = rank == 0 ? index + 1 : rank;
    const struct gw_transfer transfer = {
        .from = 0, .to = receiver, .blocks = {.first = receiver, .count = 1}, .bytes = call->bytes};
    *out = gw_transfer_step(&transfer, rank);
}

const struct gw_collective gw_collective_scatter_linear = {
    .operation = "scatter",
    .name = "linear",
    .title = "rank 0 sends to one after another",
    .source = "Alexandrov et al. 1995",
    .steps = linear_steps,
    .step = linear_scatter_step,
    .cut = GW_BLOCK_PER_WORKER,
    .cost = linear_cost,
};

static uint32_t pairwise_steps(const struct gw_call *call, uint32_t rank) {
    (void)rank;
    return call->workers - 1;
}

/* In step i from 0 each rank sends to the one i + 1 places further. */
static void pairwise_step(const struct gw_call *call, uint32_t rank, uint32_t index,
                          struct gw_step *out) {
    uint64_t bytes = gw_equal_share(call);
    uint32_t to = (rank + index + 1) % call->workers;
    *out = (struct gw_step){.to = to,
                            .from = (rank + call->workers - index - 1) % call->workers,
                            .send_bytes = bytes,
                            .receive_bytes = bytes,
                            .send = {.first = to, .count = 1},
                            .receive = {.first = rank, .count = 1}};
}

static double pairwise_cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    return (double)(call->workers - 1) * (alpha_s + (double)gw_equal_share(call) * beta_s_per_byte);
}

const struct gw_collective gw_collective_alltoall_pairwise = {
    .operation = "alltoall",
    .name = "pairwise",
    .title = "step by step each sends a block to a rank further away",
    .source = "Thakur, Rabenseifner and Gropp 2005",
    .symmetric = GW_SYMMETRIC_ALWAYS,
    .uniform = true,
    .steps = pairwise_steps,
    .step = pairwise_step,
    .cut = GW_BLOCK_PER_WORKER,
    .shares = GW_EQUAL_SHARES,
    .cost = pairwise_cost,
};

/* The last of an odd number of workers has no partner. */
static uint32_t pairs_steps(const struct gw_call *call, uint32_t rank) {
    return (rank | 1) < call->workers ? 1 : 0;
}

static void pairs_step(const struct gw_call *call, uint32_t rank, uint32_t index,
                       struct gw_step *out) {
    (void)index;
    const struct gw_transfer message = {
        .from = rank & ~1U, .to = rank | 1, .blocks = gw_whole, .bytes = call->bytes};
    *out = gw_transfer_step(&message, rank);
}

static double pairs_cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    return call->workers == 1 ? 0 : alpha_s + (double)call->bytes * beta_s_per_byte;
}

const struct gw_collective gw_collective_sendrecv_pairs = {
    .operation = "sendrecv",
    .name = "pairs",
    .title = "every even rank sends to the odd one after it",
    .source = "Hockney 1994",
    .steps = pairs_steps,
    .step = pairs_step,
    .cost = pairs_cost,
};

/* ---- the parameter server, rank number `workers` --------------------------------------------- */

/* One direction: each worker takes one step, the server takes all of them. */
static uint32_t server_steps(const struct gw_call *call, uint32_t rank) {
    return rank == call->workers ? call->workers : 1;
}

/* Messages queue at the server's link: alpha + P n beta. */
static double server_cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    return alpha_s + (double)call->workers * (double)call->bytes * beta_s_per_byte;
}

/* The server adds what comes, in the order in which it comes. */
static void server_push(const struct gw_call *call, uint32_t rank, uint32_t index,
                        struct gw_step *out) {
    (void)index;
    const struct gw_transfer push = {.from = rank == call->workers ? GW_ANYBODY : rank,
                                     .to = call->workers,
                                     .blocks = gw_whole,
                                     .bytes = call->bytes,
                                     .combined = true};
    *out = gw_transfer_step(&push, rank);
}

/* The server sends to worker 0 first. */
static void server_pull(const struct gw_call *call, uint32_t rank, uint32_t index,
                        struct gw_step *out) {
    const struct gw_transfer pull = {.from = call->workers,
                                     .to = rank == call->workers ? index : rank,
                                     .blocks = gw_whole,
                                     .bytes = call->bytes};
    *out = gw_transfer_step(&pull, rank);
}

static uint32_t server_both_ways_steps(const struct gw_call *call, uint32_t rank) {
    return 2 * server_steps(call, rank);
}

static void server_both_ways_step(const struct gw_call *call, uint32_t rank, uint32_t index,
                                  struct gw_step *out) {
    uint32_t pushes = server_steps(call, rank);
    if (index < pushes) {
        server_push(call, rank, index, out);
    } else {
        server_pull(call, rank, index - pushes, out);
    }
}

static double server_both_ways_cost(const struct gw_call *call, double alpha_s,
                                    double beta_s_per_byte) {
    return 2 * server_cost(call, alpha_s, beta_s_per_byte);
}

const struct gw_collective gw_collective_parameter_server = {
    .operation = "ps",
    .name = "parameter-server",
    .title = "all workers push to a server, which adds, then all pull from it",
    .source = "Li, Andersen, Smola and Yu 2014",
    .server = true,
    .steps = server_both_ways_steps,
    .step = server_both_ways_step,
    .cost = server_both_ways_cost,
};

const struct gw_collective gw_collective_push = {
    .operation = "push",
    .name = "parameter-server",
    .title = "the first half of ps: all workers send to the server, which adds",
    .source = "Li, Andersen, Smola and Yu 2014",
    .server = true,
    .steps = server_steps,
    .step = server_push,
    .cost = server_cost,
};

const struct gw_collective gw_collective_pull = {
    .operation = "pull",
    .name = "parameter-server",
    .title = "the second half of ps: the server sends to all workers, one after another",
    .source = "Li, Andersen, Smola and Yu 2014",
    .server = true,
    .steps = server_steps,
    .step = server_pull,
    .cost = server_cost,
};
