/*
 * Tests that say their name once: TEST(name) { ... } is a test, and runs behind those that stand
 * above it. tests/main.c has main(). One whose name begins with measured_ takes times, and runs
 * only where it is asked for, under a name of its own with the label `measure`.
 */
#ifndef GW_TESTS_TEST_H
#define GW_TESTS_TEST_H

#include "core/random.h"
#include "tests/support.h"

/* The seed of random cases; main() chooses it, and prints it: GRADWEAVE_SEED repeats a run. */
extern uint64_t seed;

/* A stream of random numbers of its own for each test; closed when all tests are done. */
struct gw_random *random_stream(uint64_t stream);
struct gw_random *random_stream_from(uint64_t from, uint64_t stream);

/* The same, the caller's to close. */
static inline struct gw_random *open_random_from(uint64_t from, uint64_t stream) {
    struct gw_random *random = NULL;
    assert_int_equal(gw_random_open(&random, from, stream, NULL), GW_OK);
    return random;
}

static inline struct gw_random *open_random(uint64_t stream) {
    return open_random_from(seed, stream);
}

void add_test(struct CMUnitTest test);

/* Functions called before all tests of a program, and after them. */
void set_fixtures(CMFixtureFunction setup, CMFixtureFunction teardown);

#define TEST(name) TEST_WITH(name, NULL, NULL)
/* Finds the path of an empty folder in *state. */
#define TEST_IN_FOLDER(name) TEST_WITH(name, make_folder, remove_folder)
#define TEST_WITH(name, setup, teardown)                                                           \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void add_##name(void) {                                    \
        add_test((struct CMUnitTest){#name, name, setup, teardown, NULL});                         \
    }                                                                                              \
    static void name(__attribute__((unused)) void **state)

#define FIXTURES(setup, teardown)                                                                  \
    __attribute__((constructor)) static void add_fixtures(void) {                                  \
        set_fixtures(setup, teardown);                                                             \
    }

#endif
