/*
 * Schedules for tests of the runner: patterns of communication, and random ones, as plain arrays
 * and as text.
 */
#ifndef GW_TESTS_GOAL_PATTERNS_H
#define GW_TESTS_GOAL_PATTERNS_H

#include "tests/goal/goal_text.h"
#include "tests/support.h"

/* `after` waits for `before`, both of the same rank; written below operation `below`. */
struct pattern_dependency {
    uint32_t after, before, below;
    bool at_start;
};

struct pattern_rank {
    struct gw_goal_operation *operations;
    struct pattern_dependency *dependencies;
    size_t count, capacity, dependency_count, dependency_capacity;
};

struct pattern {
    uint32_t rank_count;
    struct pattern_rank *ranks;
    uint32_t *order; /* of the ranks in a file */
};

static inline uint32_t below(struct gw_random *random, uint32_t limit) {
    return (uint32_t)gw_random_below(random, limit);
}

/* ---- building ------------------------------------------------------------------------------ */

static inline struct pattern pattern_open(uint32_t rank_count) {
    struct pattern pattern = {.rank_count = rank_count};
    pattern.ranks = calloc(rank_count, sizeof *pattern.ranks);
    pattern.order = calloc(rank_count, sizeof *pattern.order);
    assert_non_null(pattern.ranks);
    assert_non_null(pattern.order);
    return pattern;
}

static inline void pattern_close(struct pattern *pattern) {
    for (uint32_t rank = 0; rank < pattern->rank_count; rank++) {
        free(pattern->ranks[rank].operations);
        free(pattern->ranks[rank].dependencies);
    }
    free(pattern->ranks);
    free(pattern->order);
}

static inline uint32_t add(struct pattern *pattern, uint32_t rank,
                           struct gw_goal_operation operation) {
    struct pattern_rank *to = &pattern->ranks[rank];
    to->operations = gw_grow(to->operations, to->count + 1, &to->capacity, sizeof *to->operations);
    assert_non_null(to->operations);
    to->operations[to->count] = operation;
    return (uint32_t)to->count++;
}

static inline uint32_t add_send(struct pattern *pattern, uint32_t rank, uint64_t bytes, uint32_t to,
                                uint32_t tag) {
    return add(
        pattern, rank,
        (struct gw_goal_operation){.kind = GW_GOAL_SEND, .size = bytes, .peer = to, .tag = tag});
}

static inline uint32_t add_receive(struct pattern *pattern, uint32_t rank, uint64_t bytes,
                                   uint32_t from, uint32_t tag) {
    return add(pattern, rank,
               (struct gw_goal_operation){
                   .kind = GW_GOAL_RECEIVE, .size = bytes, .peer = from, .tag = tag});
}

static inline uint32_t add_calc(struct pattern *pattern, uint32_t rank, uint64_t ns) {
    return add(pattern, rank, (struct gw_goal_operation){.kind = GW_GOAL_CALC, .size = ns});
}

static inline void add_dependency(struct pattern *pattern, uint32_t rank,
                                  struct pattern_dependency dependency) {
    struct pattern_rank *to = &pattern->ranks[rank];
    to->dependencies = gw_grow(to->dependencies, to->dependency_count + 1, &to->dependency_capacity,
                               sizeof *to->dependencies);
    assert_non_null(to->dependencies);
    to->dependencies[to->dependency_count++] = dependency;
}

static inline void add_requires(struct pattern *pattern, uint32_t rank, uint32_t after,
                                uint32_t before) {
    add_dependency(pattern, rank, (struct pattern_dependency){.after = after, .before = before});
}

/* ---- as text ------------------------------------------------------------------------------- */

static inline void print_pattern_operation(FILE *out, size_t label,
                                           const struct gw_goal_operation *operation) {
    static const char *const kinds[] = {"", "send", "recv", "calc"};
    (void)fprintf(out, "l%zu: %s %llu", label, kinds[operation->kind],
                  (unsigned long long)operation->size);
    if (operation->kind == GW_GOAL_CALC) {
        (void)fprintf(out, " cpu %u\n", operation->cpu);
        return;
    }
    (void)fprintf(out, "b %s %d tag %d cpu %u nic %u\n",
                  operation->kind == GW_GOAL_SEND ? "to" : "from", (int)operation->peer,
                  (int)operation->tag, operation->cpu, operation->nic);
}

static inline void print_pattern(FILE *out, const struct pattern *pattern) {
    (void)fprintf(out, "num_ranks %u\n", pattern->rank_count);
    for (uint32_t rank = 0; rank < pattern->rank_count; rank++) {
        const struct pattern_rank *from = &pattern->ranks[rank];
        (void)fprintf(out, "rank %u {\n", rank);
        for (size_t i = 0; i < from->count; i++) {
            print_pattern_operation(out, i, &from->operations[i]);
        }
        for (size_t i = 0; i < from->dependency_count; i++) {
            const struct pattern_dependency *dependency = &from->dependencies[i];
            (void)fprintf(out, "l%u %s l%u\n", dependency->after,
                          dependency->at_start ? "irequires" : "requires", dependency->before);
        }
        (void)fprintf(out, "}\n");
    }
}

/* The pattern as the reader understands its text. */
static inline struct gw_goal pattern_read(const struct pattern *pattern) {
    char *text = NULL;
    size_t length = 0;
    struct gw_goal goal;
    struct gw_error error = {0};
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    print_pattern(out, pattern);
    assert_int_equal(fclose(out), 0);
    if (read_goal_text(text, length, "pattern", &goal, &error) != GW_OK) {
        fail_msg("%s", error.message);
    }
    free(text);
    return goal;
}

/* ---- collectives --------------------------------------------------------------------------- */

/* From rank 0 down a binomial tree, the largest subtree first. */
static inline struct pattern binomial(uint32_t ranks, uint64_t bytes) {
    struct pattern pattern = pattern_open(ranks);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t lowest = rank & (~rank + 1);
        uint32_t parent_distance = rank == 0 ? UINT32_C(1) << 31 : lowest;
        uint32_t got = 0;
        if (rank > 0) {
            got = add_receive(&pattern, rank, bytes, rank - lowest, 0);
        }
        for (uint32_t distance = parent_distance >> 1; distance > 0; distance >>= 1) {
            if (distance < ranks - rank) {
                uint32_t sent = add_send(&pattern, rank, bytes, rank + distance, 0);
                if (rank > 0) {
                    add_requires(&pattern, rank, sent, got);
                }
            }
        }
    }
    return pattern;
}

static inline struct pattern dissemination(uint32_t ranks, uint64_t bytes) {
    struct pattern pattern = pattern_open(ranks);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        for (uint32_t distance = 1; distance < ranks; distance *= 2) {
            uint32_t sent = add_send(&pattern, rank, bytes, (rank + distance) % ranks, 0);
            (void)add_receive(&pattern, rank, bytes, (rank + ranks - distance) % ranks, 0);
            if (distance > 1) {
                add_requires(&pattern, rank, sent, sent - 1);
            }
        }
    }
    return pattern;
}

/* Each step's send waits for the receive of the step before it; receives are all posted at once. */
static inline struct pattern ring(uint32_t ranks, uint64_t bytes, uint32_t steps, bool tags) {
    struct pattern pattern = pattern_open(ranks);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        for (uint32_t i = 0; i < steps; i++) {
            uint32_t tag = tags ? i : 0;
            uint32_t sent = add_send(&pattern, rank, bytes, (rank + 1) % ranks, tag);
            (void)add_receive(&pattern, rank, bytes, (rank + ranks - 1) % ranks, tag);
            if (i > 0) {
                add_requires(&pattern, rank, sent, sent - 1);
            }
        }
    }
    return pattern;
}

/* Ranks without a partner sit a round out. */
static inline struct pattern recursive_doubling(uint32_t ranks, uint64_t bytes) {
    struct pattern pattern = pattern_open(ranks);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t last = UINT32_MAX;
        for (uint32_t distance = 1; distance < ranks; distance *= 2) {
            if ((rank ^ distance) >= ranks) {
                continue;
            }
            uint32_t sent = add_send(&pattern, rank, bytes, rank ^ distance, distance);
            uint32_t received = add_receive(&pattern, rank, bytes, rank ^ distance, distance);
            uint32_t calc = add_calc(&pattern, rank, bytes / 4 + 10);
            add_requires(&pattern, rank, calc, received);
            add_requires(&pattern, rank, calc, sent);
            if (last != UINT32_MAX) {
                add_requires(&pattern, rank, sent, last);
                add_requires(&pattern, rank, received, last);
            }
            last = calc;
        }
    }
    return pattern;
}

static inline struct pattern incast(uint32_t ranks, uint64_t bytes) {
    struct pattern pattern = pattern_open(ranks);
    for (uint32_t rank = 1; rank < ranks; rank++) {
        (void)add_send(&pattern, rank, bytes, 0, 0);
        (void)add_receive(&pattern, 0, bytes, rank, 0);
    }
    return pattern;
}

/* Sends and receives in turn, or first all sends. */
static inline struct pattern all_to_all(uint32_t ranks, uint64_t bytes, bool in_turn) {
    struct pattern pattern = pattern_open(ranks);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        for (uint32_t i = 1; i < ranks; i++) {
            (void)add_send(&pattern, rank, bytes, (rank + i) % ranks, 0);
            if (in_turn) {
                (void)add_receive(&pattern, rank, bytes, (rank + ranks - i) % ranks, 0);
            }
        }
        for (uint32_t i = 1; i < ranks && !in_turn; i++) {
            (void)add_receive(&pattern, rank, bytes, (rank + i) % ranks, 0);
        }
    }
    return pattern;
}

/* Segments down a chain of ranks. */
static inline struct pattern pipeline(uint32_t ranks, uint64_t bytes, uint32_t segments) {
    struct pattern pattern = pattern_open(ranks);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        for (uint32_t i = 0; i < segments; i++) {
            uint32_t got = rank == 0 ? 0 : add_receive(&pattern, rank, bytes, rank - 1, i);
            if (rank + 1 < ranks) {
                uint32_t sent = add_send(&pattern, rank, bytes, rank + 1, i);
                if (rank > 0) {
                    add_requires(&pattern, rank, sent, got);
                }
            }
        }
    }
    return pattern;
}

#endif
