/*
 * Algorithms in which the data of a rank doubles (or halves) in every round.
 *
 * Algorithms for powers of two take any number of workers: the first pairs of neighbours, as many
 * as there are workers above the power of two, fold. The odd rank of a pair sends its data to the
 * even one, waits, and receives the result. The remaining ranks are the core, numbered from 0
 * without gaps. (Rabenseifner, ICCS 2004; Thakur, Rabenseifner and Gropp 2005.)
 */
#include "collectives/layout.h"

/* ---- pairs and the core ---------------------------------------------------------------------- */

struct fold {
    uint32_t log2_core, core; /* the largest power of two that is not above the workers */
    uint32_t pairs;           /* workers - core */
};

/* The phase of a rank's step, if the core takes `rounds` rounds. */
struct fold_place {
    enum { FOLD_IN, FOLD_ROUND, FOLD_OUT } phase;
    uint32_t odd, even;     /* FOLD_IN and FOLD_OUT: the pair; the rank is one of it */
    uint32_t number, round; /* FOLD_ROUND: the rank's number in the core */
};

static struct fold fold_workers(uint32_t workers) {
    uint32_t log2_core = gw_floor_log2(workers);
    uint32_t core = 1U << log2_core;
    return (struct fold){.log2_core = log2_core, .core = core, .pairs = workers - core};
}

/*
 * The rank with number `number` in the core; for `core`, the number of workers. Ranks and core
 * numbers ascend together, so the data of core numbers a .. b-1 lies between the ranks of a and b.
 */
static uint32_t fold_rank(const struct fold *fold, uint32_t number) {
    return number + gw_smaller(number, fold->pairs);
}

static bool is_paired(const struct fold *fold, uint32_t rank) {
    return rank < 2 * fold->pairs;
}

/* The number of a rank's steps, if the core takes `rounds` rounds. */
static uint32_t fold_steps(const struct fold *fold, uint32_t rank, uint32_t rounds) {
    if (!is_paired(fold, rank)) {
        return rounds;
    }
    return rank % 2 == 1 ? 2 : rounds + 2;
}

static struct fold_place find_fold_place(const struct fold *fold, uint32_t rank, uint32_t index,
                                         uint32_t rounds) {
    if (!is_paired(fold, rank)) {
        return (struct fold_place){
            .phase = FOLD_ROUND, .number = rank - fold->pairs, .round = index};
    }
    struct fold_place place = {.odd = rank | 1, .even = rank & ~1U, .number = rank / 2};
    if (index == 0) {
        place.phase = FOLD_IN;
    } else if (rank % 2 == 1 || index == rounds + 1) {
        place.phase = FOLD_OUT;
    } else {
        place.phase = FOLD_ROUND;
        place.round = index - 1;
    }
    return place;
}

/* The folding step of an allreduce, of vectors of `blocks` blocks. */
static struct gw_step fold_allreduce(const struct gw_call *call, const struct fold_place *place,
                                     uint32_t rank, uint32_t blocks) {
    bool in = place->phase == FOLD_IN;
    const struct gw_transfer vector = {.from = in ? place->odd : place->even,
                                       .to = in ? place->even : place->odd,
                                       .blocks = {.first = 0, .count = blocks},
                                       .bytes = call->bytes,
                                       .combined = in};
    return gw_transfer_step(&vector, rank);
}

/* The cost of both folding steps; 0 without pairs. */
static double fold_allreduce_cost(const struct gw_call *call, double alpha_s,
                                  double beta_s_per_byte) {
    return fold_workers(call->workers).pairs == 0
               ? 0
               : 2 * (alpha_s + (double)call->bytes * beta_s_per_byte);
}

/* ---- allgather by recursive doubling --------------------------------------------------------- */

static uint32_t gathering_steps(const struct gw_call *call, uint32_t rank) {
    struct fold fold = fold_workers(call->workers);
    return fold_steps(&fold, rank, fold.log2_core);
}

/*
 * The blocks that 2^round numbers of the core have gathered; the first number is a multiple of it.
 */
static struct gw_blocks gathered_blocks(const struct fold *fold, uint32_t number, uint32_t round) {
    uint32_t begin = number >> round << round;
    uint32_t first = fold_rank(fold, begin);
    return (struct gw_blocks){.first = first,
                              .count = fold_rank(fold, begin + (1U << round)) - first};
}

static struct gw_step gathering_exchange(const struct gw_call *call, const struct fold *fold,
                                         const struct fold_place *place) {
    uint32_t other = place->number ^ (1U << place->round);
    uint32_t partner = fold_rank(fold, other);
    struct gw_blocks mine = gathered_blocks(fold, place->number, place->round);
    struct gw_blocks others = gathered_blocks(fold, other, place->round);
    return (struct gw_step){.to = partner,
                            .from = partner,
                            .send_bytes = gw_copies_bytes(call->bytes, mine.count),
                            .receive_bytes = gw_copies_bytes(call->bytes, others.count),
                            .send = mine,
                            .receive = others};
}

/* The odd rank of a pair sends its block, and receives all others. */
static struct gw_step fold_allgather(const struct gw_call *call, const struct fold_place *place,
                                     uint32_t rank) {
    bool in = place->phase == FOLD_IN;
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

static void gathering_step(const struct gw_call *call, uint32_t rank, uint32_t index,
                           struct gw_step *out) {
    struct fold fold = fold_workers(call->workers);
    struct fold_place place = find_fold_place(&fold, rank, index, fold.log2_core);
    *out = place.phase == FOLD_ROUND ? gathering_exchange(call, &fold, &place)
                                     : fold_allgather(call, &place, rank);
}

/* log2(P) alpha + (P - 1) n beta for powers of two. Otherwise the first ranks have the largest
 * messages in every round, and send all but one block to the odd ranks. */
static double gathering_cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    struct fold fold = fold_workers(call->workers);
    double rounds = fold.log2_core;
    double blocks = 0;
    for (uint32_t round = 0; round < fold.log2_core; round++) {
        blocks += gathered_blocks(&fold, 0, round).count;
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
    .symmetric = GW_SYMMETRIC_POWERS_OF_TWO,
    .steps = gathering_steps,
    .step = gathering_step,
    .cut = GW_BLOCK_PER_WORKER,
    .cost = gathering_cost,
};

/* ---- Bruck's allgather ----------------------------------------------------------------------- */

static uint32_t bruck_steps(const struct gw_call *call, uint32_t rank) {
    (void)rank;
    return gw_ceil_log2(call->workers);
}

/* Before round k a rank holds 2^k blocks, its own first. */
static void bruck_step(const struct gw_call *call, uint32_t rank, uint32_t index,
                       struct gw_step *out) {
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

static double bruck_cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    return (double)gw_ceil_log2(call->workers) * alpha_s +
           (double)(call->workers - 1) * (double)call->bytes * beta_s_per_byte;
}

const struct gw_collective gw_collective_allgather_bruck = {
    .operation = "allgather",
    .name = "bruck",
    .title = "what is held doubles in every round, for any number of workers",
    .source = "Bruck et al. 1997",
    .symmetric = GW_SYMMETRIC_ALWAYS,
    .steps = bruck_steps,
    .step = bruck_step,
    .cut = GW_BLOCK_PER_WORKER,
    .cost = bruck_cost,
};

/* ---- Bruck's alltoall ------------------------------------------------------------------------ */

/* Blocks stand at the distance of their destination. In round k those at places with bit k, of as
 * many as there are workers, go 2^k ranks further. */
static uint32_t count_moved(uint32_t workers, uint32_t round) {
    uint32_t period = workers >> round >> 1 << round;
    uint32_t rest = workers & ((2U << round) - 1);
    return period + (rest > 1U << round ? rest - (1U << round) : 0);
}

static void bruck_alltoall_step(const struct gw_call *call, uint32_t rank, uint32_t index,
                                struct gw_step *out) {
    uint32_t places = 1U << index;
    const struct gw_blocks moved = {.first = places, .count = count_moved(call->workers, index)};
    uint64_t bytes = gw_copies_bytes(gw_equal_share(call), moved.count);
    *out = (struct gw_step){.to = (rank + places) % call->workers,
                            .from = (rank + call->workers - places) % call->workers,
                            .send_bytes = bytes,
                            .receive_bytes = bytes,
                            .send = moved,
                            .receive = moved};
}

/* L alpha + L/2 n beta for powers of two. */
static double bruck_alltoall_cost(const struct gw_call *call, double alpha_s,
                                  double beta_s_per_byte) {
    uint32_t rounds = gw_ceil_log2(call->workers);
    double moved = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        moved += count_moved(call->workers, round);
    }
    return rounds * alpha_s + moved * (double)gw_equal_share(call) * beta_s_per_byte;
}

const struct gw_collective gw_collective_alltoall_bruck = {
    .operation = "alltoall",
    .name = "bruck",
    .title = "blocks go to their ranks in hops of powers of two",
    .source = "Bruck et al. 1997",
    .symmetric = GW_SYMMETRIC_ALWAYS,
    .steps = bruck_steps,
    .step = bruck_alltoall_step,
    .cut = GW_BLOCK_PER_WORKER,
    .shares = GW_EQUAL_SHARES,
    .cost = bruck_alltoall_cost,
};

/* ---- allreduce by recursive doubling --------------------------------------------------------- */

static uint32_t doubling_steps(const struct gw_call *call, uint32_t rank) {
    struct fold fold = fold_workers(call->workers);
    return fold_steps(&fold, rank, fold.log2_core);
}

static void doubling_step(const struct gw_call *call, uint32_t rank, uint32_t index,
                          struct gw_step *out) {
    struct fold fold = fold_workers(call->workers);
    struct fold_place place = find_fold_place(&fold, rank, index, fold.log2_core);
    if (place.phase != FOLD_ROUND) {
        *out = fold_allreduce(call, &place, rank, 1);
        return;
    }
    uint32_t partner = fold_rank(&fold, place.number ^ (1U << place.round));
    *out = (struct gw_step){.to = partner,
                            .from = partner,
                            .send_bytes = call->bytes,
                            .receive_bytes = call->bytes,
                            .combined_bytes = call->bytes,
                            .send = gw_whole,
                            .receive = gw_whole};
}

static double doubling_cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    return (double)fold_workers(call->workers).log2_core *
               (alpha_s + (double)call->bytes * beta_s_per_byte) +
           fold_allreduce_cost(call, alpha_s, beta_s_per_byte);
}

const struct gw_collective gw_collective_allreduce_recursive_doubling = {
    .operation = "allreduce",
    .name = "recursive-doubling",
    .title = "partners exchange whole vectors, twice as far away in every round",
    .source = "Thakur, Rabenseifner and Gropp 2005",
    .symmetric = GW_SYMMETRIC_POWERS_OF_TWO,
    .steps = doubling_steps,
    .step = doubling_step,
    .cost = doubling_cost,
};

/* ---- Rabenseifner's allreduce ---------------------------------------------------------------- */

/*
 * Reduce-scatter with halved vectors and doubled distances, then allgather in reverse, so that the
 * largest messages go to the nearest ranks. In round k a rank keeps the lower or the upper half of
 * its data, according to bit k of its number.
 */

static uint32_t halving_steps(const struct gw_call *call, uint32_t rank) {
    struct fold fold = fold_workers(call->workers);
    return fold_steps(&fold, rank, 2 * fold.log2_core);
}

/* The halves of the data of rank `number` of the core before the halving of round `bit`. */
static void halve_blocks(const struct fold *fold, uint32_t number, uint32_t bit,
                         struct gw_blocks *kept, struct gw_blocks *given) {
    uint32_t first = 0;
    for (uint32_t i = 0; i < bit; i++) {
        first += (number >> i & 1) * (fold->core >> (i + 1));
    }
    uint32_t half = fold->core >> (bit + 1);
    bool upper = (number >> bit & 1) == 1;
    *kept = (struct gw_blocks){.first = first + (upper ? half : 0), .count = half};
    *given = (struct gw_blocks){.first = first + (upper ? 0 : half), .count = half};
}

static struct gw_step halving_exchange(const struct gw_call *call, const struct fold *fold,
                                       const struct fold_place *place) {
    bool halving = place->round < fold->log2_core;
    uint32_t bit = halving ? place->round : 2 * fold->log2_core - 1 - place->round;
    uint32_t partner = fold_rank(fold, place->number ^ (1U << bit));
    struct gw_blocks kept;
    struct gw_blocks given;
    halve_blocks(fold, place->number, bit, &kept, &given);
    struct gw_step step = {.to = partner,
                           .from = partner,
                           .send = halving ? given : kept,
                           .receive = halving ? kept : given};
    step.send_bytes = gw_shares_bytes(call->bytes, fold->core, step.send);
    step.receive_bytes = gw_shares_bytes(call->bytes, fold->core, step.receive);
    step.combined_bytes = halving ? step.receive_bytes : 0;
    return step;
}

static void halving_step(const struct gw_call *call, uint32_t rank, uint32_t index,
                         struct gw_step *out) {
    struct fold fold = fold_workers(call->workers);
    struct fold_place place = find_fold_place(&fold, rank, index, 2 * fold.log2_core);
    *out = place.phase == FOLD_ROUND ? halving_exchange(call, &fold, &place)
                                     : fold_allreduce(call, &place, rank, fold.core);
}

/* 2 log2(P) alpha + 2 (P - 1)/P n beta for powers of two P. Unequal halves count as the lower one,
 * which has the larger shares. */
static double halving_cost(const struct gw_call *call, double alpha_s, double beta_s_per_byte) {
    struct fold fold = fold_workers(call->workers);
    double bytes = 0;
    for (uint32_t half = fold.core / 2; half > 0; half /= 2) {
        bytes += (double)gw_share_offset(call->bytes, fold.core, half);
    }
    return 2 * ((double)fold.log2_core * alpha_s + bytes * beta_s_per_byte) +
           fold_allreduce_cost(call, alpha_s, beta_s_per_byte);
}

const struct gw_collective gw_collective_allreduce_halving_doubling = {
    .operation = "allreduce",
    .name = "halving-doubling",
    .title = "reduce-scatter by halving vectors, allgather by doubling them",
    .source = "Rabenseifner 2004",
    .symmetric = GW_SYMMETRIC_POWERS_OF_TWO,
    .steps = halving_steps,
    .step = halving_step,
    .cut = GW_BLOCK_PER_CORE_WORKER,
    .shares = GW_SHARES,
    .cost = halving_cost,
};
