/* Runs small enough to be worked out by hand, schedules that wait for ever, and times at the limit.
 */
#include "goal/goal.h"
#include "tests/goal/goal_text.h"
#include "tests/test.h"

static struct gw_error error;

/* LogGOPSim's own parameters. */
static const struct gw_loggops usual = {.L = 2500, .o = 1500, .g = 1000, .G = 6, .S = 65535};

static enum gw_status run(const char *text, const struct gw_loggops *parameters, const char *path,
                          struct gw_goal_result *result) {
    struct gw_goal goal;
    error = (struct gw_error){0};
    if (read_goal_text(text, strlen(text), "f", &goal, &error) != GW_OK) {
        fail_msg("%s", error.message);
    }
    enum gw_status status = gw_goal_run(&goal, parameters, path, result, &error);
    gw_goal_free(&goal);
    return status;
}

/* The schedule ends, its ranks at these times (up to the first 0), after so many events. */
static void expect_times(const char *text, const struct gw_loggops *parameters, uint64_t events,
                         const uint64_t *times) {
    struct gw_goal_result result;
    if (run(text, parameters, NULL, &result) != GW_OK) {
        fail_msg("%s", error.message);
    }
    for (size_t rank = 0; times[rank] > 0; rank++) {
        assert_int_equal(result.finish_ns[rank], times[rank]);
    }
    assert_int_equal(result.events, events);
    free(result.finish_ns);
}

/* ---- by hand ------------------------------------------------------------------------------- */

/*
 * The reduction in the README of LogGOPSim's toolchain, 1,024 bytes. A leaf sends in o = 1500. A
 * message reaches its parent o + L = 4000 after its send starts, and keeps it busy for
 * o + 1023 G = 7638: until 11638, for the leaves' parents. These send until 13138, and are received
 * at 15638 - 23276. Rank 1 sends until 24776; 4000 after that send began, at 27276, rank 0 begins
 * to receive what it ends at 34914.
 */
TEST(reduces_up_a_binomial_tree) {
    static const char text[] = "num_ranks 8\n"
                               "rank 0 {\n"
                               "recv 1024b from 4\nrecv 1024b from 2\nrecv 1024b from 1\n}\n"
                               "rank 1 {\n"
                               "a: recv 1024b from 5\nb: recv 1024b from 3\n"
                               "c: send 1024b to 0\nc requires a\nc requires b\n}\n"
                               "rank 2 {\na: recv 1024b from 6\n"
                               "b: send 1024b to 0\nb requires a\n}\n"
                               "rank 3 {\na: recv 1024b from 7\n"
                               "b: send 1024b to 1\nb requires a\n}\n"
                               "rank 4 {\nsend 1024b to 0\n}\nrank 5 {\nsend 1024b to 1\n}\n"
                               "rank 6 {\nsend 1024b to 2\n}\nrank 7 {\nsend 1024b to 3\n}\n";
    /* 14 operations and 7 messages */
    expect_times(text, &usual, 21,
                 (uint64_t[]){34914, 24776, 13138, 13138, 1500, 1500, 1500, 1500, 0});
}

/*
 * There: arrives at o + L = 4000, received until 4000 + o + 100 G = 6100. Back: sent 6100 - 7600,
 * arrives at 10100, received until 12200. With O = 2, sends take o + 100 O = 1700: until 7800; what
 * the receiver does per byte is the larger of O and G.
 */
TEST(plays_ping_pong) {
    static const char text[] =
        "num_ranks 2\n"
        "rank 0 {\nsend 101b to 1 tag 1\nrecv 101b from 1 tag 2\n}\n"
        "rank 1 {\na: recv 101b from 0 tag 1\nb: send 101b to 0 tag 2\nb requires a\n}\n";
    struct gw_loggops slower = usual;
    slower.O = 2;
    expect_times(text, &usual, 6, (uint64_t[]){12200, 7600, 0});
    expect_times(text, &slower, 6, (uint64_t[]){12200, 7800, 0});
    slower.O = 7; /* sends 2200, receives 4000 + 1500 + 700 = 6200, back 10200 + 2200 = 12400 */
    expect_times(text, &slower, 6, (uint64_t[]){12400, 8400, 0});
}

/*
 * Three messages come at 4000. Each takes the receiver o + 100 G = 2100: until 6100, 8200 and
 * 10300. With g = 5000 its interface holds them up, g + 100 G = 5600 each: they start at 4000, 9600
 * and 15200, and the last one is there at 17300.
 */
TEST(receives_one_after_another) {
    static const char text[] = "num_ranks 4\n"
                               "rank 0 {\nrecv 101b from 1\nrecv 101b from 2\nrecv 101b from 3\n}\n"
                               "rank 1 {\nsend 101b to 0\n}\nrank 2 {\nsend 101b to 0\n}\n"
                               "rank 3 {\nsend 101b to 0\n}\n";
    struct gw_loggops gaps = usual;
    gaps.g = 5000;
    expect_times(text, &usual, 9, (uint64_t[]){10300, 1500, 1500, 1500, 0});
    expect_times(text, &gaps, 9, (uint64_t[]){17300, 1500, 1500, 1500, 0});
}

/*
 * Rank 1 calculates until 50000. The message, which came at 4000, takes it until 52100, and is then
 * received. A rendezvous ends when its receive, posted at 50000, finds it: then rank 0 calculates.
 * An eager send ends at once: rank 0 calculates 1500 - 1510.
 */
TEST(rendezvous_wait_for_their_receive) {
    static const char text[] = "num_ranks 2\n"
                               "rank 0 {\na: send 101b to 1\nb: calc 10\nb requires a\n}\n"
                               "rank 1 {\na: calc 50000\nb: recv 101b from 0\nb requires a\n"
                               "c: calc 7\nc requires b\n}\n";
    struct gw_loggops parameters = usual;
    parameters.S = 100;
    expect_times(text, &parameters, 6, (uint64_t[]){50010, 52107, 0});
    parameters.S = 101;
    expect_times(text, &parameters, 6, (uint64_t[]){1510, 52107, 0});
}

/*
 * A receive that is posted first: the message comes at 4000, and so goes rank 0 on, though rank 1
 * is busy with it until 6100.
 */
TEST(rendezvous_end_as_their_message_comes) {
    static const char text[] = "num_ranks 2\n"
                               "rank 0 {\na: send 101b to 1\nb: calc 10\nb requires a\n}\n"
                               "rank 1 {\nrecv 101b from 0\n}\n";
    struct gw_loggops parameters = usual;
    parameters.S = 0;
    expect_times(text, &parameters, 4, (uint64_t[]){4010, 6100, 0});
}

/*
 * An operation that waits for a start begins as soon as its own processor is free: both
 * calculations are done at 100. Processors and interfaces of a rank are busy independently: of
 * three messages of 101 bytes, the second has another interface, the third the first one's, busy
 * until g + 100 G = 1600.
 */
TEST(resources_are_busy_each_for_themselves) {
    expect_times("num_ranks 1\nrank 0 {\na: calc 100\nb: calc 100 cpu 1\nb irequires a\n}\n",
                 &usual, 2, (uint64_t[]){100, 0});
    expect_times("num_ranks 1\nrank 0 {\na: calc 100\nb: calc 100\nb irequires a\n}\n", &usual, 2,
                 (uint64_t[]){200, 0});
    static const char sends[] = "num_ranks 2\n"
                                "rank 0 {\nsend 101b to 1\nsend 101b to 1 cpu 1 nic 1\n"
                                "send 101b to 1 cpu 2\n}\n"
                                "rank 1 {\nrecv 101b from 0\nrecv 101b from 0\nrecv 101b from 0\n}"
                                "\n";
    /* The third starts at 1600 on processor 2; it comes at 5600 and is received there by 7700. */
    expect_times(sends, &usual, 9, (uint64_t[]){3100, 7700, 0});
}

/*
 * A message of 0 bytes is charged -1: o - G = 1494 where O is 0. With o = 0 it takes the receiver
 * back by G, from 10 to 4, and the sender, at 0, no further.
 */
TEST(messages_of_no_bytes_cost_a_byte_less) {
    static const char text[] =
        "num_ranks 2\nrank 0 {\nsend 0b to 1\n}\nrank 1 {\nrecv 0b from 0\n}\n";
    expect_times(text, &usual, 3, (uint64_t[]){1500, 5494, 0});
    struct gw_loggops bytes_only = {.L = 10, .O = 7, .G = 6, .S = 65535};
    expect_times(text, &bytes_only, 3, (uint64_t[]){0});
    struct gw_goal_result result;
    assert_int_equal(run(text, &bytes_only, NULL, &result), GW_OK);
    assert_int_equal(result.finish_ns[0], 0);
    assert_int_equal(result.finish_ns[1], 4);
    free(result.finish_ns);
}

TEST(empty_schedules_take_no_time) {
    struct gw_goal_result result;
    assert_int_equal(run("num_ranks 2\nrank 0 {\n}\nrank 1 {\n}\n", &usual, NULL, &result), GW_OK);
    assert_int_equal(result.events, 0);
    assert_int_equal(result.finish_ns[0] + result.finish_ns[1], 0);
    free(result.finish_ns);
}

/* ---- deadlocks ----------------------------------------------------------------------------- */

/* The run fails, and the message says all this. With a path, it tells lines. */
static void expect_deadlock(const char *folder, const char *text,
                            const struct gw_loggops *parameters, const char *without_path,
                            const char *with_path) {
    struct gw_goal_result result;
    char expected[1024];
    const char *path = path_in(folder, "f.goal");
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    (void)snprintf(expected, sizeof expected, "GOAL schedule: deadlock: %s", without_path);
    assert_int_equal(run(text, parameters, NULL, &result), GW_BAD_INPUT);
    assert_string_equal(error.message, expected);
    assert_null(result.finish_ns);
    (void)snprintf(expected, sizeof expected, "%s: deadlock: %s", path, with_path);
    assert_int_equal(run(text, parameters, path, &result), GW_BAD_INPUT);
    assert_string_equal(error.message, expected);
    assert_null(result.finish_ns);
}

TEST_IN_FOLDER(deadlocks_are_told) {
    expect_deadlock(*state,
                    "num_ranks 2\nrank 0 {\ncalc 1\n}\nrank 1 {\nx: recv 8b from 0 tag 3\n}\n",
                    &usual, "1 operation waits for ever: rank 1, operation 1: nobody sends it",
                    "1 operation waits for ever: rank 1, line 6: x: recv 8b from 0 tag 3: nobody "
                    "sends it");
    expect_deadlock(*state, "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\n}\n", &usual,
                    "1 operation waits for ever: rank 0, operation 0: nobody receives it",
                    "1 operation waits for ever: rank 0, line 3: send 8b to 1 tag 0: nobody "
                    "receives it");
    expect_deadlock(*state, "num_ranks 1\nrank 0 {\na: calc 1\na requires a\n}\n", &usual,
                    "1 operation waits for ever: rank 0, operation 0: what it requires never "
                    "happens",
                    "1 operation waits for ever: rank 0, line 3: a: calc 1: what it requires never "
                    "happens");
    expect_deadlock(*state,
                    "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 2\na requires b\nb irequires a\n}\n",
                    &usual,
                    "2 operations wait for ever: rank 0, operation 0: what it requires never "
                    "happens; rank 0, operation 1: what it requires never happens",
                    "2 operations wait for ever: rank 0, line 3: a: calc 1: what it requires never "
                    "happens; rank 0, line 4: b: calc 2: what it requires never happens");
}

/* Each would receive once the other has received what it sends. */
TEST_IN_FOLDER(rendezvous_that_face_each_other_wait) {
    static const char text[] = "num_ranks 2\n"
                               "rank 0 {\na: send 8b to 1\nb: recv 8b from 1\nb requires a\n}\n"
                               "rank 1 {\na: send 8b to 0\nb: recv 8b from 0\nb requires a\n}\n";
    struct gw_loggops parameters = usual;
    parameters.S = 7;
    expect_deadlock(*state, text, &parameters,
                    "4 operations wait for ever: rank 0, operation 0: nobody receives it; rank 1, "
                    "operation 2: nobody receives it; rank 0, operation 1: what it requires never "
                    "happens; rank 1, operation 3: what it requires never happens",
                    "4 operations wait for ever: rank 0, line 3: a: send 8b to 1 tag 0: nobody "
                    "receives it; rank 1, line 8: a: send 8b to 0 tag 0: nobody receives it; rank "
                    "0, line 4: b: recv 8b from 1 tag 0: what it requires never happens; rank 1, "
                    "line 9: b: recv 8b from 0 tag 0: what it requires never happens");
    parameters.S = 8;
    expect_times(text, &parameters, 6, (uint64_t[]){5542, 5542, 0});
}

/* The first of many are named; those whose message is missing before those that follow. */
TEST_IN_FOLDER(many_are_summed_up) {
    expect_deadlock(*state,
                    "num_ranks 1\nrank 0 {\na: calc 1\nb: recv 1b from 0\na requires b\n"
                    "recv 1b from -1 tag -1\nrecv 2b from 0 tag 7\nrecv 3b from 0\n}\n",
                    &usual,
                    "5 operations wait for ever: rank 0, operation 1: nobody sends it; rank 0, "
                    "operation 2: nobody sends it; rank 0, operation 3: nobody sends it; rank 0, "
                    "operation 4: nobody sends it; and others",
                    "5 operations wait for ever: rank 0, line 4: b: recv 1b from 0 tag 0: nobody "
                    "sends it; rank 0, line 6: recv 1b from -1 tag -1: nobody sends it; rank 0, "
                    "line 7: recv 2b from 0 tag 7: nobody sends it; rank 0, line 8: recv 3b from 0 "
                    "tag 0: nobody sends it; and others");
}

/* The file that would name them is gone, or has become another. */
TEST_IN_FOLDER(a_lost_file_is_told) {
    struct gw_goal_result result;
    static const char text[] = "num_ranks 1\nrank 0 {\na: calc 1\na requires a\n}\n";
    assert_int_equal(run(text, &usual, path_in(*state, "none.goal"), &result), GW_BAD_INPUT);
    assert_non_null(strstr(error.message, "none.goal"));
    assert_null(result.finish_ns);
}

/* ---- long times ---------------------------------------------------------------------------- */

static const char longest[] = "4611686018427387904"; /* 2^62 */

static void expect_too_long(const char *text, const struct gw_loggops *parameters,
                            const char *expected) {
    struct gw_goal_result result;
    assert_int_equal(run(text, parameters, NULL, &result), GW_BAD_INPUT);
    if (strstr(error.message, expected) == NULL) {
        fail_msg("\"%s\", expected \"%s\"", error.message, expected);
    }
    assert_null(result.finish_ns);
}

TEST(times_end_at_2_to_the_62) {
    char text[512];
    (void)snprintf(text, sizeof text, "num_ranks 1\nrank 0 {\ncalc %s\n}\n", longest);
    expect_times(text, &usual, 1, (uint64_t[]){UINT64_C(1) << 62, 0});
    expect_too_long("num_ranks 1\nrank 0 {\ncalc 1\ncalc 4611686018427387905\n}\n", &usual,
                    "GOAL schedule: operation 1: expected no operation longer than 2^62 ns");
    expect_too_long("num_ranks 1\nrank 0 {\ncalc 18446744073709551615\n}\n", &usual,
                    "operation 0: expected no operation longer than 2^62 ns");
    /* Sums: the third begins too late, or the second ends too late. */
    (void)snprintf(text, sizeof text, "num_ranks 1\nrank 0 {\ncalc %s\ncalc 1\ncalc 1\n}\n",
                   longest);
    expect_too_long(text, &usual, "operation 2: expected times of at most 2^62 ns");
    (void)snprintf(text, sizeof text, "num_ranks 2\nrank 0 {\n}\nrank 1 {\ncalc %s\ncalc 1\n}\n",
                   longest);
    expect_too_long(text, &usual, "rank 1: expected an end of at most 2^62 ns");
    /* Eight of them would pass 2^64, and end at 0. */
    (void)snprintf(text, sizeof text,
                   "num_ranks 1\nrank 0 {\ncalc %s\ncalc %s\ncalc %s\ncalc %s\n}\n", longest,
                   longest, longest, longest);
    expect_too_long(text, &usual, "expected times of at most 2^62 ns");
}

TEST(charges_end_at_2_to_the_62) {
    static const char text[] = "num_ranks 2\nrank 0 {\nsend 4611686018427387905b to 1\n}\n"
                               "rank 1 {\nrecv 4611686018427387905b from 0\n}\n";
    struct gw_loggops parameters = {.S = UINT64_MAX};
    struct gw_goal_result result;
    assert_int_equal(run(text, &parameters, NULL, &result), GW_OK); /* bytes cost nothing */
    free(result.finish_ns);
    parameters.G = 1;
    assert_int_equal(run(text, &parameters, NULL, &result), GW_OK);
    assert_int_equal(result.finish_ns[1], UINT64_C(1) << 62);
    free(result.finish_ns);
    expect_too_long("num_ranks 1\nrank 0 {\nsend 4611686018427387906b to 0\n}\n", &parameters,
                    "operation 0: expected no operation longer than 2^62 ns");
    parameters.L = 1; /* the last byte comes a nanosecond too late */
    expect_too_long(text, &parameters, "rank 1: expected an end of at most 2^62 ns");
    parameters.G = 2;
    expect_too_long(text, &parameters, "operation 0: expected no operation longer than 2^62 ns");
    parameters.G = 0;
    parameters.O = 2;
    expect_too_long(text, &parameters, "operation 0: expected no operation longer than 2^62 ns");
    parameters = (struct gw_loggops){.L = (UINT64_C(1) << 62) + 1};
    expect_too_long(text, &parameters, "L: expected at most 2^62 ns, got 4611686018427387905");
    parameters = (struct gw_loggops){.o = UINT64_MAX};
    expect_too_long(text, &parameters, "o: expected at most 2^62 ns");
    parameters = (struct gw_loggops){.L = UINT64_C(1) << 62, .o = 1};
    expect_too_long(text, &parameters, "operation 0: expected times of at most 2^62 ns");
}
