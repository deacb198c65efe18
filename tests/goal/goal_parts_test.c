/*
 * The parts of the runner by themselves: matching, parking and the order of starts, each against
 * plain lists.
 */
#include "goal/run.h"
#include "tests/test.h"

static uint32_t below(struct gw_random *random, uint32_t limit) {
    return (uint32_t)gw_random_below(random, limit);
}

/* ---- matching ------------------------------------------------------------------------------ */

/* Operations of random ranks, peers and tags; half of them are sends, which are messages. */
struct crowd {
    struct gw_goal goal;
    uint32_t *waiting; /* in the order in which they came */
    size_t waiting_count;
};

enum { crowd_ranks = 6 };

static void make_crowd(struct gw_random *random, struct crowd *crowd, uint32_t count, uint32_t tags,
                       bool wildcards) {
    *crowd = (struct crowd){.goal = {.rank_count = crowd_ranks, .operation_count = count}};
    crowd->goal.operations = calloc(count, sizeof *crowd->goal.operations);
    crowd->goal.ranks = calloc(crowd_ranks, sizeof *crowd->goal.ranks);
    crowd->waiting = calloc(count, sizeof *crowd->waiting);
    assert_non_null(crowd->goal.operations);
    assert_non_null(crowd->goal.ranks);
    assert_non_null(crowd->waiting);
    for (uint32_t i = 0; i < count; i++) {
        struct gw_goal_operation *operation = &crowd->goal.operations[i];
        operation->kind = below(random, 2) == 0 ? GW_GOAL_SEND : GW_GOAL_RECEIVE;
        operation->peer = below(random, crowd_ranks);
        operation->tag = below(random, tags);
        operation->size = gw_random_below(random, UINT64_MAX);
        uint32_t rank = i / (count / crowd_ranks);
        rank = rank < crowd_ranks ? rank : crowd_ranks - 1;
        if (crowd->goal.ranks[rank].count++ == 0) {
            crowd->goal.ranks[rank].first = i;
        }
        bool send = operation->kind == GW_GOAL_SEND;
        bool wild_rank = (send ? operation->peer : rank) % 2 == 0; /* only some ranks have any */
        if (wildcards && wild_rank) {
            bool any_peer = !send && below(random, 4) == 0;
            operation->peer = any_peer ? GW_GOAL_ANY : operation->peer;
            operation->tag = below(random, 4) == 0 ? GW_GOAL_ANY : operation->tag;
        }
        operation->waits = rank;
    }
}

static void close_crowd(struct crowd *crowd) {
    free(crowd->goal.operations);
    free(crowd->goal.ranks);
    free(crowd->waiting);
}

static bool same(uint32_t a, uint32_t b) {
    return a == b || a == GW_GOAL_ANY || b == GW_GOAL_ANY;
}

static bool match(const struct gw_goal_operation *a, const struct gw_goal_operation *b) {
    if (a->kind == b->kind) {
        return false;
    }
    const struct gw_goal_operation *send = a->kind == GW_GOAL_SEND ? a : b;
    const struct gw_goal_operation *receive = a->kind == GW_GOAL_SEND ? b : a;
    return send->peer == receive->waits && same(send->waits, receive->peer) &&
           same(send->tag, receive->tag);
}

/* The first that waits and matches leaves; otherwise this one waits. */
static uint32_t expect_match(struct crowd *crowd, uint32_t operation) {
    const struct gw_goal_operation *operations = crowd->goal.operations;
    for (size_t i = 0; i < crowd->waiting_count; i++) {
        uint32_t other = crowd->waiting[i];
        if (match(&operations[operation], &operations[other])) {
            memmove(&crowd->waiting[i], &crowd->waiting[i + 1],
                    (crowd->waiting_count - i - 1) * sizeof *crowd->waiting);
            crowd->waiting_count--;
            return other;
        }
    }
    crowd->waiting[crowd->waiting_count++] = operation;
    return GW_UNMATCHED;
}

static void check_crowd(struct gw_random *random, uint32_t count, uint32_t tags, bool wildcards) {
    struct crowd crowd;
    struct gw_matching *matching = NULL;
    uint32_t *order = calloc(count, sizeof *order);
    assert_non_null(order);
    make_crowd(random, &crowd, count, tags, wildcards);
    struct gw_matched matched = {.posted = below(random, count), .wildcards = wildcards};
    assert_int_equal(gw_matching_open(&matching, &crowd.goal, &matched, NULL), GW_OK);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t other = below(random, i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t found = 0;
        gw_match_soon(matching, &crowd.goal.operations[order[i]]);
        assert_int_equal(gw_match(matching, order[i], &found, NULL), GW_OK);
        assert_int_equal(found, expect_match(&crowd, order[i]));
    }
    gw_matching_close(matching);
    close_crowd(&crowd);
    free(order);
}

/* Tables that grow, whose places are taken and left again, with few keys and with many. */
TEST(matches_the_first_that_came) {
    static const uint32_t tags[] = {1, 3, 40, 1000, 100000};
    struct gw_random *random = random_stream(1);
    for (int i = 0; i < 60; i++) {
        uint32_t count = crowd_ranks + below(random, i % 10 == 0 ? 12000 : 1500);
        check_crowd(random, count, tags[i % 5], i % 3 == 0);
    }
}

/* A message is found before it is asked for, if it is there. */
TEST(guesses_what_waits) {
    struct gw_goal_operation operations[] = {
        {.kind = GW_GOAL_RECEIVE, .peer = 1, .tag = 7, .waits = 0},
        {.kind = GW_GOAL_SEND, .peer = 0, .tag = 7, .waits = 1},
        {.kind = GW_GOAL_SEND, .peer = 0, .tag = 8, .waits = 1},
    };
    struct gw_goal_rank ranks[] = {{0, 1}, {1, 2}};
    struct gw_goal goal = {
        .rank_count = 2, .ranks = ranks, .operation_count = 3, .operations = operations};
    struct gw_matching *matching = NULL;
    uint32_t found = 0;
    struct gw_matched matched = {.posted = 1};
    assert_int_equal(gw_matching_open(&matching, &goal, &matched, NULL), GW_OK);
    assert_int_equal(gw_match(matching, 0, &found, NULL), GW_OK);
    assert_int_equal(found, GW_UNMATCHED);
    assert_int_equal(gw_match_guess(matching, &operations[1]), 0);
    assert_int_equal(gw_match_guess(matching, &operations[2]), GW_UNMATCHED);
    assert_int_equal(gw_match(matching, 1, &found, NULL), GW_OK);
    assert_int_equal(found, 0);
    assert_int_equal(gw_match_guess(matching, &operations[1]), GW_UNMATCHED);
    gw_matching_close(matching);
}

/* ---- parking ------------------------------------------------------------------------------- */

/* The events that wait for one resource, in a plain list; `next` of them is in the queue. */
struct lot {
    uint32_t orders[400];
    size_t count;
    bool waited_for;
    uint32_t next;
};

static uint32_t take_least(struct lot *lot) {
    size_t least = 0;
    for (size_t i = 1; i < lot->count; i++) {
        least = lot->orders[i] < lot->orders[least] ? i : least;
    }
    uint32_t order = lot->orders[least];
    lot->orders[least] = lot->orders[--lot->count];
    return order;
}

static void park_one(struct gw_parking *parking, uint64_t resource, struct lot *lot,
                     uint32_t order) {
    bool parked = false;
    assert_int_equal(gw_park(parking, resource, order, order + 5, &parked, NULL), GW_OK);
    assert_int_equal(parked, lot->waited_for && order > lot->next);
    if (parked) {
        lot->orders[lot->count++] = order;
    } else {
        lot->waited_for = true;
        lot->next = order;
    }
}

/* One has used the resource, who may be the next in order, or one that was so before. */
static void unpark_one(struct gw_random *random, struct gw_parking *parking, uint64_t resource,
                       struct lot *lot) {
    uint32_t order = 0;
    uint32_t id = 0;
    bool stranger = below(random, 4) == 0;
    uint32_t used = stranger ? lot->next + 1 : lot->next;
    bool any = gw_unpark(parking, resource, used, &order, &id);
    assert_int_equal(any, lot->waited_for && !stranger && lot->count > 0);
    if (any) {
        lot->next = take_least(lot);
        assert_int_equal(order, lot->next);
        assert_int_equal(id, lot->next + 5);
    } else if (!stranger) {
        lot->waited_for = false;
    }
}

TEST(hands_out_the_next_in_order) {
    enum { LOTS = 700, STEPS = 200000 };
    struct gw_parking *parking = NULL;
    struct lot *lots = calloc(LOTS, sizeof *lots);
    assert_non_null(lots);
    struct gw_random *random = random_stream(2);
    assert_int_equal(gw_parking_open(&parking, NULL), GW_OK);
    for (uint32_t i = 0; i < STEPS; i++) {
        /* Ranks, kinds, processors and interfaces in one number; few of them are busy at a time. */
        uint32_t which = below(random, 1 + (i / 10000 % 2 == 0 ? LOTS - 1 : 20));
        uint64_t resource = ((uint64_t)(which / 12) << 18) | (uint64_t)(which % 12) << 7;
        struct lot *lot = &lots[which];
        bool fill = i / 500 % 2 == 0;
        if (below(random, 8) < (fill ? 6u : 2u) && lot->count < 400) {
            /* Each order is once: scrambled, but counted. */
            park_one(parking, resource, lot, (i * 7919u) % STEPS * 2);
        } else {
            unpark_one(random, parking, resource, lot);
        }
    }
    gw_parking_close(parking);
    free(lots);
}

/* ---- the order of starts ------------------------------------------------------------------- */

/* Sorted by kind; a permutation; up to 16 in order; receives that match the same in order. */
static void check_order(const struct gw_goal_operation *operations, const uint32_t *sorted,
                        uint32_t count, bool wild) {
    bool *seen = calloc(count, sizeof *seen);
    assert_non_null(seen);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(sorted[i] < count && !seen[sorted[i]]);
        seen[sorted[i]] = true;
        const struct gw_goal_operation *a = &operations[sorted[i]];
        for (uint32_t j = i + 1; j < count; j++) {
            const struct gw_goal_operation *b = &operations[sorted[j]];
            bool receives = a->kind == GW_GOAL_RECEIVE && b->kind == GW_GOAL_RECEIVE;
            assert_true(a->kind <= b->kind);
            if ((count <= 16 && a->kind == b->kind) || (receives && wild) ||
                (receives && a->peer == b->peer && a->tag == b->tag)) {
                assert_true(sorted[i] < sorted[j]);
            }
        }
    }
    free(seen);
}

TEST(starts_by_kind) {
    enum { MOST = 150 };
    struct gw_start_order order = {0};
    struct gw_random *random = random_stream(3);
    for (int i = 0, trials = gw_trials(2000); i < trials; i++) {
        struct gw_goal_operation operations[MOST];
        uint32_t sorted[MOST];
        uint32_t count = below(random, i % 2 == 0 ? 20 : MOST + 1);
        uint32_t tags = 1 + below(random, 20);
        bool wildcards = below(random, 4) == 0;
        bool wild = false;
        for (uint32_t j = 0; j < count; j++) {
            sorted[j] = j;
            operations[j] = (struct gw_goal_operation){.kind = (uint8_t)(1 + below(random, 3)),
                                                       .peer = below(random, 3),
                                                       .tag = below(random, tags)};
            if (operations[j].kind == GW_GOAL_RECEIVE && wildcards && below(random, 30) == 0) {
                *(below(random, 2) == 0 ? &operations[j].peer : &operations[j].tag) = GW_GOAL_ANY;
                wild = true;
            }
        }
        assert_int_equal(gw_goal_start_order(&order, operations, sorted, count, NULL), GW_OK);
        check_order(operations, sorted, count, wild);
    }
    gw_start_order_free(&order);
}

/*
 * Forty operations, a send, a receive and a calculation in turn (the receives all different), as
 * std::sort of GCC's library leaves them.
 */
TEST(many_start_as_a_sort_leaves_them) {
    enum { COUNT = 40 };
    static const uint32_t expected[COUNT] = {0,  21, 18, 24, 15, 27, 12, 30, 9,  33, 6,  36, 3,  39,
                                             31, 34, 28, 37, 25, 22, 1,  19, 16, 4,  13, 7,  10, 2,
                                             20, 38, 5,  35, 8,  32, 11, 29, 14, 26, 17, 23};
    struct gw_goal_operation operations[COUNT];
    uint32_t sorted[COUNT];
    struct gw_start_order order = {0};
    for (uint32_t i = 0; i < COUNT; i++) {
        sorted[i] = i;
        operations[i] = (struct gw_goal_operation){.kind = (uint8_t)(1 + i % 3), .tag = i};
    }
    assert_int_equal(gw_goal_start_order(&order, operations, sorted, COUNT, NULL), GW_OK);
    assert_memory_equal(sorted, expected, sizeof sorted);
    gw_start_order_free(&order);
}
