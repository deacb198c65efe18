#include "collectives/fold.h"
#include "collectives/layout.h"

static uint32_t steps(const struct gw_call *call, uint32_t rank) {
    struct gw_fold fold = gw_fold(call->workers);
    return gw_fold_steps(&fold, rank, fold.log2_core);
}

/* What 2^round numbers of the core, the first of them a multiple of it, have gathered. */
static struct gw_blocks gathered(const struct gw_fold *fold, uint32_t number, uint32_t round) {
    uint32_t begin = number >> round << round;
    uint32_t first = gw_fold_rank(fold, begin);
    return (struct gw_blocks){.first = first,
                              .count = gw_fold_rank(fold, begin + (1U << round)) - first};
}

static struct gw_step exchange(const struct gw_call *call, const struct gw_fold *fold,
                               const struct gw_fold_place *place) {
    uint32_t other = place->number ^ (1U << place->round);
    uint32_t partner = gw_fold_rank(fold, other);
    struct gw_blocks mine = gathered(fold, place->number, place->round);
    struct gw_blocks others = gathered(fold, other, place->round);
    return (struct gw_step){.to = partner,
                            .from = partner,
                            .send_bytes = gw_copies_bytes(call->bytes, mine.count),
                            .receive_bytes = gw_copies_bytes(call->bytes, others.count),
                            .send = mine,
                            .receive = others};
}

/* The odd rank of a pair hands in its block, and is handed all others. */
static struct gw_step hand(const struct gw_call *call, const struct gw_fold_place *place,
                           uint32_t rank) {
    bool in = place->phase == GW_FOLD_IN;
    struct gw_transfer transfer = {.from = in ? place->odd : place->even,
                                   .to = in ? place->even : place->odd,
                                   .blocks = {.first = place->odd, .count = 1}};
    if (!in) {
        transfer.blocks.first = (place->odd + 1) % call->workers;
        transfer.blocks.count = call->workers - 1;
    }
    transfer.bytes = gw_copies_bytes(call->bytes, transfer.blocks.count);
    return gw_transfer_step(&transfer, rank);
}

static void step(const struct gw_call *call, uint32_t rank, uint32_t index, struct gw_step *out) {
    struct gw_fold fold = gw_fold(call->workers);
    struct gw_fold_place place = gw_fold_place(&fold, rank, index, fold.log2_core);
    *out = place.phase == GW_FOLD_ROUND ? exchange(call, &fold, &place) : hand(call, &place, rank);
}

/* For powers of two log2(P) alpha + (P - 1) n beta; otherwise the first ranks have the largest
 * messages in every round, and hand all but one block to the odd ones. */
static double cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    struct gw_fold fold = gw_fold(call->workers);
    double rounds = fold.log2_core;
    double blocks = 0;
    for (uint32_t round = 0; round < fold.log2_core; round++) {
        blocks += gathered(&fold, 0, round).count;
    }
    if (fold.pairs > 0) {
        rounds += 2;
        blocks += call->workers;
    }
    return rounds * alpha_s + blocks * (double)call->bytes * beta_s_per_byte;
}

const struct gw_collective gw_collective_allgather_recursive_doubling = {
    .operation = "allgather",
    .name = "recursive-doubling",
    .title = "partners exchange all that they hold, twice as far away in every round",
    .source = "Thakur, Rabenseifner and Gropp 2005",
    .symmetric = gw_symmetric_power_of_two,
    .ranks = gw_ranks_workers,
    .steps = steps,
    .step = step,
    .blocks = gw_blocks_per_worker,
    .cost = cost,
};
