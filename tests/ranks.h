/* Ranks as threads of a test. */
#ifndef GW_TESTS_RANKS_H
#define GW_TESTS_RANKS_H

#include "tests/local_transport.h"
#include "tests/support.h"

enum { MOST_RANKS = 20 };

struct test_rank {
    enum gw_status (*run)(struct gw_communicator *communicator, void *context,
                          struct gw_error *error);
    void *context; /* of this rank */
    enum gw_status status;
    struct gw_error error;
};

static inline void run_test_rank(struct gw_communicator *communicator, void *context) {
    struct test_rank *rank = context;
    rank->status = rank->run(communicator, rank->context, &rank->error);
}

/* Runs `run` on all of them; contexts are `size` things of `each` bytes. All must do well. */
static inline void run_ranks(int size,
                             enum gw_status (*run)(struct gw_communicator *communicator,
                                                   void *context, struct gw_error *error),
                             void *contexts, size_t each) {
    struct test_rank ranks[MOST_RANKS];
    for (int r = 0; r < size; r++) {
        ranks[r] = (struct test_rank){.run = run, .context = (char *)contexts + (size_t)r * each};
    }
    run_local_ranks(size, run_test_rank, ranks, sizeof *ranks);
    for (int r = 0; r < size; r++) {
        if (ranks[r].status != GW_OK) {
            print_error("rank %d: %s\n", r, ranks[r].error.message);
        }
        assert_int_equal(ranks[r].status, GW_OK);
    }
}

#endif
