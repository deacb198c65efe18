/*
 * Costs of collectives: three clocks that run the steps of all ranks, compared with the closed
 * forms. All let ranks send and receive at the same time, one message after another each way. They
 * differ in the meaning of alpha, and in the order of messages that arrive together:
 *
 *   startup  a message keeps its sender, and its receiver, for alpha + n beta (Hockney); a rank
 *            receives in the order of its steps. The literature's forms for trees and folds count
 *            so.
 *   latency  a message keeps its sender, and its receiver, for n beta, and is alpha on its way; a
 *            rank receives in the order of its steps. The forms for messages that queue at one
 *            rank's link count so.
 *   arrival  the same, but a rank receives messages as they reach its link.
 */
#include "tests/collectives/collectives_support.h"
#include "tests/test.h"

enum clock { STARTUP, LATENCY, ARRIVAL };

static const double alpha = 1024, beta = 1; /* all times are whole numbers, and exact */

/* ---- the clocks ----------------------------------------------------------------------------- */

struct message {
    struct message *next;
    uint32_t from;
    double sent;
    double come; /* ARRIVAL: when it is in */
};

struct rank {
    uint32_t index, steps;
    struct gw_step step;
    double begun;     /* the step */
    double link_free; /* what comes in comes after it */
    struct message *inbox;
};

struct run {
    const struct gw_collective *collective;
    const struct gw_call *call;
    enum clock clock;
    uint32_t rank_count;
    struct rank *ranks;
};

/* Messages are sent one after another, but for those that begin at the same time. */
static void put(const struct run *run, uint32_t from, double sent, const struct gw_step *step) {
    struct rank *rank = &run->ranks[step->to];
    struct message *message = malloc(sizeof *message);
    assert_non_null(message);
    *message = (struct message){.from = from, .sent = sent};
    if (run->clock == ARRIVAL) {
        message->come = fmax(rank->link_free, sent + alpha) + (double)step->send_bytes * beta;
        rank->link_free = message->come;
    }
    struct message **link = &rank->inbox;
    while (*link != NULL) {
        assert_true((*link)->sent <= sent);
        link = &(*link)->next;
    }
    *link = message;
}

/* The earliest message that the step may take, or where it would be. */
static struct message **awaited(struct rank *rank) {
    struct message **link = &rank->inbox;
    while (*link != NULL && rank->step.from != GW_ANYBODY && (*link)->from != rank->step.from) {
        link = &(*link)->next;
    }
    return link;
}

static void enter(struct run *run, uint32_t number) {
    struct rank *rank = &run->ranks[number];
    if (rank->index < rank->steps) {
        rank->step = step_of(run->collective, run->call, number, rank->index);
        if (rank->step.to != GW_NOBODY) {
            put(run, number, rank->begun, &rank->step);
        }
    }
}

static double received(const struct run *run, const struct rank *rank,
                       const struct message *message) {
    double bytes_s = (double)rank->step.receive_bytes * beta;
    if (run->clock == ARRIVAL) {
        return message->come;
    }
    return run->clock == STARTUP ? fmax(rank->link_free, message->sent) + alpha + bytes_s
                                 : fmax(rank->link_free, message->sent + alpha) + bytes_s;
}

/* When the rank's step ends, or infinity if nobody knows yet. */
static double end_of(const struct run *run, struct rank *rank) {
    if (rank->index == rank->steps) {
        return INFINITY;
    }
    double end = rank->begun;
    if (rank->step.to != GW_NOBODY) {
        end += (double)rank->step.send_bytes * beta + (run->clock == STARTUP ? alpha : 0);
    }
    if (rank->step.from != GW_NOBODY) {
        const struct message *message = *awaited(rank);
        end = message == NULL ? INFINITY : fmax(end, received(run, rank, message));
    }
    return end;
}

static void finish(struct run *run, uint32_t number, double end) {
    struct rank *rank = &run->ranks[number];
    if (rank->step.from != GW_NOBODY) {
        struct message **link = awaited(rank);
        struct message *message = *link;
        rank->link_free = fmax(rank->link_free, received(run, rank, message));
        *link = message->next;
        free(message);
    }
    rank->begun = end;
    rank->index++;
    enter(run, number);
}

/* Step after step, the one first that ends first: nothing that is sent later can come before. */
static double run_clock(const struct gw_collective *collective, const struct gw_call *call,
                        enum clock clock) {
    struct run run = {collective, call, clock, gw_collective_ranks(collective, call->workers),
                      NULL};
    run.ranks = calloc(run.rank_count, sizeof *run.ranks);
    assert_non_null(run.ranks);
    for (uint32_t r = 0; r < run.rank_count; r++) {
        run.ranks[r].steps = collective->steps(call, r);
        enter(&run, r);
    }
    double last = 0;
    for (;;) {
        uint32_t next = 0;
        double end = INFINITY;
        for (uint32_t r = 0; r < run.rank_count; r++) {
            double ends = end_of(&run, &run.ranks[r]);
            next = ends < end ? r : next;
            end = fmin(end, ends);
        }
        if (isinf(end)) {
            break;
        }
        finish(&run, next, end);
        last = end;
    }
    for (uint32_t r = 0; r < run.rank_count; r++) {
        check(call, collective, run.ranks[r].index == run.ranks[r].steps);
        check(call, collective, run.ranks[r].inbox == NULL);
    }
    free(run.ranks);
    return last;
}

/* ---- the forms ------------------------------------------------------------------------------ */

static uint32_t ceil_log2(uint32_t n) {
    uint32_t result = 0;
    while (1ULL << result < n) {
        result++;
    }
    return result;
}

static bool is_power_of_two(uint32_t n) {
    return 1U << ceil_log2(n) == n;
}

/* Messages queue at one rank's link. */
static bool is_star(const struct gw_collective *collective) {
    return strcmp(collective->name, "linear") == 0 ||
           strcmp(collective->name, "parameter-server") == 0;
}

/*
 * How many startups fewer the latency clock counts at most, for numbers that are not powers of two:
 * in a tree a parent's second message does not wait for the first one's latency, and what comes
 * from ranks outside the pairs of a fold is early.
 */
static uint32_t most_overlapped(const struct gw_collective *collective, uint32_t workers) {
    uint32_t floor_log2 = ceil_log2(workers + 1) - 1;
    if (is_power_of_two(workers)) {
        return 0;
    }
    if (strcmp(collective->name, "binomial") == 0) {
        return 1;
    }
    if (strcmp(collective->name, "tree") == 0) {
        return 2;
    }
    return strcmp(collective->name, "recursive-doubling") == 0
               ? floor_log2 - ceil_log2(workers - (1U << floor_log2))
               : 0;
}

/* Whether the latency clock is only bounded. */
static bool is_bounded(const struct gw_collective *collective, const struct gw_call *call) {
    if (is_power_of_two(call->workers)) {
        return false;
    }
    return strcmp(collective->name, "recursive-doubling") == 0 ||
           (strcmp(collective->name, "halving-doubling") == 0 &&
            call->bytes % (4ULL * count_blocks(collective, call->workers)) != 0);
}

static void check_clocks(const struct gw_collective *collective, const struct gw_call *call) {
    double cost = collective->cost(call, alpha, beta);
    double startup = run_clock(collective, call, STARTUP);
    double latency = run_clock(collective, call, LATENCY);
    double overlapped = alpha * most_overlapped(collective, call->workers);
    check(call, collective, is_star(collective) || near(startup, cost, 1e-9));
    check(call, collective, startup >= latency);
    if (is_bounded(collective, call)) {
        double unequal = beta * 8 * call->workers; /* an element of every block, there and back */
        check(call, collective,
              latency <= cost && latency >= cost - overlapped - (collective->shares ? unequal : 0));
    } else {
        check(call, collective, near(latency, cost - overlapped, 1e-9));
    }
}

static void check_all(uint32_t workers, uint64_t bytes) {
    for (size_t i = 0; gw_collectives[i] != NULL; i++) {
        const struct gw_call call = {workers, bytes};
        check_clocks(gw_collectives[i], &call);
    }
}

TEST(clocks_show_what_the_forms_say) {
    for (uint32_t workers = 2; workers <= 64; workers++) {
        /* divisible by the workers and by the core of a fold, next to alpha little and much */
        check_all(workers, 4ULL * workers * 64);
        check_all(workers, 4ULL * workers * 65536);
    }
}

/* Unequal shares count as the largest of a step, which are always on their way. */
TEST(costs_hold_where_bytes_do_not_divide) {
    struct gw_random *random = random_stream(0);
    for (int i = 0, trials = gw_trials(200); i < trials; i++) {
        check_all(2 + (uint32_t)gw_random_below(random, 47),
                  gw_random_below(random, 1ULL << gw_random_below(random, 20)));
    }
}

/* docs/methods.md says the same: early messages make others wait, or fill gaps. */
TEST(arrival_order_matters_to_folds_and_trees_alone) {
    static const uint64_t scales[] = {256, 16384, 16777216};
    double least = 1;
    double most = 1;
    for (uint32_t i = 0; i < 63 * 3; i++) {
        const struct gw_call call = {2 + i / 3, (2 + i / 3) * scales[i % 3]};
        for (size_t j = 0; gw_collectives[j] != NULL; j++) {
            const struct gw_collective *collective = gw_collectives[j];
            double ratio =
                run_clock(collective, &call, ARRIVAL) / collective->cost(&call, alpha, beta);
            bool exact = is_power_of_two(call.workers) || is_star(collective) ||
                         gw_collective_symmetric(collective, call.workers) ||
                         collective->steps(&call, 0) == 1;
            check(&call, collective, !exact || near(ratio, 1, 1e-9));
            least = fmin(least, ratio);
            most = fmax(most, ratio);
        }
    }
    assert_true(near(least, 0.7037, 1e-4));
    assert_true(near(most, 1.1190, 1e-4));
}

/* ---- as they are published ------------------------------------------------------------------ */

static double published(const char *operation, const char *name, uint32_t workers, uint64_t bytes,
                        double alpha_s, double beta_s_per_byte) {
    const struct gw_call call = {workers, bytes};
    return find(operation, name)->cost(&call, alpha_s, beta_s_per_byte);
}

/* Thakur, Rabenseifner and Gropp 2005, Bruck et al. 1997, gs-SGD's equation (1), gTop-k 2019. */
TEST(forms_are_the_published_ones) {
    const double a = 5e-5;
    const double b = 8e-10;
    for (uint32_t p = 2; p <= 1024; p++) {
        uint64_t n = 4ULL * p * 1000;
        double nb = (double)n * b;
        double rounds = ceil_log2(p);
        assert_true(near(published("allgather", "ring", p, n, a, b), (p - 1) * (a + nb), 1e-12));
        assert_true(
            near(published("allgather", "bruck", p, n, a, b), rounds * a + (p - 1) * nb, 1e-12));
        assert_true(
            near(published("allreduce", "ring", p, n, a, b), 2 * (p - 1) * (a + nb / p), 1e-12));
        assert_true(near(published("broadcast", "binomial", p, n, a, b), rounds * (a + nb), 1e-12));
        assert_true(
            near(published("gather", "binomial", p, n, a, b), rounds * a + (p - 1) * nb, 1e-12));
        assert_true(near(published("sketch", NULL, p, n, a, b), 2 * rounds * (a + nb), 1e-12));
        assert_true(near(published("gtopk", NULL, p, n, a, b), 2 * rounds * (a + nb), 1e-12));
        assert_true(near(published("ps", NULL, p, n, a, b), 2 * (a + p * nb), 1e-12));
        assert_true(
            near(published("alltoall", "pairwise", p, n, a, b), (p - 1) * (a + nb / p), 1e-12));
        if (is_power_of_two(p)) {
            assert_true(
                near(published("alltoall", "bruck", p, n, a, b), rounds * (a + nb / 2), 1e-12));
            assert_true(near(published("allgather", "recursive-doubling", p, n, a, b),
                             rounds * a + (p - 1) * nb, 1e-12));
            assert_true(near(published("allreduce", "recursive-doubling", p, n, a, b),
                             rounds * (a + nb), 1e-12));
            assert_true(near(published("allreduce", "halving-doubling", p, n, a, b),
                             2 * rounds * a + 2 * (p - 1) * nb / p, 1e-12));
        }
    }
}

/* 6 workers: 2 pairs, a core of 4. */
TEST(folds_add_their_terms) {
    assert_true(near(published("allreduce", "recursive-doubling", 6, 1200, 1, 0), 4, 1e-12));
    assert_true(near(published("allreduce", "recursive-doubling", 6, 1200, 0, 1), 4800, 1e-12));
    assert_true(near(published("allreduce", "halving-doubling", 6, 1200, 1, 0), 6, 1e-12));
    /* 2 x 3/4 of the vector, and 2 whole ones */
    assert_true(near(published("allreduce", "halving-doubling", 6, 1200, 0, 1), 4200, 1e-12));
    /* 1 in, 2 and 4 in the core, 5 out */
    assert_true(near(published("allgather", "recursive-doubling", 6, 100, 0, 1), 1200, 1e-12));
    assert_true(near(published("allgather", "recursive-doubling", 6, 100, 1, 0), 4, 1e-12));
}
