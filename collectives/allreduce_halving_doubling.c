/*
 * Rabenseifner's allreduce: reduce-scatter with halved vectors and doubled distances, then
 * allgather the same way back, so that the largest messages go to the nearest. In round k a rank
 * keeps the lower or the upper half of what it has, as bit k of its number says.
 */
#include "collectives/fold.h"
#include "collectives/layout.h"

static uint32_t blocks(uint32_t workers) {
    return gw_fold(workers).core;
}

static uint32_t steps(const struct gw_call *call, uint32_t rank) {
    struct gw_fold fold = gw_fold(call->workers);
    return gw_fold_steps(&fold, rank, 2 * fold.log2_core);
}

/* The halves of what rank `number` of the core has before the halving of round `bit`. */
static void halve(const struct gw_fold *fold, uint32_t number, uint32_t bit, struct gw_blocks *kept,
                  struct gw_blocks *given) {
    uint32_t first = 0;
    for (uint32_t i = 0; i < bit; i++) {
        first += (number >> i & 1) * (fold->core >> (i + 1));
    }
    uint32_t half = fold->core >> (bit + 1);
    bool upper = (number >> bit & 1) == 1;
    *kept = (struct gw_blocks){.first = first + (upper ? half : 0), .count = half};
    *given = (struct gw_blocks){.first = first + (upper ? 0 : half), .count = half};
}

static struct gw_step exchange(const struct gw_call *call, const struct gw_fold *fold,
                               const struct gw_fold_place *place) {
    bool halving = place->round < fold->log2_core;
    uint32_t bit = halving ? place->round : 2 * fold->log2_core - 1 - place->round;
    uint32_t partner = gw_fold_rank(fold, place->number ^ (1U << bit));
    struct gw_blocks kept;
    struct gw_blocks given;
    halve(fold, place->number, bit, &kept, &given);
    struct gw_step step = {.to = partner,
                           .from = partner,
                           .send = halving ? given : kept,
                           .receive = halving ? kept : given};
    step.send_bytes = gw_shares_bytes(call->bytes, fold->core, step.send);
    step.receive_bytes = gw_shares_bytes(call->bytes, fold->core, step.receive);
    step.combined_bytes = halving ? step.receive_bytes : 0;
    return step;
}

static void step(const struct gw_call *call, uint32_t rank, uint32_t index, struct gw_step *out) {
    struct gw_fold fold = gw_fold(call->workers);
    struct gw_fold_place place = gw_fold_place(&fold, rank, index, 2 * fold.log2_core);
    *out = place.phase == GW_FOLD_ROUND ? exchange(call, &fold, &place)
                                        : gw_fold_allreduce(call, &place, rank, fold.core);
}

/* 2 log2(P) alpha + 2 (P - 1)/P n beta for powers of two P; unequal halves count as the lower one,
 * which has the larger shares. */
static double cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    struct gw_fold fold = gw_fold(call->workers);
    double bytes = 0;
    for (uint32_t half = fold.core / 2; half > 0; half /= 2) {
        bytes += (double)gw_share_offset(call->bytes, fold.core, half);
    }
    return 2 * ((double)fold.log2_core * alpha_s + bytes * beta_s_per_byte) +
           gw_fold_allreduce_cost(call, alpha_s, beta_s_per_byte);
}

const struct gw_collective gw_collective_allreduce_halving_doubling = {
    .operation = "allreduce",
    .name = "halving-doubling",
    .title = "reduce-scatter by halving vectors, allgather by doubling them",
    .source = "Rabenseifner 2004",
    .symmetric = gw_symmetric_power_of_two,
    .ranks = gw_ranks_workers,
    .steps = steps,
    .step = step,
    .blocks = blocks,
    .shares = true,
    .cost = cost,
};
