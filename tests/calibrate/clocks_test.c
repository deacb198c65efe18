/* Clocks that run apart, and repeats that begin together by them, with ranks as threads. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "calibrate/measure/timing.h"
#include "tests/support.h"

#include "tests/ranks.h"

enum { RANKS = 3 };

/* ---- clocks that run apart ----------------------------------------------------------------- */

/* What a rank's clock shows: ahead of the machine's, and faster. */
struct skewed {
    double ahead_s, faster;
    double worst_s; /* by how much this rank was wrong about rank 0's clock */
};

static const struct skewed skews[RANKS] = {
    {.ahead_s = -7}, {.ahead_s = 1234.5, .faster = 1e-3}, {.ahead_s = -0.25, .faster = -5e-4}};

static double show(const struct skewed *skewed, double machine_s) {
    return machine_s * (1 + skewed->faster) + skewed->ahead_s;
}

static double read_skewed(void *context) {
    return show(context, gw_clock_now_s());
}

static enum gw_status open_skewed(struct gw_communicator *communicator, struct skewed *skewed,
                                  struct gw_clocks *out, struct gw_error *error) {
    GW_TRY(gw_clocks_open(communicator, out, error));
    assert_true(out->shared); /* one process has one clock */
    out->shared = false;
    out->read = read_skewed;
    out->context = skewed;
    return gw_clocks_ask(out, communicator, error);
}

static double wrong_by(const struct gw_clocks *clocks, const struct skewed *skewed) {
    double machine_s = gw_clock_now_s();
    return fabs(gw_clocks_common_s(clocks, show(skewed, machine_s)) - show(&skews[0], machine_s));
}

/* Right after it has asked, and a second after it last has. */
static enum gw_status follow_rank_0(struct gw_communicator *communicator, void *context,
                                    struct gw_error *error) {
    struct skewed *skewed = context;
    struct gw_clocks clocks;
    GW_TRY(open_skewed(communicator, skewed, &clocks, error));
    skewed->worst_s = wrong_by(&clocks, skewed);
    for (int i = 0; i < 25; i++) {
        gw_clock_sleep_until_s(gw_clock_now_s() + 0.1);
        GW_TRY(gw_clocks_ask(&clocks, communicator, error));
    }
    gw_clock_sleep_until_s(gw_clock_now_s() + 1);
    skewed->worst_s = fmax(skewed->worst_s, wrong_by(&clocks, skewed));
    double own_s = gw_clocks_own_s(&clocks);
    double back_s = gw_clocks_from_common_s(&clocks, gw_clocks_common_s(&clocks, own_s));
    assert_true(fabs(back_s - own_s) < 1e-9);
    return GW_OK;
}

static void offsets_and_rates_are_found(void **state) {
    (void)state;
    struct skewed ranks[RANKS];
    memcpy(ranks, skews, sizeof ranks);
    run_ranks(RANKS, follow_rank_0, ranks, sizeof *ranks);
    for (int r = 0; r < RANKS; r++) {
        print_message("rank %d is off by %.1f us\n", r, 1e6 * ranks[r].worst_s);
        assert_true(ranks[r].worst_s < 200e-6); /* without rates it would be 500 to 1,000 */
    }
}

/* ---- repeats ------------------------------------------------------------------------------- */

enum { REPEATS = 20 };
static const double work_s = 2e-3;

struct worker {
    struct gw_communicator *communicator;
    struct skewed skewed;
    bool skews;     /* its clock does */
    double late_s;  /* after each repeat it is away for so long */
    double takes_s; /* of what it does by itself */
    struct gw_block block;
};

static enum gw_status work_together(void *context, struct gw_error *error) {
    const struct worker *worker = context;
    struct gw_communicator *communicator = worker->communicator;
    GW_TRY(communicator->transport->barrier(communicator, error));
    gw_clock_sleep_until_s(gw_clock_now_s() + work_s);
    return communicator->transport->barrier(communicator, error);
}

static enum gw_status work_alone(void *context, struct gw_error *error) {
    const struct worker *worker = context;
    (void)error;
    gw_clock_sleep_until_s(gw_clock_now_s() + worker->takes_s);
    return GW_OK;
}

static void be_late(void *context) {
    const struct worker *worker = context;
    gw_clock_sleep_until_s(gw_clock_now_s() + worker->late_s);
}

static enum gw_status time_worker(struct gw_communicator *communicator, void *context,
                                  struct gw_error *error) {
    struct worker *worker = context;
    struct gw_clocks clocks;
    const struct gw_subject subject = {.run = worker->takes_s > 0 ? work_alone : work_together,
                                       .separate = worker->takes_s > 0,
                                       .restore = be_late,
                                       .context = worker};
    worker->communicator = communicator;
    gw_clock_sleep_precisely();
    GW_TRY(worker->skews ? open_skewed(communicator, &worker->skewed, &clocks, error)
                         : gw_clocks_open(communicator, &clocks, error));
    struct gw_timer timer = {.communicator = communicator, .clocks = &clocks};
    worker->block = (struct gw_block){.count = REPEATS, .window_s = 3e-3};
    return gw_time_block(&timer, &subject, &worker->block, error);
}

/* The median of the repeats, the same on all ranks. */
static double time_workers(struct worker workers[RANKS], size_t *late) {
    struct gw_summary summary;
    run_ranks(RANKS, time_worker, workers, sizeof *workers);
    for (int r = 1; r < RANKS; r++) {
        assert_memory_equal(workers[r].block.seconds, workers[0].block.seconds,
                            REPEATS * sizeof(double));
        assert_int_equal(workers[r].block.late, workers[0].block.late);
    }
    *late = workers[0].block.late;
    gw_summarise(workers[0].block.seconds, REPEATS, &summary);
    print_message("median %.3f ms, %zu late\n", 1e3 * summary.median, *late);
    return summary.median;
}

static void repeats_begin_together(void **state) {
    (void)state;
    struct worker workers[RANKS] = {0};
    size_t late = 0;
    double median_s = time_workers(workers, &late);
    assert_true(median_s >= work_s && median_s < 1.3 * work_s);
    assert_true(late < REPEATS / 2);
}

/* 5 ms late for a repeat of 2 ms. */
static void a_late_rank_does_not_lengthen_them_and_is_told_of(void **state) {
    (void)state;
    struct worker workers[RANKS] = {0};
    size_t late = 0;
    workers[2].late_s = 5e-3;
    double median_s = time_workers(workers, &late);
    assert_true(median_s >= work_s && median_s < 1.3 * work_s);
    assert_true(late >= REPEATS - 2); /* the first is not */
}

static void repeats_begin_together_by_clocks_that_run_apart(void **state) {
    (void)state;
    struct worker workers[RANKS] = {0};
    size_t late = 0;
    for (int r = 0; r < RANKS; r++) {
        workers[r].skewed = skews[r];
        workers[r].skews = true;
    }
    double median_s = time_workers(workers, &late);
    assert_true(fabs(median_s - work_s) < 0.3 * work_s);
    assert_true(late < REPEATS / 2);
}

static void of_separate_ranks_the_slowest_counts(void **state) {
    (void)state;
    struct worker workers[RANKS] = {{.takes_s = 1e-3}, {.takes_s = 3e-3}, {.takes_s = 1e-3}};
    size_t late = 0;
    workers[2].late_s = 5e-3;
    double median_s = time_workers(workers, &late);
    assert_true(median_s >= 3e-3 && median_s < 6e-3);
    assert_int_equal(late, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_and_rates_are_found),
        cmocka_unit_test(repeats_begin_together),
        cmocka_unit_test(a_late_rank_does_not_lengthen_them_and_is_told_of),
        cmocka_unit_test(repeats_begin_together_by_clocks_that_run_apart),
        cmocka_unit_test(of_separate_ranks_the_slowest_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
