/*
 * Files that the program writes: all of them or none, never over what was not meant, and never
 * mixed with what it prints.
 */
#include "tests/cli/program_inputs.h"
#include "tests/test.h"

#define TINY "tiny.json --cluster small.json"

/* Printing comes last except for the files, which then stay as they were. */
TEST_WITH(a_full_stdout_leaves_nothing_new, make_inputs, remove_folder) {
    static const char *const commands[] = {
        "gradweave plan " TINY " --out plan.json",
        "gradweave plan " TINY " --json --out plan.json",
        "gradweave plan " TINY " --sweep density=0.1,0.2 --out plans.csv",
        "gradweave compare " TINY " --workers 2,4 --data d.csv",
        "gradweave simulate " TINY " --algo omgs --trace t.json",
        "gradweave export goal " TINY " --algo omgs --out s.goal",
        "gradweave compare " TINY " --workers 2,4 --data d.csv --out p.svg",
    };
    bool draws = have_program("gnuplot");
    for (size_t i = 0; i < sizeof commands / sizeof *commands - !draws; i++) {
        const char *before = list_files(*state);
        struct answer answer = ask_into(*state, commands[i], "/dev/full");
        assert_int_equal(answer.status, 3);
        assert_string_equal(answer.err, "gradweave: stdout: cannot be written\n");
        assert_string_equal(list_files(*state), before);
        (void)check_says(*state, commands[i], NULL);
        assert_string_not_equal(list_files(*state), before);
    }
}

/* Runs a command of a shell, whose $1 is the program. */
static struct answer ask_shell(const char *folder, const char *command) {
    write_text(folder, "command.sh", command);
    return ask(folder, "/bin/sh command.sh gradweave");
}

/* A file that took the number of a closed descriptor would be written over, or wait for itself. */
TEST_WITH(closed_descriptors_are_no_files, make_inputs, remove_folder) {
    static const struct {
        const char *command;
        int status;
    } cases[] = {
        {"$1 plan " TINY " --out p.json >&-", 3},
        {"$1 plan " TINY " --out p.json <&- >&- 2>&-", 3},
        {"$1 plan " TINY " --out p.json <&-", 0},
        {"$1 list >&-", 3},
        {"$1 --version <&- 2>&-", 0},
    };
    static const char plain[] = "gradweave sweep --model " TINY " --out plain.csv";
    (void)check_says(*state, plain, NULL);
    char *expected = read_text(*state, "plain.csv");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(ask_shell(*state, cases[i].command).status, cases[i].status);
        bool left = unlink(path_in(*state, "p.json")) == 0;
        assert_true(cases[i].status == 0 || !left);
    }
    static const char *const closed[] = {"<&-", "2>&-", "<&- 2>&-"};
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++) {
        char command[256];
        (void)snprintf(command, sizeof command,
                       "$1 sweep --model " TINY " --out s.csv --verbose %s", closed[i]);
        assert_int_equal(ask_shell(*state, command).status, 0);
        assert_string_equal(read_text(*state, "s.csv"), expected);
    }
}

/* gnuplot gets its table and its picture, wherever descriptors are free. */
TEST_WITH(closed_descriptors_are_no_pictures, make_inputs, remove_folder) {
    static const char *const closed[] = {"<&-", "2>&-", "<&- 2>&-"};
    need_gnuplot();
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++) {
        char command[256];
        (void)snprintf(command, sizeof command, "$1 plan " TINY " --explain --out p.png %s",
                       closed[i]);
        assert_int_equal(ask_shell(*state, command).status, 0);
        check_png(*state, "p.png");
        (void)unlink(path_in(*state, "p.png"));
    }
    assert_int_equal(ask_shell(*state, "$1 plan " TINY " --explain --out p.png >&-").status, 3);
    assert_true(access(path_in(*state, "p.png"), F_OK) != 0);
}

TEST_WITH(force_replaces_another_kind, make_inputs, remove_folder) {
    (void)check_says(*state, "gradweave plan " TINY " --out tiny.json --force", NULL);
    assert_non_null(strstr(read_text(*state, "tiny.json"), "gradweave/plan@1"));
}
