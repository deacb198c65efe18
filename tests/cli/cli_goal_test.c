/* simulate --goal and export as a user runs them: what they print, and what they refuse. */
#include <sys/stat.h>

#include "tests/cli/program_inputs.h"
#include "tests/test.h"

#define EXPORT "export goal tiny.json --cluster small.json"

/* ---- simulate --goal ----------------------------------------------------------------------- */

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

FIXTURES(make_inputs, remove_folder)
