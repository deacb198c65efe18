/*
 * The messages of collectives: sizes near the limits do not overflow; symmetric is said of none
 * that is not, and uniform of none whose steps differ.
 */
#include "tests/collectives/collectives_support.h"
#include "tests/test.h"

/* Up to 2^bits, small ones as often as large ones. */
static uint64_t any_size(struct gw_random *random, uint64_t bits) {
    return gw_random_below(random, (1ULL << gw_random_below(random, bits + 1)) + 1);
}

static const struct gw_collective *any_collective(struct gw_random *random) {
    uint64_t count = 0;
    while (gw_collectives[count] != NULL) {
        count++;
    }
    return gw_collectives[gw_random_below(random, count)];
}

/* ---- large calls ---------------------------------------------------------------------------- */

/* The bytes of `count` blocks from `first` on, round the end, as the header says it. */
static uint64_t expected_bytes(const struct gw_collective *collective, const struct gw_call *call,
                               struct gw_blocks blocks) {
    unsigned __int128 bytes = 0;
    uint32_t total = count_blocks(collective, call->workers);
    for (uint32_t i = 0; i < blocks.count; i++) {
        bytes += block_bytes(collective, call, (blocks.first + i) % total);
    }
    return bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes;
}

/* The `turn`-th step in which `rank` receives from `from`, which must be there. */
static struct gw_step receive_of(const struct gw_collective *collective, const struct gw_call *call,
                                 uint32_t rank, uint32_t from, uint32_t turn) {
    uint32_t steps = collective->steps(call, rank);
    for (uint32_t i = 0; i < steps; i++) {
        struct gw_step step = step_of(collective, call, rank, i);
        if (step.from == GW_ANYBODY || (step.from == from && turn-- == 0)) {
            return step;
        }
    }
    print_error("rank %u never receives from %u: ", rank, from);
    check(call, collective, false);
    return (struct gw_step){0};
}

/* How many messages to the same rank came before. */
static uint32_t turn_of(const struct gw_collective *collective, const struct gw_call *call,
                        uint32_t rank, uint32_t index, uint32_t to) {
    uint32_t turn = 0;
    for (uint32_t i = 0; i < index; i++) {
        turn += step_of(collective, call, rank, i).to == to;
    }
    return turn;
}

static void check_one_step(const struct gw_collective *collective, const struct gw_call *call,
                           uint32_t rank, uint32_t index) {
    uint32_t ranks = gw_collective_ranks(collective, call->workers);
    struct gw_step step = step_of(collective, call, rank, index);
    check(call, collective, is_rank(step.to) || is_rank(step.from) || step.from == GW_ANYBODY);
    check(call, collective, !is_rank(step.from) || step.from < ranks);
    if (!is_rank(step.to)) {
        check(call, collective, step.to == GW_NOBODY && step.send_bytes == 0);
        return;
    }
    check(call, collective, step.to < ranks && step.to != rank);
    check(call, collective, step.send_bytes == expected_bytes(collective, call, step.send));
    uint32_t turn = turn_of(collective, call, rank, index, step.to);
    struct gw_step receive = receive_of(collective, call, step.to, rank, turn);
    check(call, collective, receive.receive_bytes == step.send_bytes);
    check(call, collective, receive.receive.count == step.send.count);
    check(call, collective, receive.from == GW_ANYBODY || receive.receive.first == step.send.first);
    check(call, collective,
          receive.combined_bytes == 0 || receive.combined_bytes == receive.receive_bytes);
}

static void check_large(const struct gw_collective *collective, struct gw_call call,
                        struct gw_random *random) {
    uint32_t rank =
        (uint32_t)gw_random_below(random, gw_collective_ranks(collective, call.workers));
    uint32_t steps = collective->steps(&call, rank);
    if (steps > 0) {
        check_one_step(collective, &call, rank, steps - 1);
        check_one_step(collective, &call, rank, (uint32_t)gw_random_below(random, steps));
    }
    double cost = collective->cost(&call, 1e-6, 1e-9);
    check(&call, collective, isfinite(cost) && cost >= 0);
}

TEST(large_calls_do_not_overflow) {
    struct gw_random *random = random_stream(1);
    for (int i = 0, trials = gw_trials(2000); i < trials; i++) {
        uint32_t workers = (uint32_t)any_size(random, 20);
        const struct gw_call call = {workers == 0 ? 1 : workers, any_size(random, 50)};
        check_large(any_collective(random), call, random);
    }
    static const uint32_t largest[] = {1 << 20, (1 << 20) - 1, (1 << 19) + 1};
    for (size_t i = 0; gw_collectives[i] != NULL; i++) {
        for (size_t j = 0; j < sizeof largest / sizeof *largest; j++) {
            check_large(gw_collectives[i], (struct gw_call){largest[j], 1ULL << 50}, random);
        }
    }
}

/* 2^19 blocks of 2^50 bytes are 2^69 bytes. */
TEST(bytes_beyond_64_bits_saturate) {
    const struct gw_call call = {1 << 20, 1ULL << 50};
    const struct gw_collective *bruck = find("allgather", "bruck");
    assert_true(step_of(bruck, &call, 0, 13).send_bytes == 1ULL << 63);
    assert_true(step_of(bruck, &call, 0, 14).send_bytes == UINT64_MAX);
    assert_true(step_of(bruck, &call, 0, 19).send_bytes == UINT64_MAX);
    assert_true(near(bruck->cost(&call, 0, 1), 0x1p70 - 0x1p50, 1e-15));
}

/* ---- symmetry ------------------------------------------------------------------------------- */

/* Checks the header's promises for one step of all ranks. */
static bool step_is_symmetric(const struct gw_collective *collective, const struct gw_call *call,
                              uint32_t index, uint32_t *heard) {
    struct gw_step first = step_of(collective, call, 0, index);
    memset(heard, 0, call->workers * sizeof *heard);
    for (uint32_t r = 0; r < call->workers; r++) {
        struct gw_step step = step_of(collective, call, r, index);
        if (!is_rank(step.to) || !is_rank(step.from) || heard[step.to]++ > 0 ||
            step_of(collective, call, step.to, index).from != r ||
            step.send_bytes != first.send_bytes || step.receive_bytes != first.send_bytes ||
            step.combined_bytes != first.combined_bytes) {
            return false;
        }
    }
    return true;
}

static bool is_symmetric(const struct gw_collective *collective, const struct gw_call *call) {
    if (gw_collective_ranks(collective, call->workers) != call->workers) {
        return false;
    }
    uint32_t steps = collective->steps(call, 0);
    for (uint32_t r = 1; r < call->workers; r++) {
        if (collective->steps(call, r) != steps) {
            return false;
        }
    }
    uint32_t *heard = calloc(call->workers, sizeof *heard);
    assert_non_null(heard);
    bool symmetric = true;
    for (uint32_t s = 0; s < steps && symmetric; s++) {
        symmetric = step_is_symmetric(collective, call, s, heard);
    }
    free(heard);
    return symmetric;
}

/* Steps that are said to be alike have the same bytes, on a network where only bytes count. */
TEST(uniform_steps_are_alike) {
    for (size_t i = 0; gw_collectives[i] != NULL; i++) {
        for (uint32_t workers = 2; workers <= 64 && gw_collectives[i]->uniform; workers++) {
            const struct gw_call call = {workers, 4ULL * workers * 3};
            struct gw_step first = step_of(gw_collectives[i], &call, 0, 0);
            for (uint32_t s = 1; s < gw_collectives[i]->steps(&call, 0); s++) {
                struct gw_step step = step_of(gw_collectives[i], &call, 0, s);
                assert_true(step.send_bytes == first.send_bytes &&
                            step.receive_bytes == first.receive_bytes);
            }
        }
    }
}

/* Promised where it holds, except for one worker and two that exchange whole vectors. */
TEST(symmetric_is_what_the_header_promises) {
    for (size_t i = 0; gw_collectives[i] != NULL; i++) {
        for (uint32_t workers = 2; workers <= 64; workers++) {
            const struct gw_call call = {workers, 4ULL * workers * 3};
            const struct gw_call odd = {workers, 10001};
            bool promised = gw_collective_symmetric(gw_collectives[i], workers);
            check(&call, gw_collectives[i], promised == is_symmetric(gw_collectives[i], &call));
            check(&odd, gw_collectives[i],
                  !promised || gw_collectives[i]->shares == GW_SHARES || is_symmetric(gw_collectives[i], &odd));
        }
    }
}
