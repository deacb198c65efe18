/* Random schedules and parameters for tests of the runner. After goal_patterns.h. */
#ifndef GW_TESTS_GOAL_RANDOM_H
#define GW_TESTS_GOAL_RANDOM_H

#include "tests/support.h"

struct random_options {
    uint32_t ranks, layers, most_messages; /* per rank and layer */
    uint64_t bytes;                        /* of a message: up to about twice as many */
    bool wildcards, self_sends, stray;     /* stray: some messages have no receive, or no send */
};

/* The operations of a rank's layer: of count - `first`. */
struct layer {
    uint32_t first, count;
};

static inline void add_random_message(struct gw_random *random, struct pattern *pattern,
                                      const struct random_options *options, uint32_t from,
                                      uint32_t layer) {
    uint32_t to = below(random, options->ranks);
    if (to == from && !options->self_sends) {
        return;
    }
    /* All of a tag are equally long: whichever is taken has the receive's size. */
    uint32_t tag = 3 * layer + below(random, 3);
    uint64_t bytes = tag * UINT64_C(7919) % (2 * options->bytes + 1);
    bool any = options->wildcards && below(random, 3) == 0;
    bool any_tags = options->wildcards && options->stray;
    uint32_t stray = options->stray ? below(random, 60) : 60;
    if (stray != 0) {
        bool any_tag = any_tags && below(random, 12) == 0;
        (void)add_send(pattern, from, bytes, to, any_tag ? GW_GOAL_ANY : tag);
    }
    if (stray != 1) {
        bool any_tag = any_tags && below(random, 6) == 0;
        (void)add_receive(pattern, to, bytes, any ? GW_GOAL_ANY : from,
                          any_tag ? GW_GOAL_ANY : tag);
    }
}

/* What stands in a rank's layer waits for some of the layer before it. */
static inline void tie_layers(struct gw_random *random, struct pattern *pattern, uint32_t rank,
                              struct layer before, struct layer after) {
    uint32_t density = below(random, 4);
    for (uint32_t a = after.first; a < after.count; a++) {
        for (uint32_t b = before.first; b < before.count; b++) {
            if (below(random, 4) < density) {
                struct pattern_dependency dependency = {
                    .after = a, .before = b, .at_start = below(random, 3) == 0};
                add_dependency(pattern, rank, dependency);
            }
        }
    }
}

/*
 * Layers of messages between random ranks. A layer's operations wait for ones of their rank's layer
 * before it, so that nothing waits for itself.
 */
static inline struct pattern layered(struct gw_random *random,
                                     const struct random_options *options) {
    struct pattern pattern = pattern_open(options->ranks);
    struct layer *layers = calloc(options->ranks, sizeof *layers);
    assert_non_null(layers);
    for (uint32_t layer = 0; layer < options->layers; layer++) {
        for (uint32_t rank = 0; rank < options->ranks; rank++) {
            for (uint32_t times = below(random, options->most_messages + 1); times > 0; times--) {
                add_random_message(random, &pattern, options, rank, layer);
            }
            if (below(random, 2) == 0) {
                (void)add_calc(&pattern, rank, below(random, 5000));
            }
        }
        for (uint32_t rank = 0; rank < options->ranks; rank++) {
            struct layer now = {layers[rank].count, (uint32_t)pattern.ranks[rank].count};
            tie_layers(random, &pattern, rank, layers[rank], now);
            layers[rank] = now.first < now.count ? now : layers[rank];
        }
    }
    free(layers);
    return pattern;
}

static inline struct pattern random_layers(struct gw_random *random, uint64_t bytes) {
    struct random_options options = {.ranks = 1 + below(random, 12),
                                     .layers = 1 + below(random, 5),
                                     .most_messages = 1 + below(random, 5),
                                     .bytes = bytes,
                                     .wildcards = below(random, 3) == 0,
                                     .self_sends = below(random, 3) == 0,
                                     .stray = below(random, 8) == 0};
    if (below(random, 8) == 0) { /* many that become free at once */
        options.ranks = 1 + below(random, 3);
        options.layers = 2;
        options.most_messages = 40;
    }
    return layered(random, &options);
}

static inline struct pattern random_pattern(struct gw_random *random, uint64_t bytes) {
    uint32_t ranks = 1 + below(random, 40);
    uint32_t steps = 1 + below(random, 20);
    switch (below(random, 20)) {
    case 0:
        return binomial(ranks, bytes);
    case 1:
        return binomial_reduce(ranks, bytes);
    case 2:
        return dissemination(ranks, bytes);
    case 3:
        return ring(ranks, bytes, steps, below(random, 2) == 0);
    case 4:
        return recursive_doubling(ranks, bytes);
    case 5:
        return incast(ranks, bytes);
    case 6:
        return all_to_all(1 + ranks % 24, bytes, true);
    case 7:
        return all_to_all(1 + ranks % 24, bytes, false);
    case 8:
        return pipeline(ranks, bytes, steps);
    default:
        return random_layers(random, bytes);
    }
}

/* Spreads operations over processors and network interfaces. */
static inline void spread(struct gw_random *random, struct pattern *pattern, uint32_t cpus,
                          uint32_t nics) {
    for (uint32_t rank = 0; rank < pattern->rank_count; rank++) {
        for (size_t i = 0; i < pattern->ranks[rank].count; i++) {
            struct gw_goal_operation *operation = &pattern->ranks[rank].operations[i];
            operation->cpu = (uint8_t)below(random, cpus);
            operation->nic = operation->kind == GW_GOAL_CALC ? 0 : (uint8_t)below(random, nics);
        }
    }
}

/* Nothing, little, or much. */
static inline uint64_t random_ns(struct gw_random *random, uint32_t most) {
    switch (below(random, 4)) {
    case 0:
        return 0;
    case 1:
        return 1 + below(random, 10);
    default:
        return below(random, most);
    }
}

/* Eager, rendezvous, and limits next to the size of messages. */
static inline struct gw_loggops random_parameters(struct gw_random *random, uint64_t bytes) {
    const uint64_t limits[] = {0, bytes > 0 ? bytes - 1 : 0, bytes, bytes + 1, 1000000, 1000000};
    return (struct gw_loggops){.L = random_ns(random, 3000),
                               .o = random_ns(random, 2000),
                               .g = random_ns(random, 4000),
                               .O = random_ns(random, 4),
                               .G = random_ns(random, 8),
                               .S = limits[below(random, 6)]};
}

struct random_case {
    struct pattern pattern;
    struct gw_loggops parameters;
};

static inline struct random_case random_case(struct gw_random *random) {
    static const uint64_t sizes[] = {0, 1, 2, 8, 100, 1000, 70000};
    uint64_t bytes = sizes[below(random, 7)];
    struct random_case result = {.parameters = random_parameters(random, bytes)};
    result.pattern = random_pattern(random, bytes);
    if (below(random, 4) == 0) {
        spread(random, &result.pattern, 1 + below(random, 3), 1 + below(random, 3));
    }
    return result;
}

#endif
