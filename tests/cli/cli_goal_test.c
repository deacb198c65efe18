/* simulate --goal and export as a user runs them: what they print, and what they refuse. */
#include <sys/stat.h>

#include "tests/cli/program_inputs.h"
#include "tests/test.h"

#define EXPORT "export goal tiny.json --cluster small.json"

/*
 * With LogGOPSim's parameters: the message is sent 0 - 1500, comes at 4000, is received until
 * 4000 + 1500 + 100 * 6 = 6100, and answered 6100 - 7600; the answer comes at 10100 and is received
 * until 12200. Rank 2 calculates.
 */
static const char ping_pong[] =
    "num_ranks 3\n"
    "rank 0 {\nsend 101b to 1\nrecv 101b from 1\n}\n"
    "rank 1 {\na: recv 101b from 0\nb: send 101b to 0\nb requires a\n}\n"
    "rank 2 {\ncalc 12000\n}\n";

/* ---- simulate --goal ----------------------------------------------------------------------- */

static void check_finish(const char *folder, const char *command, const double *finish_ns,
                         double events) {
    cJSON *result = ask_document(folder, command, "gradweave/goal-result@1");
    const cJSON *finish = item_at(result, "finish_ns");
    assert_int_equal(cJSON_GetArraySize(finish), 3);
    for (int rank = 0; rank < 3; rank++) {
        assert_true(cJSON_GetArrayItem(finish, rank)->valuedouble == finish_ns[rank]);
    }
    assert_true(number_at(result, "events") == events);
    assert_true(number_at(result, "wall_s") > 0 && number_at(result, "wall_s") < 10);
    assert_int_equal(cJSON_GetArraySize(result), 6);
}

/* Endless schedules are refused before they fill the memory. */
TEST(endless_schedules_are_refused) {
    static const struct {
        const char *source, *message;
    } cases[] = {
        {"cat /dev/zero", "/dev/stdin:1: expected num_ranks, got the byte 0x00"},
        {"yes ''", ": expected at most 256 MiB of blanks and comments, got more"},
        {"(echo num_ranks 2; echo 'rank 0 {'; yes '// a comment')",
         ": expected at most 256 MiB of blanks and comments, got more"},
        {"(echo '/*'; yes)", ": expected at most 256 MiB of blanks and comments, got more"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char script[256];
        FILE *stream = fopen(path_in(*state, "endless.sh"), "we");
        (void)snprintf(script, sizeof script, "%s | $1 simulate --goal /dev/stdin\n",
                       cases[i].source);
        assert_true(stream != NULL && fputs(script, stream) >= 0 && fclose(stream) == 0);
        struct answer answer = ask(*state, "/bin/sh endless.sh gradweave");
        assert_int_equal(answer.status, 2);
        assert_non_null(strstr(answer.err, cases[i].message));
    }
    assert_int_equal(truncate(path_in(*state, "endless.sh"), ((off_t)16 << 30) + 1), 0);
    struct answer answer = ask(*state, "gradweave simulate --goal endless.sh");
    assert_int_equal(answer.status, 2);
    assert_non_null(strstr(answer.err, "endless.sh: expected at most 16 GiB, got more"));
    assert_int_equal(unlink(path_in(*state, "endless.sh")), 0);
}

TEST(tells_when_ranks_finish) {
    static const char goal[] = "gradweave simulate --goal ping.goal --json";
    static const char slow[] =
        "gradweave simulate --json --goal ping.goal --loggp L=0,o=1e3,g=0,O=20,G=6,S=100";
    static const char free_of_charge[] = "gradweave simulate --goal ping.goal --json --loggp L=7";
    check_finish(*state, goal, (double[]){12200, 7600, 12000}, 7);
    /* 3000 to send; comes at 1000, is received until 4000; sent until 7000; 5000 - 8000. */
    check_finish(*state, slow, (double[]){8000, 7000, 12000}, 7);
    check_finish(*state, free_of_charge, (double[]){14, 7, 12000}, 7);
}

TEST(says_it_in_words) {
    check_says(*state, "gradweave simulate --goal ping.goal", "ping.goal: 3 ranks, 5 operations\n",
               "LogGOPS parameters L=2500,o=1500,g=1000,O=0,G=6,S=65535, LogGOPSim's own, as",
               "rank  finishes\n", "   0  12.20 us\n", "   1  7.600 us\n", "   2  12.00 us\n",
               "the last rank, 0, finishes at 12.20 us\n", "7 events in ",
               " million per second), read in ", NULL);
}

/* Those of the command line, or those that a comment in the schedule names. */
TEST(says_what_parameters_were_used) {
    static const char sends[] = "num_ranks 2\n%srank 0 {\nsend 1001b to 1\n}\n"
                                "rank 1 {\nrecv 1001b from 0\n}\n";
    static const struct {
        const char *comment, *options, *source, *loggp;
        double finish_ns;
    } cases[] = {
        {"", "", "default", "L=2500,o=1500,g=1000,O=0,G=6,S=65535", 11500},
        {"// loggp L=7,G=0.008\n", "", "file", "L=7,G=0.008", 15},
        {"// loggp L=7,G=0.008\n// loggp L=9\n", "--loggp L=5,G=2.5", "option", "L=5,G=2.5", 2505},
        {"/* words */ // of loggp L=9\n", "--loggp O=0.25,o=3", "option", "O=0.25,o=3", 256},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, sends, cases[i].comment);
        write_text(*state, "sends.goal", text);
        cJSON *result = ask_for(*state, "gradweave/goal-result@1",
                                "gradweave simulate --goal sends.goal --json %s", cases[i].options);
        assert_string_equal(text_at(result, "loggp_source"), cases[i].source);
        assert_string_equal(text_at(result, "loggp"), cases[i].loggp);
        double finish_ns = cJSON_GetArrayItem(item_at(result, "finish_ns"), 1)->valuedouble;
        assert_true(near(finish_ns, cases[i].finish_ns, 0));
    }
    write_text(*state, "odd.goal", "num_ranks 1\n// loggp L=x\nrank 0 {\n}\n");
    struct answer odd = ask(*state, "gradweave simulate --goal odd.goal");
    assert_int_equal(odd.status, 2);
    assert_non_null(strstr(odd.err, "odd.goal: --loggp: expected L=NS"));
}

/* From 17 ranks on the table is left out. */
TEST(many_ranks_are_summed_up) {
    for (int ranks = 16; ranks <= 17; ranks++) {
        FILE *file = fopen(path_in(*state, "many.goal"), "we");
        assert_non_null(file);
        (void)fprintf(file, "num_ranks %d\n", ranks);
        for (int rank = 0; rank < ranks; rank++) {
            (void)fprintf(file, "rank %d {\ncalc %d\n}\n", rank, rank == 5 ? 2000000 : 1000);
        }
        assert_int_equal(fclose(file), 0);
        const char *text = check_says(*state, "gradweave simulate --goal many.goal",
                                      "the last rank, 5, finishes at 2.000 ms", NULL);
        assert_true((strstr(text, "rank  finishes") != NULL) == (ranks == 16));
    }
}

/* ---- export -------------------------------------------------------------------------------- */

TEST(says_what_it_has_written) {
    cJSON *document =
        ask_document(*state, "gradweave " EXPORT " --algo omgs --workers 3 --out omgs.goal --json",
                     "gradweave/export@1");
    assert_string_equal(text_at(document, "file"), "omgs.goal");
    assert_string_equal(text_at(document, "algorithm"), "omgs");
    assert_true(number_at(document, "workers") == 3);
    assert_int_equal(cJSON_GetArraySize(document), 6);
    assert_int_equal(cJSON_GetArraySize(item_at(document, "notes")), 1);
    assert_string_equal(text_at(document, "loggp"), "L=166677,o=0,g=0,O=0,G=10");
    char *text = read_text(*state, "omgs.goal");
    assert_memory_equal(text, "num_ranks 3\n// loggp L=", 23);
    check_says(*state, "gradweave " EXPORT " --algo omgs --workers 3 --out again.goal",
               "again.goal: omgs, 3 workers; for --loggp L=166677,o=0,g=0,O=0,G=10\n",
               "\nnote: network not measured: derived from allgather among 4 workers", NULL);
    assert_string_equal(read_text(*state, "again.goal"), text);
}

static int make_goals(void **state) {
    if (make_inputs(state) != 0) {
        return -1;
    }
    write_text(*state, "ping.goal", ping_pong);
    return 0;
}

FIXTURES(make_goals, remove_folder)
