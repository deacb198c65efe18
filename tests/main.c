#include "tests/test.h"

#include "core/arena.h"

uint64_t seed;

static struct CMUnitTest tests[100];
static size_t test_count;
static CMFixtureFunction before_all, after_all;
static struct gw_arena arena;

void add_test(struct CMUnitTest test) {
    if (test_count == sizeof tests / sizeof *tests) {
        abort();
    }
    tests[test_count++] = test;
}

void set_fixtures(CMFixtureFunction setup, CMFixtureFunction teardown) {
    before_all = setup;
    after_all = teardown;
}

static void close_random(void *random) {
    gw_random_close(random);
}

struct gw_random *random_stream_from(uint64_t from, uint64_t stream) {
    struct gw_random *random = open_random_from(from, stream);
    assert_non_null(gw_arena_own(&arena, random, close_random));
    return random;
}

struct gw_random *random_stream(uint64_t stream) {
    return random_stream_from(seed, stream);
}

/* Runs the tests whose names are like an argument; without one, all but the `measured_` ones. */
int main(int argc, char **argv) {
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    } else {
        cmocka_set_skip_filter("measured_*");
    }
    seed = choose_seed();
    int failed = _cmocka_run_group_tests("tests", tests, test_count, before_all, after_all);
    gw_arena_free(&arena);
    return failed;
}
