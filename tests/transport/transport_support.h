/* Runs checks of a communicator on every rank: between threads, or over MPI. */
#ifndef GW_TESTS_TRANSPORT_SUPPORT_H
#define GW_TESTS_TRANSPORT_SUPPORT_H

#include "tests/local_transport.h"
#include "tests/support.h"

enum { MOST_RANKS = 5 };

/* Every check returns what is wrong, or NULL; cmocka cannot fail in a thread. */
typedef const char *check(struct gw_communicator *communicator);

/* The first complaint. */
static inline const char *run_checks(check *const *checks, struct gw_communicator *communicator) {
    const char *complaint = NULL;
    for (; *checks != NULL && complaint == NULL; checks++) {
        complaint = (*checks)(communicator);
    }
    return complaint;
}

/* Ends the program with the first complaint: other ranks may wait for this one for ever. */
static inline void run_rank_checks(struct gw_communicator *communicator, void *context) {
    check *const *checks = *(check *const **)context;
    const char *complaint = run_checks(checks, communicator);
    if (complaint != NULL) {
        print_error("rank %d of %d: %s\n", communicator->rank, communicator->size, complaint);
        communicator->transport->abort(communicator, 1);
    }
}

/* Among so many threads. */
static inline void check_among(int size, check *const *checks) {
    run_local_ranks(size, run_rank_checks, &checks, 0);
}

/* Among 1, 2, .. MOST_RANKS threads. */
static inline void check_threads(check *const *checks) {
    for (int size = 1; size <= MOST_RANKS; size++) {
        check_among(size, checks);
    }
}

/* On this process's rank of the MPI job that it is in. */
static inline void check_mpi(check *const *checks) {
    struct gw_communicator communicator;
    struct gw_error error = {0};
    if (gw_communicator_open_mpi(&communicator, &error) != GW_OK) {
        fail_msg("%s", error.message);
    }
    assert_true(communicator.size <= MOST_RANKS);
    run_rank_checks(&communicator, &checks);
    communicator.transport->close(&communicator);
}

/* On the ranks of the MPI job that this process is in, or, where it is in none, between threads. */
static inline void check_ranks(check *const *checks) {
    if (gw_mpi_is_inside_job()) {
        check_mpi(checks);
    } else {
        check_threads(checks);
    }
}

#endif
