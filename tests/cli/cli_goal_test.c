/* simulate --goal and export as a user runs them: what they print, and what they refuse. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "tests/cli/program_inputs.h"
#include "tests/cli/refusals.h"
#include "tests/support.h"

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
    assert_int_equal(cJSON_GetArraySize(result), 4);
    cJSON_Delete(result);
}

static void tells_when_ranks_finish(void **state) {
    static const char goal[] = "gradweave simulate --goal ping.goal --json";
    static const char slow[] =
        "gradweave simulate --json --goal ping.goal --loggp L=0,o=1e3,g=0,O=20,G=6,S=100";
    static const char free_of_charge[] = "gradweave simulate --goal ping.goal --json --loggp L=7";
    check_finish(*state, goal, (double[]){12200, 7600, 12000}, 7);
    /* 3000 to send; comes at 1000, is received until 4000; sent until 7000; 5000 - 8000. */
    check_finish(*state, slow, (double[]){8000, 7000, 12000}, 7);
    check_finish(*state, free_of_charge, (double[]){14, 7, 12000}, 7);
}

static void says_it_in_words(void **state) {
    struct answer answer = ask(*state, "gradweave simulate --goal ping.goal");
    static const char *const parts[] = {
        "ping.goal: 3 ranks, 5 operations\n",
        "rank  finishes\n",
        "   0  12.20 us\n",
        "   1  7.600 us\n",
        "   2  12.00 us\n",
        "the last rank, 0, finishes at 12.20 us\n",
        "7 events in ",
        " million per second), read in ",
    };
    assert_int_equal(answer.status, 0);
    assert_string_equal(answer.err, "");
    const char *at = answer.out;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *found = strstr(at, parts[i]);
        if (found == NULL) {
            fail_msg("expected \"%s\" in\n%s", parts[i], answer.out);
        }
        at = found;
    }
    forget(&answer);
}

/* From 17 ranks on the table is left out. */
static void many_ranks_are_summed_up(void **state) {
    for (int ranks = 16; ranks <= 17; ranks++) {
        FILE *file = fopen(path_in(*state, "many.goal"), "we");
        assert_non_null(file);
        (void)fprintf(file, "num_ranks %d\n", ranks);
        for (int rank = 0; rank < ranks; rank++) {
            (void)fprintf(file, "rank %d {\ncalc %d\n}\n", rank, rank == 5 ? 2000000 : 1000);
        }
        assert_int_equal(fclose(file), 0);
        struct answer answer = ask(*state, "gradweave simulate --goal many.goal");
        assert_int_equal(answer.status, 0);
        assert_true((strstr(answer.out, "rank  finishes") != NULL) == (ranks == 16));
        assert_non_null(strstr(answer.out, "the last rank, 5, finishes at 2.000 ms"));
        forget(&answer);
    }
}

/* ---- export -------------------------------------------------------------------------------- */

static void says_what_it_has_written(void **state) {
    cJSON *document =
        ask_document(*state, "gradweave " EXPORT " --algo omgs --workers 3 --out omgs.goal --json",
                     "gradweave/export@1");
    assert_string_equal(text_at(document, "file"), "omgs.goal");
    assert_string_equal(text_at(document, "algorithm"), "omgs");
    assert_true(number_at(document, "workers") == 3);
    assert_int_equal(cJSON_GetArraySize(document), 4);
    cJSON_Delete(document);
    char *text = read_text(*state, "omgs.goal");
    assert_memory_equal(text, "num_ranks 3\n", 12);
    struct answer answer =
        ask(*state, "gradweave " EXPORT " --algo omgs --workers 3 --out again.goal");
    assert_int_equal(answer.status, 0);
    assert_string_equal(answer.out, "again.goal: omgs, 3 workers\n");
    assert_string_equal(answer.err, "");
    char *again = read_text(*state, "again.goal");
    assert_string_equal(again, text);
    forget(&answer);
    free(again);
    free(text);
}

/* ---- refusals ------------------------------------------------------------------------------ */

static const struct {
    const char *name, *text;
} bad_files[] = {
    {"empty.goal", ""},
    {"cut.goal", "num_ranks 1\nrank 0 {\ncalc 1\n"},
    {"peer.goal", "num_ranks 2\nrank 0 {\nsend 8b to 2\n}\nrank 1 {\n}\n"},
    {"word.goal", "num_ranks 1\nrank 0 {\n\n  sent 8b to 0\n}\n"},
    {"label.goal", "num_ranks 1\nrank 0 {\na: calc 1\na requires b\n}\n"},
    {"stuck.goal", "num_ranks 2\nrank 0 {\na: calc 5\nhere: recv 8b from 1 tag 4\n}\nrank 1 "
                   "{\nsend 8b to 0\n}\n"},
    {"cycle.goal", "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}\n"},
    {"facing.goal", "num_ranks 2\nrank 0 {\na: send 9b to 1\nb: recv 9b from 1\nb requires a\n}\n"
                    "rank 1 {\na: send 9b to 0\nb: recv 9b from 0\nb requires a\n}\n"},
    {"long.goal", "num_ranks 1\nrank 0 {\ncalc 1\ncalc 18446744073709551615\n}\n"},
    {"late.goal", "num_ranks 1\nrank 0 {\ncalc 4611686018427387904\ncalc 1\ncalc 1\n}\n"},
    {"last.goal", "num_ranks 1\nrank 0 {\ncalc 4611686018427387904\ncalc 1\n}\n"},
    {"slow.json", "{'schema': 'gradweave/model@1', 'name': 'slow', 'forward_s': 5e9, 'tensors': ["
                  "{'name': 'a', 'elements': 10, 'backward_s': 0.1}]}"},
    {"kept.goal", "kept as it is"},
};

#define BESIDE "--goal: expected nothing but --loggp and --json beside it"

static const struct refusal refusals[] = {
    {"simulate --goal", "option '--goal' requires an argument"},
    {"simulate --goal absent.goal", "absent.goal: cannot be read: No such file"},
    {"simulate --goal absent.goal --json", "absent.goal: cannot be read: No such file"},
    {"simulate --goal .", ".: cannot be read: Is a directory"},
    {"simulate --goal ping.goal --algo omgs", BESIDE},
    {"simulate tiny.json --goal ping.goal", BESIDE},
    {"simulate --goal ping.goal --cluster small.json", BESIDE},
    {"simulate --goal ping.goal --network messages", BESIDE},
    {"simulate --goal ping.goal --collective allreduce=ring", BESIDE},
    {"simulate --goal ping.goal --workers 4", BESIDE},
    {"simulate --goal ping.goal --density 0.1", BESIDE},
    {"simulate --goal ping.goal --iterations 2", BESIDE},
    {"simulate --goal ping.goal --trace kept.goal", BESIDE},
    {"simulate --goal ping.goal --plan kept.goal", BESIDE},
    {"simulate --goal ping.goal --noise 0.1", BESIDE},
    {"simulate --goal ping.goal --network-noise 0.1", BESIDE},
    {"simulate --goal ping.goal --straggler 0:2", BESIDE},
    {"simulate --goal ping.goal --bandwidth 0:2", BESIDE},
    {"simulate --goal ping.goal --background 0.5", BESIDE},
    {"simulate --goal ping.goal --workers-per-node 2", BESIDE},
    {"simulate --goal ping.goal --nodes-per-switch 2", BESIDE},
    {"simulate --goal ping.goal --oversubscription 2", BESIDE},
    {"simulate --goal ping.goal --loggp L=1.5",
     "--loggp: L: expected a whole number for a GOAL schedule, got 1.5"},
    {"simulate --goal ping.goal --loggp o=0.1", "--loggp: o: expected a whole number"},
    {"simulate --goal ping.goal --loggp g=0.1", "--loggp: g: expected a whole number"},
    {"simulate --goal ping.goal --loggp G=0.1", "--loggp: G: expected a whole number"},
    {"simulate --goal ping.goal --loggp O=0.1", "--loggp: O: expected a whole number"},
    {"simulate --goal ping.goal --loggp S=0.1", "--loggp: S: expected a whole number"},
    {"simulate --goal ping.goal --loggp L=x", "--loggp: expected L=NS,o=NS,g=NS,O=NS,G=NS,S=BYTES"},
    {"simulate --goal empty.goal", "empty.goal:1: expected num_ranks"},
    {"simulate --goal cut.goal --json", "cut.goal:4: expected"},
    {"simulate --goal tiny.json", "tiny.json:1: expected num_ranks, got {"},
    {"simulate --goal peer.goal", "peer.goal:3: expected"},
    {"simulate --goal word.goal", "word.goal:4: expected"},
    {"simulate --goal label.goal", "label.goal:4: expected"},
    {"simulate --goal stuck.goal",
     "stuck.goal: deadlock: 2 operations wait for ever: rank 0, line 4: here: recv 8b from 1 tag "
     "4: nobody sends it; rank 1, line 7: send 8b to 0 tag 0: nobody receives it"},
    {"simulate --goal stuck.goal --json", "stuck.goal: deadlock: 2 operations wait for ever"},
    {"simulate --goal cycle.goal",
     "cycle.goal: deadlock: 2 operations wait for ever: rank 0, line 3: a: calc 1: what it "
     "requires never happens; rank 0, line 4"},
    {"simulate --goal facing.goal --loggp S=8", "facing.goal: deadlock: 4 operations wait for"},
    {"simulate --goal long.goal",
     "long.goal: line 4: calc 18446744073709551615: expected no operation longer than 2^62 ns"},
    {"simulate --goal late.goal", "late.goal: line 5: calc 1: expected times of at most 2^62 ns"},
    {"simulate --goal last.goal", "last.goal: rank 0: expected an end of at most 2^62 ns"},

    {"export", "expected a MODEL"},
    {"export tiny.json --cluster small.json --algo omgs --out new.goal",
     "expected goal MODEL, the format and what to export, got \"tiny.json\""},
    {"export json tiny.json --cluster small.json --algo omgs --out new.goal", "expected goal"},
    {"export goal", "expected a MODEL"},
    {"export goal tiny.json --algo omgs --out new.goal", "expected --cluster CLUSTER"},
    {EXPORT " --algo omgs", "expected --out FILE"},
    {EXPORT " --out new.goal", "expected --algo ALGORITHM"},
    {EXPORT " --algo sgd --out kept.goal", "got \"sgd\""},
    {EXPORT " --algo omgs --workers 0 --out kept.goal", "--workers: expected a positive integer"},
    {EXPORT " --algo omgs --collective allgather=tree --out kept.goal", "got \"tree\""},
    {EXPORT " --algo omgs --collective tree --out kept.goal", "expected OPERATION=NAME"},
    {EXPORT " --algo omgs --network messages --out kept.goal", "unrecognized option '--network"},
    {EXPORT " small.json --algo omgs --out kept.goal", "expected one MODEL"},
    {"export goal absent.json --cluster small.json --algo omgs --out kept.goal", "absent.json"},
    {"export goal slow.json --cluster small.json --algo omgs --out kept.goal",
     "GOAL: expected operations of at most 2^62 ns (146 years), got 5e+09 s"},
};

static const struct refusal failures[] = {
    {EXPORT " --algo omgs --out absent/new.goal", "absent/new.goal: cannot be written: No such"},
    {EXPORT " --algo omgs --out folder.json", "folder.json: cannot be written: Is a directory"},
    {EXPORT " --algo omgs --json --out /dev/full", "/dev/full: cannot be written: No space left"},
};

static void refuses(void **state) {
    check_refusals(*state, refusals, sizeof refusals / sizeof *refusals, 2);
}

static void fails_without_a_file(void **state) {
    check_refusals(*state, failures, sizeof failures / sizeof *failures, 3);
}

static void reports_a_full_disk(void **state) {
    static const char *const commands[] = {"gradweave simulate --goal ping.goal",
                                           "gradweave simulate --goal ping.goal --json"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        struct answer answer = ask_into(*state, commands[i], "/dev/full");
        assert_int_equal(answer.status, 3);
        assert_string_equal(answer.err, "gradweave: stdout: cannot be written\n");
        forget(&answer);
    }
}

static int make_goals(void **state) {
    if (make_inputs(state) != 0) {
        return -1;
    }
    write_text(*state, "ping.goal", ping_pong);
    for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++) {
        write_text(*state, bad_files[i].name, bad_files[i].text);
    }
    return mkdir(path_in(*state, "folder.json"), 0777);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_when_ranks_finish),
        cmocka_unit_test(says_it_in_words),
        cmocka_unit_test(many_ranks_are_summed_up),
        cmocka_unit_test(says_what_it_has_written),
        cmocka_unit_test(refuses),
        cmocka_unit_test(fails_without_a_file),
        cmocka_unit_test(reports_a_full_disk),
    };
    return cmocka_run_group_tests_name("GOAL as a user asks for it", tests, make_goals,
                                       remove_folder);
}
