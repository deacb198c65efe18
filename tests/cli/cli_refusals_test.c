/*
 * Refusals: wrong usage and bad input end with status 2, a failed run with 3, each with one message
 * that helps, an empty stdout and every file unchanged. PATH is empty throughout: no program is
 * started before the inputs have been checked.
 */
#include <sys/stat.h>

#include "tests/cli/program_inputs.h"
#include "tests/cli/refusals.h"
#include "tests/test.h"

#define TINY "tiny.json --cluster small.json"

/* ---- refusals.txt -------------------------------------------------------------------------- */

/* The next line, cut at its end and at its arrow: what is before it and what after. */
static char *next_line(char **rest, char **after) {
    char *line = strsep(rest, "\n");
    *after = "";
    char *arrow = line == NULL ? NULL : strstr(line, " =>");
    if (arrow != NULL) {
        *arrow = '\0';
        *after = arrow + strlen(" =>") + (arrow[3] == ' ');
    }
    return line;
}

/* Makes line ends of each "\\n". */
static void unescape(char *text) {
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        bool end = from[0] == '\\' && from[1] == 'n';
        *to++ = end ? '\n' : *from;
        from += end;
    }
    *to = '\0';
}

/* Writes the files, or checks the refusals of that status (0: the files); how many lines it took.
 */
static size_t read_refusals(const char *folder, int status) {
    char *text = read_text("/", GW_TEST_REFUSALS);
    char *rest = text, *after = NULL;
    size_t lines = 0, wrong = 0;
    int section = -1;
    for (char *line = next_line(&rest, &after); line != NULL; line = next_line(&rest, &after)) {
        if (line[0] == '[') {
            section = sscanf(line, "[status %d]", &section) == 1 ? section : 0;
        } else if (section == status && line[0] != '#' && (line[0] != '\0' || after[0] != '\0')) {
            lines++;
            if (status == 0) {
                unescape(after);
                write_text(folder, line, after);
            } else {
                const struct refusal refusal = {.command = line, .message = after};
                wrong += !is_refused(folder, "gradweave", &refusal, status);
            }
        }
    }
    assert_int_equal(wrong, 0);
    return lines;
}

TEST(refuses_wrong_usage_and_bad_input) {
    assert_true(read_refusals(*state, 2) > 300);
}

TEST(reports_a_failed_run) {
    assert_true(read_refusals(*state, 3) > 20);
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
    assert_true(read_refusals(*state, 0) > 20);
    return mkdir(path_in(*state, "folder.json"), 0777);
}

FIXTURES(make_bad_inputs, remove_folder)
