/*
 * Overlap factors that are known: ranks are threads of this process, and actions sleep for longer
 * while another one runs beside them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>

#include "calibrate/measure/overlap_pair.h"
#include "calibrate/measure/subjects.h"
#include "tests/local_transport.h"
#include "tests/support.h"

enum { RANKS = 3 };

/* What one rank does, and by how much each is slowed. */
struct rank {
    struct gw_communicator communicator;
    struct gw_slowing slowing; /* 1 and 1: not at all */
    double alone_s[2];         /* of compute and of communication */
    double took_s;             /* computing, by another clock than the host's */
    atomic_bool computes, communicates;
    atomic_size_t computed, communicated;
    size_t fails_at; /* computes; 0: never */
    struct gw_overlap_point point;
    bool known;
    struct gw_cluster cluster;
    enum gw_status status;
    struct gw_error error;
};

static void work_for(double alone_s, const atomic_bool *other, double factor) {
    double start_s = gw_clock_now_s();
    gw_clock_sleep_until_s(start_s + alone_s * (atomic_load(other) ? factor : 1));
}

static enum gw_status compute(void *context, struct gw_error *error) {
    struct rank *rank = context;
    atomic_store(&rank->computes, true);
    work_for(rank->alone_s[0], &rank->communicates, rank->slowing.compute);
    atomic_store(&rank->computes, false);
    return atomic_fetch_add(&rank->computed, 1) + 1 == rank->fails_at
               ? gw_fail(error, GW_FAILED, "a compressor that gave up")
               : GW_OK;
}

/* Also between two of a series it counts as going on. */
static enum gw_status communicate(void *context, bool last, bool *was_last,
                                  struct gw_error *error) {
    struct rank *rank = context;
    const struct gw_transport *transport = rank->communicator.transport;
    unsigned char flags[RANKS] = {0};
    unsigned char flag = last;
    atomic_store(&rank->communicates, true);
    work_for(rank->alone_s[1], &rank->computes, rank->slowing.communication);
    atomic_fetch_add(&rank->communicated, 1);
    GW_TRY(transport->allgather(&rank->communicator, &flag, 1, flags, error));
    *was_last = flags[0];
    atomic_store(&rank->communicates, !*was_last);
    return GW_OK;
}

static void measure_in_blocks(struct rank *rank, double block_s, size_t rounds) {
    struct gw_overlap_subject subject = {.compute = compute,
                                         .compute_context = rank,
                                         .communicate = communicate,
                                         .communicate_context = rank,
                                         .block_s = block_s,
                                         .rounds = rounds,
                                         .longest_s = 10};
    rank->status =
        gw_measure_overlap(&rank->communicator, &subject, &rank->point, &rank->known, &rank->error);
}

static void *measure(void *argument) {
    measure_in_blocks(argument, 0.03, 5);
    return NULL;
}

static void *measure_in_short_blocks(void *argument) {
    measure_in_blocks(argument, 0.006, 3);
    return NULL;
}

static void *measure_once(void *argument) {
    measure_in_blocks(argument, 0.006, 1);
    return NULL;
}

static void run_ranks(struct rank *ranks, int size, void *(*run)(void *)) {
    struct gw_communicator communicators[RANKS];
    pthread_t threads[RANKS];
    assert_int_equal(gw_communicators_open_local(size, communicators, NULL), GW_OK);
    for (int r = 0; r < size; r++) {
        ranks[r].communicator = communicators[r];
        assert_int_equal(pthread_create(&threads[r], NULL, run, &ranks[r]), 0);
    }
    for (int r = 0; r < size; r++) {
        pthread_join(threads[r], NULL);
        communicators[r].transport->close(&communicators[r]);
    }
}

static bool recovers(struct gw_slowing slowing, double compute_s, void *(*run)(void *)) {
    struct rank ranks[RANKS];
    memset(ranks, 0, sizeof ranks);
    for (int r = 0; r < RANKS; r++) {
        ranks[r].slowing = slowing;
        ranks[r].alone_s[0] = compute_s;
        ranks[r].alone_s[1] = 3e-3;
    }
    run_ranks(ranks, RANKS, run);
    const struct gw_overlap_point *point = &ranks[0].point;
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(ranks[r].status, GW_OK);
        assert_true(ranks[r].known);
        assert_memory_equal(&ranks[r].point, point, sizeof *point);
        assert_int_equal(ranks[r].communicated, ranks[0].communicated);
    }
    assert_true(point->compute.low <= point->compute.factor);
    assert_true(point->compute.factor <= point->compute.high);
    return near(point->compute.factor, slowing.compute, 0.1) &&
           near(point->communication.factor, slowing.communication, 0.1);
}

/* Who else works on this machine can only be in the way of some attempts. */
static void recovers_at_last(struct gw_slowing slowing, double compute_s, void *(*run)(void *)) {
    for (int attempt = 0; attempt < 10; attempt++) {
        if (recovers(slowing, compute_s, run)) {
            return;
        }
    }
    fail();
}

static void what_is_slowed_is_measured(void **state) {
    (void)state;
    recovers_at_last((struct gw_slowing){.compute = 1, .communication = 1}, 2e-3, measure);
    recovers_at_last((struct gw_slowing){.compute = 2, .communication = 1}, 2e-3, measure);
    recovers_at_last((struct gw_slowing){.compute = 1, .communication = 3}, 2e-3, measure);
    recovers_at_last((struct gw_slowing){.compute = 2.5, .communication = 1.5}, 2e-3, measure);
}

/* A block at once is 12 ms. */
static void what_takes_longer_than_a_block_is_measured(void **state) {
    (void)state;
    recovers_at_last((struct gw_slowing){.compute = 1, .communication = 1}, 20e-3,
                     measure_in_short_blocks);
    recovers_at_last((struct gw_slowing){.compute = 2, .communication = 1}, 20e-3,
                     measure_in_short_blocks);
}

/* One rank's is enough for all. */
static void what_never_ends_in_a_block_has_no_factor(void **state) {
    (void)state;
    struct rank ranks[2];
    memset(ranks, 0, sizeof ranks);
    ranks[0] = (struct rank){.slowing = {1, 1}, .alone_s = {1e-3, 3e-3}};
    ranks[1] = (struct rank){.slowing = {1, 1}, .alone_s = {1.2, 3e-3}};
    run_ranks(ranks, 2, measure_once);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(ranks[r].status, GW_OK);
        assert_false(ranks[r].known);
    }
}

/* ---- a clock of its own -------------------------------------------------------------------- */

/* Says four times as long beside communication, in what the host sees no difference. */
static enum gw_status compute_elsewhere(void *context, struct gw_error *error) {
    struct rank *rank = context;
    (void)error;
    rank->took_s = atomic_load(&rank->communicates) ? 4 : 1;
    gw_clock_sleep_until_s(gw_clock_now_s() + rank->alone_s[0]);
    return GW_OK;
}

static double took_s(void *context) {
    const struct rank *rank = context;
    return rank->took_s;
}

static void *measure_elsewhere(void *argument) {
    struct rank *rank = argument;
    struct gw_overlap_subject subject = {.compute = compute_elsewhere,
                                         .took_s = took_s,
                                         .compute_context = rank,
                                         .communicate = communicate,
                                         .communicate_context = rank,
                                         .block_s = 0.02,
                                         .rounds = 3,
                                         .longest_s = 10};
    rank->status =
        gw_measure_overlap(&rank->communicator, &subject, &rank->point, &rank->known, &rank->error);
    return NULL;
}

static void what_times_itself_is_believed(void **state) {
    (void)state;
    struct rank ranks[2];
    memset(ranks, 0, sizeof ranks);
    for (int r = 0; r < 2; r++) {
        ranks[r] = (struct rank){.slowing = {1, 1}, .alone_s = {1e-3, 1e-3}};
    }
    run_ranks(ranks, 2, measure_elsewhere);
    assert_int_equal(ranks[0].status, GW_OK);
    assert_true(near(ranks[0].point.compute.factor, 4, 1e-9));
}

static void a_failure_comes_out(void **state) {
    (void)state;
    struct rank ranks[1];
    memset(ranks, 0, sizeof ranks);
    ranks[0] = (struct rank){.slowing = {1, 1}, .alone_s = {1e-3, 1e-3}, .fails_at = 5};
    run_ranks(ranks, 1, measure);
    assert_int_equal(ranks[0].status, GW_FAILED);
    assert_string_equal(ranks[0].error.message, "a compressor that gave up");
}

/* ---- the cluster's ------------------------------------------------------------------------- */

static void tell(void *context, double share, const char *what) {
    (void)what;
    double *told = context;
    assert_true(share >= *told && share <= 1);
    *told = share;
}

static void *calibrate(void *argument) {
    struct rank *rank = argument;
    struct gw_calibration calibration = gw_calibration_defaults();
    double told = 0;
    struct gw_report report = {.tell = tell, .context = &told, .scale = 1};
    calibration.max_s_per_point = 0.004;
    rank->status = gw_cluster_create(&rank->cluster, "threads", 2, 2, &rank->error);
    if (rank->status == GW_OK) {
        rank->status = gw_calibrate_overlap(&rank->communicator, &calibration, &report,
                                            &rank->cluster, &rank->error);
    }
    return NULL;
}

static void a_cluster_gets_its_factors(void **state) {
    (void)state;
    static const char *const collectives[] = {"allgather", "allreduce"};
    static const char *const compressors[] = {"topk", "hard-threshold"};
    struct rank ranks[2];
    memset(ranks, 0, sizeof ranks);
    run_ranks(ranks, 2, calibrate);
    assert_int_equal(ranks[0].status, GW_OK);
    assert_int_equal(ranks[1].status, GW_OK);
    const cJSON *kept = ranks[0].cluster.overlap->kept;
    for (size_t c = 0; c < 2; c++) {
        for (size_t m = 0; m < 2; m++) {
            const struct gw_overlap_pair *pair =
                gw_overlap_find(ranks[0].cluster.overlap, collectives[c], compressors[m]);
            assert_non_null(pair);
            const struct gw_overlap_pair *other =
                gw_overlap_find(ranks[1].cluster.overlap, collectives[c], compressors[m]);
            assert_int_equal(other->point_count, pair->point_count);
            assert_memory_equal(other->points, pair->points,
                                pair->point_count * sizeof *pair->points);
        }
        const cJSON *waiting = cJSON_GetObjectItem(kept, "waiting");
        assert_non_null(cJSON_GetObjectItem(waiting, collectives[c]));
    }
    gw_cluster_free(&ranks[0].cluster);
    gw_cluster_free(&ranks[1].cluster);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_slowed_is_measured),
        cmocka_unit_test(what_takes_longer_than_a_block_is_measured),
        cmocka_unit_test(what_never_ends_in_a_block_has_no_factor),
        cmocka_unit_test(what_times_itself_is_believed),
        cmocka_unit_test(a_failure_comes_out),
        cmocka_unit_test(a_cluster_gets_its_factors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
