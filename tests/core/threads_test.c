/* Work that is shared among threads: all of it is done once, by as many as are meant to. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/system.h"
#include "tests/test.h"

static void count_call(size_t part, void *context) {
    ((int *)context)[part]++;
}

/* Each part has five of its own. */
static void count_parts(size_t part, void *context) {
    int *calls = (int *)context + 5 * part;
    gw_parallel(5, 4, count_call, calls);
}

struct notes {
    pthread_t threads[4];
    atomic_int arrived;
    int meet; /* so many parts begin before one ends */
};

static void note(size_t part, void *context) {
    struct notes *notes = context;
    notes->threads[part] = pthread_self();
    atomic_fetch_add(&notes->arrived, 1);
    for (int ms = 0; ms < 5000 && atomic_load(&notes->arrived) < notes->meet; ms++) {
        (void)usleep(1000);
    }
}

static void note_within(size_t part, void *context) {
    gw_parallel(2, 2, note, (struct notes *)context + part);
}

static bool one_did_both(const struct notes *notes) {
    return pthread_equal(notes->threads[0], notes->threads[1]);
}

/* Work within work is shared only where that is not. */
TEST(threads_are_those_that_were_asked_for) {
    int meet = gw_cores() > 1 ? 2 : 0;
    struct notes shared = {.meet = meet};
    struct notes alone = {0};
    struct notes within = {.meet = meet};
    struct notes twice[2] = {0};
    gw_parallel(2, 2, note, &shared);
    gw_parallel(2, 1, note, &alone);
    gw_parallel(1, 2, note_within, &within);
    gw_parallel(2, 2, note_within, twice);
    assert_int_equal(one_did_both(&shared), meet == 0);
    assert_true(one_did_both(&alone));
    assert_int_equal(one_did_both(&within), meet == 0);
    assert_true(one_did_both(&twice[0]) && one_did_both(&twice[1]));
}

TEST(every_part_is_done_once) {
    for (size_t threads = 0; threads < 5; threads++) {
        for (size_t parts = 0; parts < 20; parts++) {
            int calls[20] = {0};
            gw_parallel(parts, threads, count_call, calls);
            for (size_t part = 0; part < 20; part++) {
                assert_int_equal(calls[part], part < parts);
            }
        }
        int within[20] = {0};
        gw_parallel(4, threads, count_parts, within);
        for (size_t part = 0; part < 20; part++) {
            assert_int_equal(within[part], 1);
        }
    }
}
