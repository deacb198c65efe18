/* Clocks that run apart, and repeats that begin together by them, in made-up time. */
#include "calibrate/measure/clocks.h"
#include "calibrate/measure/points.h"
#include "calibrate/measure/timing.h"
#include "tests/test.h"

#include "tests/ranks.h"

#include "tests/calibrate/fake_time.h"

enum { RANKS = 3 };

/* The ranks' clocks, and the times of messages, which differ on the two ways. */
static const struct fake_rank skews[RANKS] = {
    {.ahead_s = -7}, {.ahead_s = 1234.5, .faster = 1e-3}, {.ahead_s = -0.25, .faster = -5e-4}};

static double message_s(int from, int to, size_t bytes) {
    (void)bytes;
    return from < to ? 5e-6 : 7e-6;
}

/* ---- clocks that run apart ----------------------------------------------------------------- */

static double wrong_by(const struct gw_clocks *clocks) {
    struct fake_rank first = skews[0];
    first.now_s = fake_self->now_s;
    return fabs(gw_clocks_common_s(clocks, fake_shown_s(fake_self)) - fake_shown_s(&first));
}

/* Right after it has asked, and a second after it last has. */
static enum gw_status follow_rank_0(struct gw_communicator *communicator, void *context,
                                    struct gw_error *error) {
    double *worst_s = context;
    struct gw_clocks clocks;
    GW_TRY(gw_clocks_open(communicator, &fake_self->clock, &clocks, error));
    assert_false(clocks.shared);
    GW_TRY(gw_clocks_ask(&clocks, communicator, error));
    *worst_s = wrong_by(&clocks);
    for (int i = 0; i < 25; i++) {
        fake_work(0.1);
        GW_TRY(gw_clocks_ask(&clocks, communicator, error));
    }
    fake_work(1);
    *worst_s = fmax(*worst_s, wrong_by(&clocks));
    double own_s = gw_clock_read_s(clocks.own);
    double back_s = gw_clocks_from_common_s(&clocks, gw_clocks_common_s(&clocks, own_s));
    assert_true(fabs(back_s - own_s) < 1e-9);
    return GW_OK;
}

TEST(offsets_and_rates_are_found) {
    double worst_s[RANKS];
    fake_message_s = message_s;
    run_fake_ranks(RANKS, follow_rank_0, worst_s, sizeof *worst_s, skews);
    for (int r = 0; r < RANKS; r++) {
        print_message("rank %d is off by %.2f us\n", r, 1e6 * worst_s[r]);
        assert_true(worst_s[r] < 2e-6); /* half the difference of the ways; without rates 1 ms */
    }
}

/* Ranks of one process have one clock, and ask nobody. */
static enum gw_status share_clock(struct gw_communicator *communicator, void *context,
                                  struct gw_error *error) {
    struct gw_clocks clocks;
    (void)context;
    GW_TRY(gw_clocks_open(communicator, &gw_machine_clock, &clocks, error));
    assert_true(clocks.shared);
    GW_TRY(gw_clocks_ask(&clocks, communicator, error));
    assert_true(gw_clocks_common_s(&clocks, 3) == 3);
    double moment_s = gw_clock_read_s(&gw_machine_clock) + 1e-3;
    gw_clock_wait_until_s(&gw_machine_clock, moment_s);
    assert_true(gw_clock_read_s(&gw_machine_clock) >= moment_s);
    return GW_OK;
}

TEST(one_machine_has_one_clock) {
    char nothing[RANKS];
    run_ranks(RANKS, share_clock, nothing, 1);
}

/* ---- repeats ------------------------------------------------------------------------------- */

enum { REPEATS = 20 };
static const double work_s = 2e-3;

struct worker {
    struct gw_communicator *communicator;
    double late_s;  /* after each repeat it is away for so long */
    double takes_s; /* of what it does by itself */
    double after_s; /* of what it does when all have done what they do together */
    bool says;      /* what it takes */
    size_t row;
    struct gw_block block;
};

static enum gw_status work_together(void *context, struct gw_error *error) {
    const struct worker *worker = context;
    struct gw_communicator *communicator = worker->communicator;
    GW_TRY(communicator->transport->barrier(communicator, error));
    fake_work(work_s);
    GW_TRY(communicator->transport->barrier(communicator, error));
    fake_work(worker->after_s);
    return GW_OK;
}

static enum gw_status work_alone(void *context, struct gw_error *error) {
    const struct worker *worker = context;
    (void)error;
    fake_work(worker->takes_s);
    return GW_OK;
}

static double say_what_it_took(void *context) {
    const struct worker *worker = context;
    return worker->takes_s / 2;
}

static void be_late(void *context) {
    const struct worker *worker = context;
    fake_work(worker->late_s);
}

static enum gw_status time_worker(struct gw_communicator *communicator, void *context,
                                  struct gw_error *error) {
    struct worker *worker = context;
    struct gw_clocks clocks;
    const struct gw_subject subject = {.run = worker->takes_s > 0 ? work_alone : work_together,
                                       .separate = worker->takes_s > 0,
                                       .took_s = worker->says ? say_what_it_took : NULL,
                                       .restore = be_late,
                                       .context = worker};
    worker->communicator = communicator;
    GW_TRY(gw_clocks_open(communicator, &fake_self->clock, &clocks, error));
    GW_TRY(gw_clocks_ask(&clocks, communicator, error));
    struct gw_timer timer = {.communicator = communicator, .clocks = &clocks};
    worker->block = (struct gw_block){.count = REPEATS, .row = worker->row, .window_s = 3e-3};
    return gw_time_block(&timer, &subject, &worker->block, error);
}

/*
 * All repeats, the same on all ranks, took that, within 10 us, or what clocks that were asked once
 * run apart meanwhile; and so many were late.
 */
static void check_workers(struct worker workers[RANKS], const struct fake_rank *clocks,
                          double expected_s, size_t late) {
    const double tolerance_s = clocks == NULL ? 1e-5 : 1.5e-4;
    fake_message_s = message_s;
    run_fake_ranks(RANKS, time_worker, workers, sizeof *workers, clocks);
    for (int r = 0; r < RANKS; r++) {
        assert_memory_equal(workers[r].block.seconds, workers[0].block.seconds,
                            REPEATS * sizeof(double));
        assert_int_equal(workers[r].block.late, late);
        assert_true(workers[r].block.took_s >= REPEATS * gw_runs(workers[r].row) * expected_s);
    }
    for (size_t i = 0; i < REPEATS; i++) {
        assert_true(fabs(workers[0].block.seconds[i] - expected_s) < tolerance_s);
    }
}

TEST(repeats_begin_together) {
    struct worker workers[RANKS] = {0};
    check_workers(workers, NULL, work_s, 0);
    check_workers(workers, skews, work_s, 0);
}

/* Each run takes what it does by itself, whatever begins a row. */
TEST(runs_of_a_row_follow_each_other) {
    struct worker workers[RANKS] = {{.row = 7}, {.row = 7}, {.row = 7}};
    check_workers(workers, NULL, work_s, 0);
}

/* 5 ms late for a repeat of 2 ms; only the first is not. */
TEST(a_late_rank_does_not_lengthen_them_and_is_told_of) {
    struct worker workers[RANKS] = {0};
    workers[2].late_s = 5e-3;
    check_workers(workers, NULL, work_s, REPEATS - 1);
}

/* Rank 0 may be a root, and does not count. */
TEST(skew_is_how_far_apart_ranks_finish) {
    struct worker workers[RANKS] = {{0}, {.after_s = 2e-4}, {.after_s = 5e-4}};
    check_workers(workers, NULL, work_s + 5e-4, 0);
    assert_true(near(workers[0].block.skew_s, REPEATS * 3e-4, 0.05));
    workers[2].after_s = 9e-3; /* a repeat that takes less than ranks lie apart, from another one */
    workers[1].after_s = 0;
    check_workers(workers, NULL, work_s + 9e-3, REPEATS - 1);
    assert_true(near(workers[0].block.skew_s, REPEATS * 9e-3, 0.05));
}

TEST(the_slowest_of_separate_ranks_counts) {
    struct worker workers[RANKS] = {{.takes_s = 1e-3}, {.takes_s = 3e-3}, {.takes_s = 1e-3}};
    workers[2].late_s = 5e-3;
    check_workers(workers, NULL, 3e-3, 0);
    for (int r = 0; r < RANKS; r++) {
        workers[r].says = true;
    }
    check_workers(workers, NULL, 1.5e-3, 0);
}

/* ---- one rank, and one point --------------------------------------------------------------- */

static enum gw_status time_alone(struct gw_communicator *communicator, void *context,
                                 struct gw_error *error) {
    struct worker worker = {.takes_s = 1e-3, .late_s = 1e-3};
    const struct gw_subject subject = {.run = work_alone, .restore = be_late, .context = &worker};
    const struct gw_repeats repeats = {.fewest = 3, .most = 10, .longest_s = 0.011};
    struct gw_clock_cost cost;
    double seconds[10];
    size_t count = 0;
    (void)communicator;
    (void)context;
    GW_TRY(gw_time_alone(&fake_self->clock, &subject, repeats, seconds, &count, error));
    assert_int_equal(count, 6);
    assert_true(near(seconds[5], 1e-3, 1e-3));
    worker.takes_s = 1;
    GW_TRY(gw_time_alone(&fake_self->clock, &subject, repeats, seconds, &count, error));
    assert_int_equal(count, 3);
    worker.takes_s = worker.late_s = 1e-6;
    GW_TRY(gw_time_alone(&fake_self->clock, &subject, repeats, seconds, &count, error));
    assert_int_equal(count, 10);
    gw_time_clock(&fake_self->clock, &cost);
    assert_true(near(cost.mean_s, fake_reading_s, 1e-6) && near(cost.step_s, fake_reading_s, 1e-6));
    return GW_OK;
}

TEST(a_rank_repeats_for_a_time_or_a_number) {
    char nothing = 0;
    run_fake_ranks(1, time_alone, &nothing, 1, NULL);
}

struct timed {
    double takes_s, around_s;
    struct gw_measured_point point;
};

static enum gw_status time_point(struct gw_communicator *communicator, void *context,
                                 struct gw_error *error) {
    struct timed *timed = context;
    struct worker worker = {.takes_s = timed->takes_s};
    const struct gw_subject subject = {.run = work_alone, .context = &worker, .separate = true};
    const struct gw_stop_rule rule = {
        .precision = 0.02, .max_s_per_point = 1, .fewest_visits = 1, .seed = 1};
    struct gw_clocks clocks;
    GW_TRY(gw_clocks_open(communicator, &fake_self->clock, &clocks, error));
    GW_TRY(gw_clocks_ask(&clocks, communicator, error));
    struct gw_timer timer = {.communicator = communicator, .clocks = &clocks};
    return gw_time_point(&timer, &subject, timed->around_s, &rule, &timed->point, error);
}

/* Repeats for 10 ms, at least 15 of what is short; of two ranks the slower one's. */
TEST(a_point_gets_blocks_until_it_is_known) {
    static const struct {
        double takes_s, around_s;
        size_t count;
    } cases[] = {{1e-6, 0, 64}, {1e-3, 0, 15}, {1e-6, 1e-3, 27}, {0.1, 0, 5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct timed timed[2];
        for (int r = 0; r < 2; r++) {
            timed[r] = (struct timed){.takes_s = cases[i].takes_s * (1 + r),
                                      .around_s = cases[i].around_s,
                                      .point = {.error = INFINITY}};
        }
        run_fake_ranks(2, time_point, timed, sizeof *timed, NULL);
        for (int r = 0; r < 2; r++) {
            const struct gw_measured_point *point = &timed[r].point;
            print_message("%zu repeats of %g s\n", point->count, point->seconds[0]);
            assert_int_equal(point->state, GW_POINT_PRECISE);
            assert_true(near(point->seconds[0], 2 * cases[i].takes_s, 0.05));
            assert_int_equal(point->count, cases[i].count);
            free(timed[r].point.seconds);
        }
    }
}
