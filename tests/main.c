#include "tests/test.h"

uint64_t seed;

static struct CMUnitTest tests[100];
static size_t test_count;
static CMFixtureFunction before_all, after_all;

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

int main(void) {
    seed = choose_seed();
    return _cmocka_run_group_tests("tests", tests, test_count, before_all, after_all);
}
