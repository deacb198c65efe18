/*
 * Runs of GOAL schedules against a second, naive implementation of the same rules, against
 * figures that LogGOPSim itself gave, and that faster networks are not slower.
 */
#include "goal/goal.h"
#include "tests/test.h"

#include "tests/goal/goal_patterns.h"
#include "tests/goal/goal_reference.h"

/* ---- random schedules and parameters --------------------------------------------------------- */

struct random_options {
    uint32_t ranks, layers, most_messages; /* per rank and layer */
    uint64_t bytes;                        /* of a message: up to about twice as many */
    bool wildcards, self_sends, stray;     /* stray: some messages have no receive, or no send */
};

/* The operations of a rank's layer: of count - `first`. */
struct layer {
    uint32_t first, count;
};

static void add_random_message(struct gw_random *random, struct pattern *pattern,
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

/* An operation of a rank's layer waits for some of the layer before it. */
static void tie_layers(struct gw_random *random, struct pattern *pattern, uint32_t rank,
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
static struct pattern layered(struct gw_random *random, const struct random_options *options) {
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

static struct pattern random_layers(struct gw_random *random, uint64_t bytes) {
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

enum shape { TREE, DISSEMINATION, RING, DOUBLING, INCAST, IN_TURN, SENDS_FIRST, PIPELINE, SHAPES };

static struct pattern make(enum shape shape, uint32_t ranks, uint64_t bytes, uint32_t steps) {
    switch (shape) {
    case TREE:
        return binomial(ranks, bytes);
    case DISSEMINATION:
        return dissemination(ranks, bytes);
    case RING:
        return ring(ranks, bytes, steps, true);
    case DOUBLING:
        return recursive_doubling(ranks, bytes);
    case INCAST:
        return incast(ranks, bytes);
    case IN_TURN:
        return all_to_all(ranks, bytes, true);
    case SENDS_FIRST:
        return all_to_all(ranks, bytes, false);
    default:
        return pipeline(ranks, bytes, steps);
    }
}

static struct pattern random_pattern(struct gw_random *random, uint64_t bytes) {
    uint32_t ranks = 1 + below(random, 40);
    uint32_t steps = 1 + below(random, 20);
    uint32_t shape = below(random, 2 * SHAPES + 2);
    if (shape == RING && below(random, 2) == 0) {
        return ring(ranks, bytes, steps, false);
    }
    ranks = shape == IN_TURN || shape == SENDS_FIRST ? 1 + ranks % 24 : ranks;
    return shape < SHAPES ? make((enum shape)shape, ranks, bytes, steps)
                          : random_layers(random, bytes);
}

/* Spreads operations over processors and network interfaces. */
static void spread(struct gw_random *random, struct pattern *pattern, uint32_t cpus,
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
static uint64_t random_ns(struct gw_random *random, uint32_t most) {
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
static struct gw_loggops random_parameters(struct gw_random *random, uint64_t bytes) {
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

static struct random_case random_case(struct gw_random *random) {
    static const uint64_t sizes[] = {0, 1, 2, 8, 100, 1000, 70000};
    uint64_t bytes = sizes[below(random, 7)];
    struct random_case result = {.parameters = random_parameters(random, bytes)};
    result.pattern = random_pattern(random, bytes);
    if (below(random, 4) == 0) {
        spread(random, &result.pattern, 1 + below(random, 3), 1 + below(random, 3));
    }
    return result;
}

/* ---- against the reference ----------------------------------------------------------------- */

static size_t deadlocks, most_events;

static void show(const struct random_case *subject) {
    const struct gw_loggops *p = &subject->parameters;
    print_pattern(stderr, &subject->pattern);
    print_error("L=%llu,o=%llu,g=%llu,O=%llu,G=%llu,S=%llu\n", (unsigned long long)p->L,
                (unsigned long long)p->o, (unsigned long long)p->g, (unsigned long long)p->O,
                (unsigned long long)p->G, (unsigned long long)p->S);
}

static void compare_with_reference(const struct random_case *subject) {
    uint32_t ranks = subject->pattern.rank_count;
    uint64_t *expected = calloc(ranks, sizeof *expected);
    uint64_t events = 0;
    struct gw_goal_result result;
    struct gw_error error = {0};
    assert_non_null(expected);
    bool ends = reference_run(&subject->pattern, &subject->parameters, expected, &events);
    struct gw_goal goal = pattern_read(&subject->pattern);
    enum gw_status status = gw_goal_run(&goal, &subject->parameters, NULL, &result, &error);
    bool same = status == (ends ? GW_OK : GW_BAD_INPUT);
    if (same && ends) {
        same = result.events == events &&
               memcmp(result.finish_ns, expected, ranks * sizeof *expected) == 0;
    }
    if (!same) {
        show(subject);
        fail_msg("status %d (%s), %llu events, reference %llu", status, error.message,
                 (unsigned long long)result.events, (unsigned long long)events);
    }
    deadlocks += !ends;
    most_events = events > most_events ? events : most_events;
    free(expected);
    free(result.finish_ns);
    gw_goal_free(&goal);
}

TEST(agrees_with_the_reference) {
    enum { CASES = 4000 };
    struct gw_random *random = random_stream(1);
    int trials = gw_trials(CASES);
    for (int i = 0; i < trials; i++) {
        struct random_case subject = random_case(random);
        compare_with_reference(&subject);
        pattern_close(&subject.pattern);
    }
    print_message("%d schedules, of which %zu deadlock; up to %zu events\n", trials, deadlocks,
                  most_events);
    assert_in_range(deadlocks, 1, trials / 4);
}

/* Messages of as many tags, more than the tables of matching have room for at first, wait for
 * receives that are posted in any order once a calculation ends. */
TEST(many_messages_wait_for_their_receives) {
    struct gw_random *random = random_stream(3);
    for (uint32_t messages = 500; messages < 3000; messages *= 2) {
        struct random_case subject = {.pattern = pattern_open(2),
                                      .parameters = {.L = 2500, .S = 65535}};
        uint32_t *tags = calloc(messages, sizeof *tags);
        uint32_t calc = add_calc(&subject.pattern, 1, 1000000);
        for (uint32_t i = 0; i < messages; i++) {
            (void)add_send(&subject.pattern, 0, 8, 1, i);
            tags[i] = i;
        }
        gw_random_shuffle(random, tags, messages, sizeof *tags);
        for (uint32_t i = 0; i < messages; i++) {
            uint32_t received = add_receive(&subject.pattern, 1, 8, 0, tags[i]);
            add_requires(&subject.pattern, 1, received, calc);
        }
        compare_with_reference(&subject);
        pattern_close(&subject.pattern);
        free(tags);
    }
}

/* ---- against LogGOPSim --------------------------------------------------------------------- */

/* A digest of all finish times, each weighted by its rank. */
static uint64_t digest(const uint64_t *finish_ns, uint32_t ranks) {
    uint64_t sum = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        sum += (rank + 1) * finish_ns[rank];
    }
    return sum;
}

static struct gw_goal_result run_pattern(const struct pattern *pattern,
                                         const struct gw_loggops *parameters) {
    struct gw_goal goal = pattern_read(pattern);
    struct gw_goal_result result;
    assert_ok(gw_goal_run(&goal, parameters, NULL, &result, NULL));
    gw_goal_free(&goal);
    return result;
}

/* LogGOPSim's output for these schedules; it shows the order in which its sort leaves more than 16
 * operations that become free at once. */
TEST(agrees_with_loggopsim) {
    static const struct gw_loggops usual = {
        .L = 2500, .o = 1500, .g = 1000, .O = 0, .G = 6, .S = 65535};
    static const struct gw_loggops other = {.L = 100, .o = 50, .g = 3000, .O = 2, .G = 1, .S = 10};
    static const struct {
        enum shape shape;
        uint32_t ranks;
        uint64_t bytes;
        const struct gw_loggops *parameters;
        uint64_t events, digest;
    } table[] = {
        {TREE, 37, 1000, &usual, 108, 33399680},
        {TREE, 37, 1000, &other, 108, 11080361},
        {DISSEMINATION, 64, 8, &usual, 1152, 69164160},
        {DISSEMINATION, 64, 8, &other, 1152, 31717920},
        {RING, 24, 5000, &usual, 3312, 489817200},
        {RING, 24, 5000, &other, 3312, 277324800},
        {DOUBLING, 64, 3000, &usual, 1536, 302689920},
        {DOUBLING, 64, 3000, &other, 1536, 160442880},
        {INCAST, 100, 777, &usual, 297, 8186944},
        {INCAST, 100, 777, &other, 297, 1240607830},
        {IN_TURN, 5, 1000, &usual, 60, 689640},
        {IN_TURN, 5, 1000, &other, 60, 245760},
        {IN_TURN, 40, 1000, &usual, 4680, 367578120},
        {IN_TURN, 40, 1000, &other, 4680, 130990080},
        {SENDS_FIRST, 40, 1000, &usual, 4680, 367578120},
        {SENDS_FIRST, 40, 1000, &other, 4680, 130990080},
        {PIPELINE, 30, 2000, &usual, 696, 212972246},
        {PIPELINE, 30, 2000, &other, 696, 65849482},
        {INCAST, 2048, 1, &usual, 6141, 3150337000},
        {INCAST, 2048, 1, &other, 6141, 111046950},
        {DISSEMINATION, 500, 100000, &usual, 13500, 682543111500},
        {DISSEMINATION, 500, 100000, &other, 13500, 451008216000},
    };
    for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
        struct pattern pattern = make(table[t].shape, table[t].ranks, table[t].bytes,
                                      table[t].shape == PIPELINE ? 8 : 2 * (table[t].ranks - 1));
        struct gw_goal_result result = run_pattern(&pattern, table[t].parameters);
        if (result.events != table[t].events ||
            digest(result.finish_ns, table[t].ranks) != table[t].digest) {
            fail_msg("row %zu: %llu events, digest %llu", t, (unsigned long long)result.events,
                     (unsigned long long)digest(result.finish_ns, table[t].ranks));
        }
        free(result.finish_ns);
        pattern_close(&pattern);
    }
}

/* ---- faster networks ----------------------------------------------------------------------- */

/* When the last rank finishes. */
static uint64_t time_of(const struct pattern *pattern, const struct gw_loggops *parameters) {
    struct gw_goal_result result = run_pattern(pattern, parameters);
    uint64_t last = 0;
    for (uint32_t rank = 0; rank < pattern->rank_count; rank++) {
        last = result.finish_ns[rank] > last ? result.finish_ns[rank] : last;
    }
    free(result.finish_ns);
    return last;
}

/* Less latency, time per byte, overhead and gap slow none of these patterns. */
TEST(faster_networks_are_not_slower) {
    static const enum shape shapes[] = {TREE, RING, DISSEMINATION};
    struct gw_random *random = random_stream(2);
    for (int i = 0, trials = gw_trials(600); i < trials; i++) {
        uint64_t bytes = 1 + below(random, 10000);
        uint32_t ranks = 2 + below(random, 40);
        struct pattern pattern = make(shapes[i % 3], ranks, bytes, 2 * (ranks - 1));
        struct gw_loggops slow = random_parameters(random, bytes);
        slow.S = UINT64_MAX;
        struct gw_loggops fast = slow;
        uint64_t *faster[] = {&fast.L, &fast.G, &fast.o, &fast.g, &fast.O};
        for (int times = 1 + i % 3; times > 0; times--) {
            uint64_t *parameter = faster[below(random, 5)];
            *parameter = gw_random_below(random, *parameter + 1);
        }
        assert_true(time_of(&pattern, &fast) <= time_of(&pattern, &slow));
        pattern_close(&pattern);
    }
}
