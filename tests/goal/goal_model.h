/*
 * Random schedules, and what the reader must make of them: found the slow way, from the definition
 * in goal/goal.h.
 */
#ifndef GW_TESTS_GOAL_MODEL_H
#define GW_TESTS_GOAL_MODEL_H

#include "tests/goal/goal_patterns.h"

/* Mostly small, sometimes the largest that is allowed. */
static uint64_t some_number(struct gw_random *random, uint64_t most) {
    uint32_t choice = below(random, 4);
    return choice == 0   ? 0
           : choice == 1 ? most
                         : gw_random_below(random, most < 100 ? most + 1 : 100);
}

static struct gw_goal_operation some_operation(struct gw_random *random, uint32_t rank_count) {
    struct gw_goal_operation result = {.kind = (uint8_t)(1 + below(random, 3)),
                                       .size = some_number(random, UINT64_MAX),
                                       .cpu = (uint8_t)some_number(random, UINT8_MAX)};
    if (result.kind != GW_GOAL_CALC) {
        bool any = result.kind == GW_GOAL_RECEIVE && below(random, 4) == 0;
        result.peer = any ? GW_GOAL_ANY : below(random, rank_count);
        result.tag = (uint32_t)some_number(random, UINT32_MAX);
        result.nic = (uint8_t)some_number(random, UINT8_MAX);
    }
    return result;
}

/* Makes a schedule of a few ranks, which stand in any order in the file; `starts`: some operations
 * wait for the start of others. */
static struct pattern make_model(struct gw_random *random, bool starts) {
    enum { MAX_RANKS = 5, MAX_OPERATIONS = 12 };
    struct pattern model = pattern_open(1 + below(random, MAX_RANKS));
    for (uint32_t rank = 0; rank < model.rank_count; rank++) {
        uint32_t count = below(random, MAX_OPERATIONS + 1);
        for (uint32_t i = 0; i < count; i++) {
            (void)add(&model, rank, some_operation(random, model.rank_count));
            for (uint32_t times = below(random, 3); times > 0; times--) {
                add_dependency(
                    &model, rank,
                    (struct pattern_dependency){.after = below(random, i + 1),
                                                .before = below(random, i + 1),
                                                .below = i,
                                                .at_start = starts && below(random, 3) == 0});
            }
        }
        uint32_t other = below(random, rank + 1);
        model.order[rank] = model.order[other];
        model.order[other] = rank;
    }
    return model;
}

static void expect_dependents(const struct pattern_rank *rank, uint32_t operation, bool at_start,
                              const struct gw_goal *goal, uint32_t first, uint32_t *next) {
    const uint32_t *dependents = gw_goal_dependents(goal, &goal->operations[first + operation]);
    for (size_t i = 0; i < rank->dependency_count; i++) {
        const struct pattern_dependency *dependency = &rank->dependencies[i];
        if (dependency->before == operation && dependency->at_start == at_start) {
            uint32_t expected = (first + dependency->after) | (at_start ? GW_GOAL_AT_START : 0);
            assert_int_equal(dependents[(*next)++], expected);
        }
    }
}

static void expect_operation(const struct gw_goal_operation *actual,
                             const struct pattern_rank *rank, uint32_t number) {
    const struct gw_goal_operation *expected = &rank->operations[number];
    uint32_t waits = 0;
    for (size_t i = 0; i < rank->dependency_count; i++) {
        waits += rank->dependencies[i].after == number;
    }
    assert_int_equal(actual->kind, expected->kind);
    assert_int_equal(actual->size, expected->size);
    assert_int_equal(actual->peer, expected->peer);
    assert_int_equal(actual->tag, expected->tag);
    assert_int_equal(actual->cpu, expected->cpu);
    assert_int_equal(actual->nic, expected->nic);
    assert_int_equal(actual->waits, waits);
    assert_int_equal(actual->state, 0);
}

static void expect_model(const struct gw_goal *goal, const struct pattern *model) {
    uint32_t index = 0;
    uint32_t cpus = 1;
    uint32_t nics = 1;
    assert_int_equal(goal->rank_count, model->rank_count);
    for (uint32_t i = 0; i < model->rank_count; i++) {
        const struct pattern_rank *rank = &model->ranks[model->order[i]];
        uint32_t first = index;
        assert_int_equal(goal->ranks[model->order[i]].first, first);
        assert_int_equal(goal->ranks[model->order[i]].count, rank->count);
        for (uint32_t j = 0; j < rank->count; j++, index++) {
            uint32_t next = 0;
            expect_operation(&goal->operations[index], rank, j);
            expect_dependents(rank, j, true, goal, first, &next);
            expect_dependents(rank, j, false, goal, first, &next);
            assert_int_equal(goal->operations[index].dependent_count, next);
            cpus = rank->operations[j].cpu >= cpus ? rank->operations[j].cpu + 1u : cpus;
            nics = rank->operations[j].nic >= nics ? rank->operations[j].nic + 1u : nics;
        }
    }
    assert_int_equal(goal->operation_count, index);
    assert_int_equal(goal->cpus, cpus);
    assert_int_equal(goal->nics, nics);
}

#endif
