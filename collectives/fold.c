#include "collectives/fold.h"

#include "collectives/layout.h"

struct gw_fold gw_fold(uint32_t workers) {
    uint32_t log2_core = gw_floor_log2(workers);
    uint32_t core = 1U << log2_core;
    return (struct gw_fold){.log2_core = log2_core, .core = core, .pairs = workers - core};
}

uint32_t gw_fold_rank(const struct gw_fold *fold, uint32_t number) {
    return number + gw_smaller(number, fold->pairs);
}

static bool is_paired(const struct gw_fold *fold, uint32_t rank) {
    return rank < 2 * fold->pairs;
}

uint32_t gw_fold_steps(const struct gw_fold *fold, uint32_t rank, uint32_t rounds) {
    if (!is_paired(fold, rank)) {
        return rounds;
    }
    return rank % 2 == 1 ? 2 : rounds + 2;
}

struct gw_fold_place gw_fold_place(const struct gw_fold *fold, uint32_t rank, uint32_t index,
                                   uint32_t rounds) {
    if (!is_paired(fold, rank)) {
        return (struct gw_fold_place){
            .phase = GW_FOLD_ROUND, .number = rank - fold->pairs, .round = index};
    }
    struct gw_fold_place place = {.odd = rank | 1, .even = rank & ~1U, .number = rank / 2};
    if (index == 0) {
        place.phase = GW_FOLD_IN;
    } else if (rank % 2 == 1 || index == rounds + 1) {
        place.phase = GW_FOLD_OUT;
    } else {
        place.phase = GW_FOLD_ROUND;
        place.round = index - 1;
    }
    return place;
}

struct gw_step gw_fold_allreduce(const struct gw_call *call, const struct gw_fold_place *place,
                                 uint32_t rank, uint32_t blocks) {
    bool in = place->phase == GW_FOLD_IN;
    const struct gw_transfer vector = {.from = in ? place->odd : place->even,
                                       .to = in ? place->even : place->odd,
                                       .blocks = {.first = 0, .count = blocks},
                                       .bytes = call->bytes,
                                       .combined = in};
    return gw_transfer_step(&vector, rank);
}

double gw_fold_allreduce_cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    return gw_fold(call->workers).pairs == 0
               ? 0
               : 2 * (alpha_s + (double)call->bytes * beta_s_per_byte);
}
