/*
 * `sweep` that was interrupted: wherever it was, it goes on to the same bytes and does only what is
 * missing; another sweep's file is refused and nothing of it is lost.
 */
#include <signal.h>

#include "tests/cli/program_inputs.h"
#include "tests/cli/refusals.h"
#include "tests/cli/sweep_support.h"
#include "tests/test.h"

/* ---- interrupted --------------------------------------------------------------------------- */

/* Resumes; the files must be the same as reference.*, and so many points must have been there. */
static void check_resumed(const char *folder, const char *command, double resumed) {
    cJSON *answer = ask_document(folder, command, RESULT);
    if (number_at(answer, "resumed_count") != resumed) {
        print_error("%g points resumed, expected %g\n", number_at(answer, "resumed_count"),
                    resumed);
        fail();
    }
}

/* Rows on the disk, behind `first` other lines; none where the file is gone, as at the very end. */
static size_t rows_on_disk(const char *folder, const char *name, size_t first) {
    if (access(path_in(folder, name), R_OK) != 0) {
        return 0;
    }
    size_t lines = count_lines(read_text(folder, name));
    return lines < first ? 0 : lines - first;
}

#define SLOW TINY " --workers 4,8 --noise 0.01:0.1:lin20 --algo omgs,dense,topk --iterations 300"

/* Killed in the middle of it: what is on the disk is a beginning, and only the rest is done. */
TEST_WITH(a_killed_sweep_goes_on, make_inputs, remove_folder) {
    check_done(*state, SLOW " --out reference.csv --out reference.jsonl");
    for (useconds_t after = 20000; after <= 320000; after *= 2) {
        struct running sweep = start(*state, SLOW " --threads 2 --out out.csv --out out.jsonl");
        (void)usleep(after);
        (void)kill(sweep.process, SIGKILL);
        struct answer killed = finish(&sweep, 30);
        size_t in_table = rows_on_disk(*state, "out.csv.partial", 2);
        size_t in_lines = rows_on_disk(*state, "out.jsonl.partial", 1);
        size_t done = in_table < in_lines ? in_table : in_lines;
        print_message("killed after %u us with %zu of 120 points\n", after, done);
        if (killed.status != 0) {
            check_resumed(*state, SLOW " --out out.csv --out out.jsonl --resume --json",
                          (double)done);
        }
        check_same_file(*state, "reference.csv", "out.csv");
        check_same_file(*state, "reference.jsonl", "out.jsonl");
        (void)unlink(path_in(*state, "out.csv"));
        (void)unlink(path_in(*state, "out.jsonl"));
    }
    assert_true(access(path_in(*state, "out.csv.partial"), F_OK) != 0);
    assert_true(access(path_in(*state, "out.jsonl.partial"), F_OK) != 0);
}

static void write_bytes(const char *folder, const char *name, const char *text, size_t length) {
    FILE *stream = fopen(path_in(folder, name), "we");
    assert_non_null(stream);
    assert_int_equal(fwrite(text, 1, length, stream), length);
    assert_int_equal(fclose(stream), 0);
}

/* The contents of the partial file before the sweep is complete, which the caller frees: a limit on
 * the size of files ends the program within the last row, as a full disk or a power cut may. */
static char *cut_short(const char *folder, const char *command, const char *out, size_t length) {
    char limited[512];
    char partial[64];
    (void)snprintf(limited, sizeof limited, "prlimit --fsize=%zu %s --out %s", length, command,
                   out);
    (void)snprintf(partial, sizeof partial, "%s.partial", out);
    struct answer answer = ask(folder, limited);
    assert_int_equal(answer.status, 128 + SIGXFSZ);
    char *text = read_text(folder, partial);
    assert_int_equal(strlen(text), length);
    return text;
}

/* Complete rows of a beginning of the file, whose title and heading are `above` lines. */
static double rows_in(const char *text, size_t length, size_t above) {
    char *beginning = strndup(text, length);
    size_t lines = count_lines(beginning);
    free(beginning);
    return lines > above ? (double)(lines - above) : 0;
}

/* A sweep whose answer goes nowhere has been done: the rows are there for who asks again. */
TEST_WITH(an_answer_that_is_lost_is_printed_again, make_inputs, remove_folder) {
    struct answer lost = ask_into(*state, TINY " --out out.csv", "/dev/full");
    assert_int_equal(lost.status, 3);
    assert_string_equal(lost.err,
                        "gradweave: stdout: cannot be written; out.csv.partial is kept, and "
                        "--resume continues from it\n");
    assert_int_not_equal(access(path_in(*state, "out.csv"), F_OK), 0);
    cJSON *again = ask_document(*state, TINY " --out out.csv --resume --json", RESULT);
    assert_true(number_at(again, "resumed_count") == number_at(again, "point_count"));
    assert_int_equal(access(path_in(*state, "out.csv"), F_OK), 0);
    assert_int_not_equal(access(path_in(*state, "out.csv.partial"), F_OK), 0);
}

/* The whole partial file that stands before the last row's newline, the caller's. */
static char *cut_at_the_end(const char *folder, const char *command, const char *out,
                            const char *whole) {
    char partial[64];
    (void)snprintf(partial, sizeof partial, "%s.partial", out);
    char *text = cut_short(folder, command, out, strlen(whole));
    size_t title = strcspn(text, "\n") + 1;
    assert_int_equal(unlink(path_in(folder, partial)), 0);
    return cut_short(folder, command, out, strlen(whole) + title - 1);
}

/* Within two bytes of where a row ends, which is always tried. */
static bool is_near_an_end(const char *text, size_t length, size_t longest) {
    size_t from = length < 2 ? 0 : length - 2;
    size_t until = length + 2 > longest ? longest : length + 2;
    return memchr(text + from, '\n', until - from) != NULL;
}

static void check_cuts(const char *folder, const char *command, const char *out, size_t above) {
    char resume[512];
    char partial[64];
    (void)snprintf(partial, sizeof partial, "%s.partial", out);
    (void)snprintf(resume, sizeof resume, "%s --out %s", command, out);
    check_done(folder, resume);
    char *whole = read_text(folder, out);
    char *text = cut_at_the_end(folder, command, out, whole);
    size_t longest = strlen(text) + 1;
    text[longest - 1] = '\n'; /* in place of the final zero: the file of a sweep that is complete */
    (void)snprintf(resume, sizeof resume, "%s --out %s --resume --json", command, out);
    size_t step = longest / (size_t)gw_trials((int)longest);
    for (size_t length = 0; length <= longest; length++) {
        if (length % step != seed % step && !is_near_an_end(text, length, longest)) {
            continue;
        }
        write_bytes(folder, partial, text, length);
        check_resumed(folder, resume, rows_in(text, length, above));
        char *resumed = read_text(folder, out);
        assert_string_equal(resumed, whole);
    }
}

/* At a share of the bytes that GRADWEAVE_TRIALS says. */
TEST_WITH(cut_off_at_any_byte_it_goes_on, make_inputs, remove_folder) {
    if (!have_program("prlimit")) {
        print_message("skipped: no prlimit in PATH\n");
        skip();
    }
    write_text(*state, "sparse.json", sparse_cluster);
    check_cuts(*state,
               "gradweave sweep --model tiny.json --cluster small.json,sparse.json --workers 4,5 "
               "--algo dense,omgs",
               "out.csv", 2);
    check_cuts(*state, "gradweave sweep --model tiny.json --cluster sparse.json --algo dense,omgs",
               "out.jsonl", 1);
}

/* The shorter of two files decides, and rows of the longer one only are written once. */
TEST_WITH(the_shorter_of_two_files_decides, make_inputs, remove_folder) {
    static const size_t lengths[][2] = {{1, 3}, {3, 1}, {0, 4}, {4, 0}, {2, 2}};
    if (!have_program("prlimit")) {
        print_message("skipped: no prlimit in PATH\n");
        skip();
    }
    check_done(*state, TINY " --out reference.csv --out reference.jsonl");
    char *tables = read_text(*state, "reference.csv");
    char *lines = read_text(*state, "reference.jsonl");
    char *table = cut_at_the_end(*state, TINY, "out.csv", tables);
    char *line = cut_at_the_end(*state, TINY, "out.jsonl", lines);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t in_table = 0;
        size_t in_lines = 0;
        while (rows_in(table, in_table, 2) < (double)lengths[i][0]) {
            in_table++;
        }
        while (rows_in(line, in_lines, 1) < (double)lengths[i][1]) {
            in_lines++;
        }
        size_t least = lengths[i][0] < lengths[i][1] ? lengths[i][0] : lengths[i][1];
        write_bytes(*state, "out.csv.partial", table, in_table);
        write_bytes(*state, "out.jsonl.partial", line, in_lines);
        check_resumed(*state, TINY " --out out.csv --out out.jsonl --resume --json", (double)least);
        check_same_file(*state, "reference.csv", "out.csv");
        check_same_file(*state, "reference.jsonl", "out.jsonl");
    }
}

/* A CSV row may hold a newline, in quotes. */
TEST_WITH(a_row_may_have_several_lines, make_inputs, remove_folder) {
    write_text(*state, "odd\n,name.json", tiny_model);
    write_text(
        *state, "odd.json",
        "{'schema': 'gradweave/sweep-job@1', 'models': ['odd\\n,name.json'], "
        "'clusters': ['small.json'], 'algorithms': 'topk', 'density': [0.1, 0.2, 0.3, 0.4]}");
    check_done(*state, "gradweave sweep odd.json --out whole.csv");
    char *whole = read_text(*state, "whole.csv");
    assert_int_equal(count_lines(whole), 1 + 2 * 4);
    if (have_program("prlimit")) {
        char *text = cut_at_the_end(*state, "gradweave sweep odd.json", "whole.csv", whole);
        check_resumed(*state, "gradweave sweep odd.json --out whole.csv --resume --json", 3);
        strstr(text, "\n3,\"odd\n")[8] = '\0'; /* behind the newline in quotes */
        write_bytes(*state, "whole.csv.partial", text, strlen(text));
        check_resumed(*state, "gradweave sweep odd.json --out whole.csv --resume --json", 3);
        assert_string_equal(read_text(*state, "whole.csv"), whole);
    }
}

/* Without anything to continue, --resume begins. */
TEST_WITH(resuming_nothing_begins, make_inputs, remove_folder) {
    check_resumed(*state, TINY " --out new.csv --resume --json", 0);
    check_done(*state, TINY " --out other.csv");
    check_same_file(*state, "new.csv", "other.csv");
}

/* ---- another sweep's file ------------------------------------------------------------------ */

TEST_WITH(another_sweep_is_not_continued, make_inputs, remove_folder) {
    static const char values[] = "another one: other values, names, iterations, seed or version";
    static const char files[] = "another one: its models or clusters are others, or have changed";
    static const char *const others[] = {
        " --seed 2",         " --iterations 2", " --workers 4",
        " --density 0.002",  " --noise 0.1",    " --straggler 2",
        " --bandwidth 1.5x", " --algo omgs",    " --density 0.001,0.002",
        " --accumulate 2"};
    if (!have_program("prlimit")) {
        print_message("skipped: no prlimit in PATH\n");
        skip();
    }
    (void)cut_short(*state, TINY, "out.csv", 700);
    (void)cut_short(*state, TINY, "out.jsonl", 1500);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char command[256];
        (void)snprintf(command, sizeof command, TINY "%s --resume --out out.csv", others[i]);
        check_refused(*state, command, values);
        (void)snprintf(command, sizeof command, TINY "%s --resume --out new.csv --out out.jsonl",
                       others[i]);
        check_refused(*state, command, values);
    }
    check_refused(*state, TINY " --out out.csv", "out.csv.partial: expected --resume");
    check_refused(*state, TINY " --out new.csv --out out.csv", "expected --resume");
    write_text(*state, "tiny-copy.json", tiny_model);
    check_refused(*state,
                  "gradweave sweep --model tiny-copy.json --cluster small.json --resume "
                  "--out out.csv",
                  values);
    write_text(*state, "tiny.json", idle_model);
    check_refused(*state, TINY " --resume --out out.csv", files);
    char *changed = strdup(tiny_model);
    strstr(changed, "0.001}")[4] = '2';
    write_text(*state, "tiny.json", changed);
    free(changed);
    check_refused(*state, TINY " --resume --out out.csv", files);
    write_text(*state, "tiny.json", tiny_model);
    write_text(*state, "small.json", sparse_cluster);
    check_refused(*state, TINY " --resume --out out.csv", files);
    write_text(*state, "small.json", small_cluster);
    write_text(*state, "out.csv.partial", "point,model\n0,tiny.json\n");
    check_refused(*state, TINY " --resume --out out.csv", "got something else");
    write_text(*state, "out.jsonl.partial", "{'schema': 'gradweave/result@1'}\n");
    check_refused(*state, TINY " --resume --out out.jsonl", "got something else");
}

TEST_WITH(two_sweeps_do_not_write_one_file, make_inputs, remove_folder) {
    struct running sweep = start(*state, SLOW " --threads 1 --out shared.csv");
    for (int tries = 0; tries < 1000 && access(path_in(*state, "shared.csv.partial"), F_OK) != 0;
         tries++) {
        (void)usleep(1000);
    }
    (void)usleep(20000);
    assert_int_equal(kill(sweep.process, SIGSTOP), 0);
    struct answer second = ask(*state, SLOW " --out shared.csv --resume");
    assert_int_equal(second.status, 2);
    assert_non_null(strstr(second.err, "got one that is still running"));
    assert_int_equal(kill(sweep.process, SIGCONT), 0);
    struct answer first = finish(&sweep, 60);
    assert_int_equal(first.status, 0);
}
