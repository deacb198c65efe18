/*
 * Runs of GOAL schedules against a second, naive implementation of the same rules, against figures
 * that LogGOPSim itself gave, and against what must always hold.
 */
#include "goal/goal.h"
#include "tests/test.h"

#include "tests/goal/goal_patterns.h"

#include "tests/goal/goal_random.h"
#include "tests/goal/goal_reference.h"

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
    for (int i = 0, trials = gw_trials(CASES); i < trials; i++) {
        struct random_case subject = random_case(random);
        compare_with_reference(&subject);
        pattern_close(&subject.pattern);
    }
    print_message("%d schedules, of which %zu deadlock; up to %zu events\n", CASES, deadlocks,
                  most_events);
    assert_in_range(deadlocks, 1, CASES / 4);
}

/* ---- against LogGOPSim --------------------------------------------------------------------- */

enum shape { TREE, DISSEMINATION, RING, DOUBLING, INCAST, IN_TURN, SENDS_FIRST, PIPELINE };

static struct pattern make(enum shape shape, uint32_t ranks, uint64_t bytes) {
    switch (shape) {
    case TREE:
        return binomial(ranks, bytes);
    case DISSEMINATION:
        return dissemination(ranks, bytes);
    case RING:
        return ring(ranks, bytes, 2 * (ranks - 1), true);
    case DOUBLING:
        return recursive_doubling(ranks, bytes);
    case INCAST:
        return incast(ranks, bytes);
    case IN_TURN:
        return all_to_all(ranks, bytes, true);
    case SENDS_FIRST:
        return all_to_all(ranks, bytes, false);
    default:
        return pipeline(ranks, bytes, 8);
    }
}

/* Of all finish times: each counts by its rank. */
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
    struct gw_error error = {0};
    if (gw_goal_run(&goal, parameters, NULL, &result, &error) != GW_OK) {
        fail_msg("%s", error.message);
    }
    gw_goal_free(&goal);
    return result;
}

/* What LogGOPSim prints for these schedules; where more than 16 operations become free at once,
 * the order in which its sort leaves them shows. */
TEST(agrees_with_loggopsim) {
    static const struct gw_loggops usual = {2500, 1500, 1000, 0, 6, 65535};
    static const struct gw_loggops other = {100, 50, 3000, 2, 1, 10};
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
        struct pattern pattern = make(table[t].shape, table[t].ranks, table[t].bytes);
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

/* ---- what must always hold ----------------------------------------------------------------- */

static uint64_t last_finish(const struct gw_goal_result *result, uint32_t ranks) {
    uint64_t last = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        last = result->finish_ns[rank] > last ? result->finish_ns[rank] : last;
    }
    return last;
}

static uint64_t time_of(const struct pattern *pattern, const struct gw_loggops *parameters) {
    struct gw_goal_result result = run_pattern(pattern, parameters);
    uint64_t last = last_finish(&result, pattern->rank_count);
    free(result.finish_ns);
    return last;
}

/* Less latency and more bandwidth slow none of these; nor do less overhead and gap. */
TEST(faster_networks_are_not_slower) {
    static const enum shape shapes[] = {TREE, RING, DISSEMINATION};
    struct gw_random *random = random_stream(2);
    for (int i = 0, trials = gw_trials(600); i < trials; i++) {
        uint64_t bytes = 1 + below(random, 10000);
        struct pattern pattern = make(shapes[i % 3], 2 + below(random, 40), bytes);
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

/*
 * Of a ring all of whose messages have one tag, receives become free together, from 9 ranks on more
 * than 16 of them: in whatever order they start, each takes the message that it stands for.
 */
TEST(one_tag_is_enough_for_a_ring) {
    static const struct gw_loggops parameters = {2500, 1500, 1000, 0, 6, 65535};
    for (uint32_t ranks = 2; ranks <= 48; ranks++) {
        struct pattern tags = ring(ranks, 5000, 2 * (ranks - 1), true);
        struct pattern one = ring(ranks, 5000, 2 * (ranks - 1), false);
        assert_int_equal(time_of(&one, &parameters), time_of(&tags, &parameters));
        pattern_close(&one);
        pattern_close(&tags);
    }
}
