#include "collectives/fold.h"
#include "collectives/layout.h"

static uint32_t steps(const struct gw_call *call, uint32_t rank) {
    struct gw_fold fold = gw_fold(call->workers);
    return gw_fold_steps(&fold, rank, fold.log2_core);
}

static void step(const struct gw_call *call, uint32_t rank, uint32_t index, struct gw_step *out) {
    struct gw_fold fold = gw_fold(call->workers);
    struct gw_fold_place place = gw_fold_place(&fold, rank, index, fold.log2_core);
    if (place.phase != GW_FOLD_ROUND) {
        *out = gw_fold_allreduce(call, &place, rank, 1);
        return;
    }
    uint32_t partner = gw_fold_rank(&fold, place.number ^ (1U << place.round));
    *out = (struct gw_step){.to = partner,
                            .from = partner,
                            .send_bytes = call->bytes,
                            .receive_bytes = call->bytes,
                            .combined_bytes = call->bytes,
                            .send = gw_whole,
                            .receive = gw_whole};
}

static double cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    return (double)gw_fold(call->workers).log2_core *
               (alpha_s + (double)call->bytes * beta_s_per_byte) +
           gw_fold_allreduce_cost(call, alpha_s, beta_s_per_byte);
}

const struct gw_collective gw_collective_allreduce_recursive_doubling = {
    .operation = "allreduce",
    .name = "recursive-doubling",
    .title = "partners exchange whole vectors, twice as far away in every round",
    .source = "Thakur, Rabenseifner and Gropp 2005",
    .symmetric = gw_symmetric_power_of_two,
    .ranks = gw_ranks_workers,
    .steps = steps,
    .step = step,
    .blocks = gw_blocks_one,
    .cost = cost,
};
