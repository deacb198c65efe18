/*
 * Random schedules in plain arrays, and what the reader must make of them: found the slow way, from
 * the definition in goal/goal.h.
 */
#ifndef GW_TESTS_GOAL_MODEL_H
#define GW_TESTS_GOAL_MODEL_H

#include "tests/support.h"

enum { model_ranks = 5, model_operations = 12, model_dependencies = 24 };

/* `after` waits for `before`, both of the same rank; written below operation `below`. */
struct model_dependency {
    uint32_t after, before, below;
    bool at_start;
};

struct model_rank {
    struct gw_goal_operation operations[model_operations];
    struct model_dependency dependencies[model_dependencies];
    uint32_t operation_count, dependency_count;
};

struct model {
    uint32_t rank_count;
    uint32_t order[model_ranks]; /* of ranks in the file */
    struct model_rank ranks[model_ranks];
};

static uint32_t below(struct gw_random *random, uint32_t limit) {
    return (uint32_t)gw_random_below(random, limit);
}

/* Mostly small, sometimes the largest that is allowed. */
static uint64_t some_number(struct gw_random *random, uint64_t most) {
    switch (below(random, 4)) {
    case 0:
        return 0;
    case 1:
        return most;
    default:
        return gw_random_below(random, most < 100 ? most + 1 : 100);
    }
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

static void make_model_rank(struct gw_random *random, uint32_t rank_count, struct model_rank *out) {
    uint32_t count = below(random, model_operations + 1);
    *out = (struct model_rank){.operation_count = count};
    for (uint32_t i = 0; i < count; i++) {
        out->operations[i] = some_operation(random, rank_count);
        for (uint32_t times = below(random, 3); times > 0; times--) {
            out->dependencies[out->dependency_count++] =
                (struct model_dependency){.after = below(random, i + 1),
                                          .before = below(random, i + 1),
                                          .below = i,
                                          .at_start = below(random, 3) == 0};
        }
    }
}

static void make_model(struct gw_random *random, struct model *out) {
    out->rank_count = 1 + below(random, model_ranks);
    for (uint32_t i = 0; i < out->rank_count; i++) {
        make_model_rank(random, out->rank_count, &out->ranks[i]);
        uint32_t other = below(random, i + 1);
        out->order[i] = out->order[other];
        out->order[other] = i;
    }
}

/* ---- what must come of it ------------------------------------------------------------------ */

static void expect_dependents(const struct model_rank *rank, uint32_t operation, bool at_start,
                              const struct gw_goal *goal, uint32_t first, uint32_t *next) {
    const uint32_t *dependents = gw_goal_dependents(goal, &goal->operations[first + operation]);
    for (uint32_t i = 0; i < rank->dependency_count; i++) {
        const struct model_dependency *dependency = &rank->dependencies[i];
        if (dependency->before == operation && dependency->at_start == at_start) {
            uint32_t expected = (first + dependency->after) | (at_start ? GW_GOAL_AT_START : 0);
            assert_int_equal(dependents[(*next)++], expected);
        }
    }
}

static uint32_t count_waits(const struct model_rank *rank, uint32_t operation) {
    uint32_t waits = 0;
    for (uint32_t i = 0; i < rank->dependency_count; i++) {
        waits += rank->dependencies[i].after == operation;
    }
    return waits;
}

static void expect_operation(const struct gw_goal_operation *actual,
                             const struct gw_goal_operation *expected, uint32_t waits) {
    assert_int_equal(actual->kind, expected->kind);
    assert_int_equal(actual->size, expected->size);
    assert_int_equal(actual->peer, expected->peer);
    assert_int_equal(actual->tag, expected->tag);
    assert_int_equal(actual->cpu, expected->cpu);
    assert_int_equal(actual->nic, expected->nic);
    assert_int_equal(actual->waits, waits);
    assert_int_equal(actual->state, 0);
}

static void expect_model(const struct gw_goal *goal, const struct model *model) {
    uint32_t index = 0;
    uint32_t cpus = 1;
    uint32_t nics = 1;
    assert_int_equal(goal->rank_count, model->rank_count);
    for (uint32_t i = 0; i < model->rank_count; i++) {
        const struct model_rank *rank = &model->ranks[model->order[i]];
        uint32_t first = index;
        assert_int_equal(goal->ranks[model->order[i]].first, first);
        assert_int_equal(goal->ranks[model->order[i]].count, rank->operation_count);
        for (uint32_t j = 0; j < rank->operation_count; j++, index++) {
            const struct gw_goal_operation *operation = &rank->operations[j];
            expect_operation(&goal->operations[index], operation, count_waits(rank, j));
            uint32_t next = 0;
            expect_dependents(rank, j, true, goal, first, &next);
            expect_dependents(rank, j, false, goal, first, &next);
            assert_int_equal(goal->operations[index].dependent_count, next);
            cpus = operation->cpu >= cpus ? operation->cpu + 1u : cpus;
            nics = operation->nic >= nics ? operation->nic + 1u : nics;
        }
    }
    assert_int_equal(goal->operation_count, index);
    assert_int_equal(goal->cpus, cpus);
    assert_int_equal(goal->nics, nics);
}

#endif
