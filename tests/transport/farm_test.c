/*
 * The farm's promises: every task's result is delivered once and in order, whoever works how fast
 * on what, also when messages or whole ranks are lost. Between threads when this program is started
 * by itself, over MPI when it is started in an MPI job.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>

#include "tests/support.h"
#include "transport/farm.h"

enum { MOST_RANKS = 5 };

/* A few hundred bytes, as a point of a sweep has, that follow from the task. */
struct result {
    uint64_t task;
    size_t count;
    double values[40];
};

static size_t count_of(uint64_t task) {
    return 15 + task % 26;
}

/* What one rank does and sees; results are checked as they are delivered. */
struct case_of {
    struct gw_farm farm;
    struct gw_communicator *communicator; /* NULL: alone */
    uint64_t seed;
    double longest_s; /* of a task: they take from nothing to this, differently on each rank */
    uint64_t fail_at; /* deliver fails here; UINT64_MAX: nowhere */
    uint64_t next;    /* to be delivered */
    bool right;
    atomic_uint_fast64_t worked;
    atomic_int in_hand, most_in_hand;
    enum gw_status status;
    struct gw_error error;
    size_t lost;
};

static double value_of(uint64_t task, size_t i) {
    return 1.0 / (double)(task + 1) + (double)i;
}

static size_t work(uint64_t task, void *out, void *context) {
    struct case_of *one = context;
    struct result *result = out;
    int in_hand = atomic_fetch_add(&one->in_hand, 1) + 1;
    int most = atomic_load(&one->most_in_hand);
    while (in_hand > most && !atomic_compare_exchange_weak(&one->most_in_hand, &most, in_hand)) {
    }
    result->task = task;
    result->count = count_of(task);
    for (size_t i = 0; i < result->count; i++) {
        result->values[i] = value_of(task, i);
    }
    struct gw_random *random = NULL;
    uint64_t rank = one->communicator == NULL ? 0 : (uint64_t)one->communicator->rank;
    if (gw_random_open(&random, one->seed + rank, task, NULL) == GW_OK) {
        double share = gw_random_uniform(random);
        gw_clock_sleep_until_s(gw_clock_now_s() + one->longest_s * pow(share, 8));
    }
    gw_random_close(random);
    atomic_fetch_add(&one->worked, 1);
    atomic_fetch_sub(&one->in_hand, 1);
    return offsetof(struct result, values) + result->count * sizeof *result->values;
}

static enum gw_status deliver(uint64_t task, const void *out, void *context,
                              struct gw_error *error) {
    struct case_of *one = context;
    const struct result *result = out;
    one->right =
        one->right && task == one->next && result->task == task && result->count == count_of(task);
    for (size_t i = 0; i < count_of(task); i++) {
        one->right = one->right && result->values[i] == value_of(task, i);
    }
    one->next++;
    return task == one->fail_at ? gw_fail(error, GW_FAILED, "the disk is full") : GW_OK;
}

static struct case_of make_case(uint64_t first, uint64_t count, size_t threads, uint64_t seed) {
    return (struct case_of){.farm = {.first = first,
                                     .count = count,
                                     .threads = threads,
                                     .result_bytes = sizeof(struct result),
                                     .work = work,
                                     .deliver = deliver},
                            .seed = seed,
                            .next = first,
                            .fail_at = UINT64_MAX,
                            .right = true};
}

static void run_rank(struct case_of *one) {
    one->farm.context = one;
    one->status = gw_farm_run(&one->farm, one->communicator, &one->lost, &one->error);
}

static void check_delivered(const struct case_of *one) {
    assert_int_equal(one->status, GW_OK);
    assert_true(one->right);
    assert_true(one->next == one->farm.count);
    assert_true(one->most_in_hand <= (int)one->farm.threads);
}

/* ---- alone --------------------------------------------------------------------------------- */

static void alone_all_come_in_order(void **state) {
    (void)state;
    uint64_t seed = choose_seed();
    static const uint64_t ranges[][2] = {{0, 0}, {0, 1}, {7, 7}, {3, 500}, {0, 20000}};
    for (size_t threads = 1; threads <= 5; threads++) {
        for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
            struct case_of one = make_case(ranges[i][0], ranges[i][1], threads, seed + i);
            one.longest_s = ranges[i][1] > 1000 ? 0 : 0.002;
            run_rank(&one);
            check_delivered(&one);
            assert_true(one.worked == ranges[i][1] - ranges[i][0]);
        }
    }
}

static void threads_work_at_the_same_time(void **state) {
    (void)state;
    struct case_of one = make_case(0, 200, 4, 1);
    one.longest_s = 0.05;
    run_rank(&one);
    check_delivered(&one);
    assert_int_equal(one.most_in_hand, 4);
}

/* ---- several ranks ------------------------------------------------------------------------- */

static void *run_thread(void *argument) {
    run_rank(argument);
    return NULL;
}

/* Ranks as threads; those from `present` on never come. */
static void run_ranks(struct case_of *cases, struct gw_communicator *communicators, int present) {
    pthread_t threads[MOST_RANKS];
    for (int rank = 0; rank < present; rank++) {
        cases[rank].communicator = &communicators[rank];
        assert_int_equal(pthread_create(&threads[rank], NULL, run_thread, &cases[rank]), 0);
    }
    for (int rank = 0; rank < present; rank++) {
        pthread_join(threads[rank], NULL);
    }
}

static void close_ranks(struct gw_communicator *communicators, int size) {
    for (int rank = 0; rank < size; rank++) {
        communicators[rank].transport->close(&communicators[rank]);
    }
}

static void ranks_share_the_tasks(void **state) {
    (void)state;
    uint64_t seed = choose_seed();
    for (int size = 1; size <= MOST_RANKS; size++) {
        struct gw_communicator communicators[MOST_RANKS];
        struct case_of cases[MOST_RANKS];
        uint64_t worked = 0;
        assert_int_equal(gw_communicators_open_local(size, communicators, NULL), GW_OK);
        for (int rank = 0; rank < size; rank++) {
            cases[rank] = make_case(11, 2000, 1 + (size_t)rank % 3, seed);
            cases[rank].longest_s = 0.003;
        }
        run_ranks(cases, communicators, size);
        check_delivered(&cases[0]);
        assert_int_equal(cases[0].lost, 0);
        for (int rank = 0; rank < size; rank++) {
            assert_int_equal(cases[rank].status, GW_OK);
            assert_true(cases[rank].worked > 100);
            worked += cases[rank].worked;
        }
        assert_true(worked == 2000 - 11);
        close_ranks(communicators, size);
    }
}

static void a_failed_delivery_ends_all_ranks(void **state) {
    (void)state;
    for (int size = 1; size <= 3; size++) {
        struct gw_communicator communicators[MOST_RANKS];
        struct case_of cases[MOST_RANKS];
        assert_int_equal(gw_communicators_open_local(size, communicators, NULL), GW_OK);
        for (int rank = 0; rank < size; rank++) {
            cases[rank] = make_case(0, 1000000000, 2, 1);
            cases[rank].fail_at = 5000;
        }
        run_ranks(cases, communicators, size);
        assert_int_equal(cases[0].status, GW_FAILED);
        assert_string_equal(cases[0].error.message, "the disk is full");
        assert_true(cases[0].right && cases[0].next == 5001);
        for (int rank = 1; rank < size; rank++) {
            assert_int_equal(cases[rank].status, GW_OK);
        }
        close_ranks(communicators, size);
    }
}

/* ---- what is lost -------------------------------------------------------------------------- */

static const struct gw_transport *whole;

/* Rank 1's line: what it posts after a while does not arrive, but for its short words. */
static enum gw_status post_on_a_bad_line(struct gw_communicator *communicator, int to,
                                         const void *message, size_t bytes,
                                         struct gw_error *error) {
    static atomic_int posted;
    bool lost = communicator->rank == 1 && bytes > 100 && atomic_fetch_add(&posted, 1) >= 20;
    return lost ? GW_OK : whole->post(communicator, to, message, bytes, error);
}

static void what_is_lost_on_the_way_is_done_again(void **state) {
    (void)state;
    struct gw_communicator communicators[3];
    struct case_of cases[3];
    assert_int_equal(gw_communicators_open_local(3, communicators, NULL), GW_OK);
    whole = communicators[0].transport;
    struct gw_transport bad = *whole;
    bad.post = post_on_a_bad_line;
    for (int rank = 0; rank < 3; rank++) {
        communicators[rank].transport = &bad;
        cases[rank] = make_case(0, 20000, 2, 1);
    }
    run_ranks(cases, communicators, 3);
    check_delivered(&cases[0]);
    assert_int_equal(cases[0].lost, 0);
    assert_true(cases[1].worked > 20);
    close_ranks(communicators, 3);
}

static void ranks_that_never_come_are_counted(void **state) {
    (void)state;
    struct gw_communicator communicators[4];
    struct case_of cases[4];
    assert_int_equal(gw_communicators_open_local(4, communicators, NULL), GW_OK);
    for (int rank = 0; rank < 2; rank++) {
        cases[rank] = make_case(0, 1000, 1, 1);
    }
    run_ranks(cases, communicators, 2);
    check_delivered(&cases[0]);
    assert_int_equal(cases[0].lost, 2);
    close_ranks(communicators, 4);
}

/* ---- over MPI ------------------------------------------------------------------------------ */

static void mpi_shares_the_tasks(void **state) {
    (void)state;
    struct gw_communicator communicator;
    struct gw_error error = {0};
    if (gw_communicator_open_mpi(&communicator, &error) != GW_OK) {
        fail_msg("%s", error.message);
    }
    for (uint64_t i = 0; i < 3; i++) {
        struct case_of one = make_case(i, 3000, 1 + i, i);
        one.longest_s = i == 2 ? 0.002 : 0;
        one.communicator = &communicator;
        run_rank(&one);
        bool good = one.status == GW_OK && one.right && one.lost == 0 &&
                    (one.worked > 0 || one.longest_s == 0) &&
                    (communicator.rank > 0 || one.next == 3000);
        if (!good) {
            print_error("rank %d: %s\n", communicator.rank, one.error.message);
            communicator.transport->abort(&communicator, 1);
        }
        (void)communicator.transport->barrier(&communicator, NULL);
    }
    communicator.transport->close(&communicator);
}

int main(void) {
    const struct CMUnitTest local[] = {
        cmocka_unit_test(alone_all_come_in_order),
        cmocka_unit_test(threads_work_at_the_same_time),
        cmocka_unit_test(ranks_share_the_tasks),
        cmocka_unit_test(a_failed_delivery_ends_all_ranks),
        cmocka_unit_test(what_is_lost_on_the_way_is_done_again),
        cmocka_unit_test(ranks_that_never_come_are_counted),
    };
    const struct CMUnitTest mpi[] = {cmocka_unit_test(mpi_shares_the_tasks)};
    return gw_mpi_is_inside_job() ? cmocka_run_group_tests(mpi, NULL, NULL)
                                  : cmocka_run_group_tests(local, NULL, NULL);
}
