#include "collectives/server.h"

#include "collectives/layout.h"

uint32_t gw_server_steps(const struct gw_call *call, uint32_t rank) {
    return rank == call->workers ? call->workers : 1;
}

double gw_server_cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    return alpha_s + (double)call->workers * (double)call->bytes * beta_s_per_byte;
}

void gw_server_push(const struct gw_call *call, uint32_t rank, uint32_t index,
                    struct gw_step *out) {
    (void)index;
    const struct gw_transfer push = {.from = rank == call->workers ? GW_ANYBODY : rank,
                                     .to = call->workers,
                                     .blocks = gw_whole,
                                     .bytes = call->bytes,
                                     .combined = true};
    *out = gw_transfer_step(&push, rank);
}

void gw_server_pull(const struct gw_call *call, uint32_t rank, uint32_t index,
                    struct gw_step *out) {
    const struct gw_transfer pull = {.from = call->workers,
                                     .to = rank == call->workers ? index : rank,
                                     .blocks = gw_whole,
                                     .bytes = call->bytes};
    *out = gw_transfer_step(&pull, rank);
}
