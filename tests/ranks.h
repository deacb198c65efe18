/* Ranks as threads of a test; after cmocka.h and support.h. */
#ifndef GW_TESTS_RANKS_H
#define GW_TESTS_RANKS_H

#include <pthread.h>

#include "tests/local_transport.h"

enum { MOST_RANKS = 20 };

struct test_rank {
    struct gw_communicator communicator;
    enum gw_status (*run)(struct gw_communicator *communicator, void *context,
                          struct gw_error *error);
    void *context; /* of this rank */
    enum gw_status status;
    struct gw_error error;
};

static inline void *run_test_rank(void *argument) {
    struct test_rank *rank = argument;
    rank->status = rank->run(&rank->communicator, rank->context, &rank->error);
    return NULL;
}

/* Runs `run` on all of them; contexts are `size` things of `each` bytes. All must do well. */
static inline void run_ranks(int size,
                             enum gw_status (*run)(struct gw_communicator *communicator,
                                                   void *context, struct gw_error *error),
                             void *contexts, size_t each) {
    struct gw_communicator communicators[MOST_RANKS];
    struct test_rank ranks[MOST_RANKS];
    pthread_t threads[MOST_RANKS];
    assert_int_equal(gw_communicators_open_local(size, communicators, NULL), GW_OK);
    for (int r = 0; r < size; r++) {
        ranks[r] = (struct test_rank){.communicator = communicators[r],
                                      .run = run,
                                      .context = (char *)contexts + (size_t)r * each};
        assert_int_equal(pthread_create(&threads[r], NULL, run_test_rank, &ranks[r]), 0);
    }
    for (int r = 0; r < size; r++) {
        pthread_join(threads[r], NULL);
        communicators[r].transport->close(&communicators[r]);
        if (ranks[r].status != GW_OK) {
            print_error("rank %d: %s\n", r, ranks[r].error.message);
        }
        assert_int_equal(ranks[r].status, GW_OK);
    }
}

#endif
