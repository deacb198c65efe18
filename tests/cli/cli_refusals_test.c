/*
 * Refusals: wrong usage and bad input end with status 2, a failed run with 3, each with one message
 * that helps, an empty stdout and every file unchanged. PATH is empty throughout: no program is
 * started before the inputs have been checked.
 */
#include <sys/stat.h>

#include "tests/cli/command_table.h"
#include "tests/cli/program_inputs.h"
#include "tests/cli/refusals.h"
#include "tests/test.h"

#define TINY "tiny.json --cluster small.json"

/* ---- refusals.txt -------------------------------------------------------------------------- */

static bool check_bad_input(const char *folder, char *command, char *message) {
    const struct refusal refusal = {.command = command, .message = message};
    unescape_line_ends(message);
    return !is_refused(folder, "gradweave", &refusal, 2);
}

static bool check_failure(const char *folder, char *command, char *message) {
    const struct refusal refusal = {.command = command, .message = message};
    return !is_refused(folder, "gradweave", &refusal, 3);
}

TEST(refuses_wrong_usage_and_bad_input) {
    assert_true(check_section(*state, GW_TEST_REFUSALS, "[status 2]", check_bad_input) > 300);
}

TEST(reports_a_failed_run) {
    assert_true(check_section(*state, GW_TEST_REFUSALS, "[status 3]", check_failure) > 20);
}

/* ---- what takes more than a line ----------------------------------------------------------- */

static const struct refusal broken_data[] = {
    {"list", "data/models/broken.json: tensors: expected"},
    {"list --json", "data/models/broken.json: tensors: expected"},
    {"list models", "data/models/broken.json: tensors: expected"},
    {"list models --json", "data/models/broken.json: tensors: expected"},
};

/* A list is whole or is not printed, also if the file that is broken comes late. */
TEST(refuses_broken_data) {
    const char *folder = *state;
    size_t wrong = 0;
    assert_int_equal(mkdir(path_in(folder, "data"), 0777), 0);
    assert_int_equal(mkdir(path_in(folder, "data/models"), 0777), 0);
    write_text(folder, "data/models/able.json", tiny_model);
    write_text(folder, "data/models/broken.json",
               "{'schema': 'gradweave/model@1', 'name': 'm', 'forward_s': 1}");
    for (size_t i = 0; i < sizeof broken_data / sizeof *broken_data; i++) {
        wrong +=
            !is_refused(folder, "/usr/bin/env GRADWEAVE_DATA=data gradweave", &broken_data[i], 2);
    }
    (void)unlink(path_in(folder, "data/models/able.json"));
    (void)unlink(path_in(folder, "data/models/broken.json"));
    (void)rmdir(path_in(folder, "data/models"));
    (void)rmdir(path_in(folder, "data"));
    assert_int_equal(wrong, 0);
}

TEST(reports_a_full_disk) {
    static const char *const commands[] = {
        "gradweave --version",
        "gradweave --help",
        "gradweave list",
        "gradweave list --json",
        "gradweave plan " TINY,
        "gradweave plan " TINY " --json",
        "gradweave plan " TINY " --sweep workers=2,4",
        "gradweave plan " TINY " --sweep workers=2,4 --json",
        "gradweave simulate " TINY " --algo omgs",
        "gradweave compare " TINY " --json",
        "gradweave simulate --goal ping.goal",
        "gradweave simulate --goal ping.goal --json",
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        struct answer answer = ask_into(*state, commands[i], "/dev/full");
        if (answer.status != 3 ||
            strcmp(answer.err, "gradweave: stdout: cannot be written\n") != 0) {
            print_error("%s: status %d, stderr: %s\n", commands[i], answer.status, answer.err);
            fail();
        }
    }
}

static int make_bad_inputs(void **state) {
    if (make_inputs(state) != 0 || setenv("PATH", "", 1) != 0) {
        return -1;
    }
    assert_true(check_section(*state, GW_TEST_REFUSALS, "[files]", write_listed_file) > 20);
    return mkdir(path_in(*state, "folder.json"), 0777);
}

FIXTURES(make_bad_inputs, remove_folder)
