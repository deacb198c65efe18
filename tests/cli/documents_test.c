/*
 * Commands that the README, docs/ and man pages show do what stands there. What a document prints
 * below "$ gradweave ..." is what the program prints, but for white space, and "..." for anything.
 */
#include <glob.h>
#include <math.h>

#include "tests/cli/program.h"
#include "tests/support.h"
#include "tests/test.h"

enum { MOST_TEXT = 65536 };
static size_t untrue; /* commands, so that a run names them all */

/* Measures this machine, needs one's own files, or takes minutes. */
static bool is_skipped(const char *command) {
    static const char *const words[] = {
        "calibrate", "validate",     "validation",   "mpirun",       "job.json", " | ",
        " <(",       "plot density", "plot padding", "convergence/", " import "};
    bool skipped = strncmp(command, "gradweave ", 10) != 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        skipped = skipped || strstr(command, words[i]) != NULL;
    }
    return skipped;
}

/* Appends with single spaces for white space. */
static void append_squeezed(char *out, const char *text) {
    size_t used = strlen(out);
    for (; *text != '\0'; text++) {
        bool blank = strchr(" \t\n\\", *text) != NULL;
        if ((!blank || (used > 0 && out[used - 1] != ' ')) && used + 1 < MOST_TEXT) {
            out[used++] = blank ? ' ' : *text;
        }
    }
    out[used] = '\0';
}

/* Whether the parts between "..." stand in the text in their order, and nothing else. */
static bool matches(const char *text, const char *expected) {
    static const char anything[] = " ... ";
    const char *end = strstr(expected, anything);
    size_t length = end == NULL ? strlen(expected) : (size_t)(end - expected);
    if (strncmp(text, expected, length) != 0) {
        return false;
    }
    text += length;
    while (end != NULL) {
        char part[MOST_TEXT];
        const char *next = end + sizeof anything - 1;
        end = strstr(next, anything);
        length = end == NULL ? strlen(next) : (size_t)(end - next);
        (void)snprintf(part, sizeof part, "%.*s", (int)length, next);
        const char *found = strstr(text, part);
        if (found == NULL) {
            print_error("not there: %s\n", part);
            return false;
        }
        text = found + length;
        if (length == 0) { /* the last of them */
            return true;
        }
    }
    return *text == '\0';
}

static void check_command(const char *folder, const char *document, const char *command,
                          const char *expected) {
    static char said[MOST_TEXT], wanted[MOST_TEXT];
    if (is_skipped(command)) {
        return;
    }
    struct answer answer = ask(folder, "%s", command);
    bool refused = strncmp(expected, "gradweave:", 10) == 0;
    (void)strcpy(said, " ");
    (void)strcpy(wanted, " ");
    append_squeezed(said, answer.out);
    append_squeezed(said, answer.err);
    append_squeezed(wanted, expected);
    if (answer.status != (refused ? 2 : 0) || (wanted[1] != '\0' && !matches(said, wanted))) {
        print_error("%s: %s\n  expected \"%s\"\n  got status %d and \"%s\"\n", document, command,
                    wanted, answer.status, said);
        untrue++;
    }
}

/* ---- markdown -------------------------------------------------------------------------------- */

/* Files that a document shows stand in the folder under their names: what has none, by its kind. */
static void write_example(const char *folder, const char *text, size_t length) {
    char name[64];
    char *copy = strndup(text, length);
    assert_non_null(copy);
    cJSON *document = parse_document(copy, NULL);
    const char *own = cJSON_GetStringValue(cJSON_GetObjectItem(document, "name"));
    const char *kind = strchr(text_at(document, "schema"), '/') + 1;
    (void)snprintf(name, sizeof name, "%.*s.json", (int)strcspn(own == NULL ? kind : own, "@"),
                   own == NULL ? kind : own);
    write_text(folder, name, copy);
    free(copy);
}

static void write_examples(const char *folder, const char *text) {
    static const char begin[] = "```json\n";
    while ((text = strstr(text, begin)) != NULL) {
        text += strlen(begin);
        const char *end = strstr(text, "```");
        assert_non_null(end);
        write_example(folder, text, (size_t)(end - text));
        text = end;
    }
}

static void check_markdown(const char *folder, const char *name) {
    static char command[MOST_TEXT], expected[MOST_TEXT];
    char *text = read_text(GW_SOURCE, name);
    write_examples(folder, text);
    char *rest = NULL;
    command[0] = expected[0] = '\0';
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        bool shown = strncmp(line, "    ", 4) == 0;
        if ((!shown || strncmp(line, "    $ ", 6) == 0) && command[0] != '\0') {
            check_command(folder, name, command, expected);
            command[0] = '\0';
        }
        if (strncmp(line, "    $ ", 6) == 0) {
            expected[0] = '\0';
            append_squeezed(command, line + 6);
        } else if (shown && command[0] != '\0' && command[strlen(command) - 1] == ' ') {
            append_squeezed(command, line); /* a line that goes on */
        } else if (shown && command[0] != '\0') {
            append_squeezed(expected, line + 4);
            append_squeezed(expected, "\n");
        }
    }
}

TEST(documents_show_what_is_printed) {
    need_gnuplot();
    glob_t found;
    check_markdown(*state, "README.md");
    assert_int_equal(glob(GW_SOURCE "/docs/*.md", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        check_markdown(*state, found.gl_pathv[i] + sizeof GW_SOURCE);
    }
    globfree(&found);
    assert_int_equal(untrue, 0);
}

/* ---- figures --------------------------------------------------------------------------------- */

/* A pipeline in docs/pipelines.md. */
struct executed {
    char name[32];
    double predicted_s, measured_s, error, selected; /* in percent; selected: 0: as asked */
};

enum { PIPELINES = 22, FIXED = 15 }; /* these send what they are asked for */

static bool read_executed(const char *line, struct executed *out) {
    char units[2][4];
    *out = (struct executed){.selected = 0};
    if (sscanf(line, "| `%31[^`]` | %lf %3s | %lf %3s | %lf%% | %*[^|] | %lf", out->name,
               &out->predicted_s, units[0], &out->measured_s, units[1], &out->error,
               &out->selected) < 6) {
        return false;
    }
    out->predicted_s *= strcmp(units[0], "ms") == 0 ? 1e-3 : 1;
    out->measured_s *= strcmp(units[1], "ms") == 0 ? 1e-3 : 1;
    double error = 100 * (out->predicted_s / out->measured_s - 1);
    assert_true(fabs(error - out->error) < 0.15);
    out->error = error;
    return true;
}

static void check_stands(const char *document, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void check_stands(const char *document, const char *format, ...) {
    static char squeezed[MOST_TEXT];
    char expected[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(expected, sizeof expected, format, arguments);
    va_end(arguments);
    squeezed[0] = '\0';
    append_squeezed(squeezed, read_text(GW_SOURCE, document));
    if (strstr(squeezed, expected) == NULL) {
        fail_msg("%s: expected \"%s\"", document, expected);
    }
}

static void read_all_executed(struct executed rows[PIPELINES]) {
    char *rest = read_text(GW_SOURCE, "docs/pipelines.md");
    size_t count = 0;
    for (char *line = strsep(&rest, "\n"); line != NULL && count < PIPELINES;
         line = strsep(&rest, "\n")) {
        count += read_executed(line, &rows[count]);
    }
    assert_int_equal(count, PIPELINES);
}

/* What was measured stands in one table, and each summary of it says what follows from there. */
TEST(summaries_follow_from_the_table) {
    struct executed rows[PIPELINES];
    const struct executed *largest = rows;
    double sum = 0;
    double sum_of_fixed = 0;
    read_all_executed(rows);
    for (size_t i = 0; i < PIPELINES; i++) {
        double error = fabs(rows[i].error);
        sum += error;
        sum_of_fixed += rows[i].selected == 0 ? error : 0;
        largest = error > fabs(largest->error) ? &rows[i] : largest;
    }
    for (size_t i = 0; i < 2; i++) {
        check_stands(i == 0 ? "README.md" : "docs/pipelines.md",
                     "ean error %.1f%%, largest %.1f%% (`%s`); of the %d whose bytes do not depend "
                     "on the gradients %.1f%%",
                     sum / PIPELINES, fabs(largest->error), largest->name, FIXED,
                     sum_of_fixed / FIXED);
    }
}

/* Predictions that rest on the shipped file alone, and on no recorded counts, are still its. */
TEST(executed_pipelines_are_predicted_so) {
    struct executed rows[PIPELINES];
    read_all_executed(rows);
    cJSON *ranking = ask_document(*state, "gradweave compare resnet50 --cluster box-4x1gbit --json",
                                  "gradweave/comparison@1");
    size_t checked = 0;
    const cJSON *result = NULL;
    cJSON_ArrayForEach(result, item_at(ranking, "results")) {
        for (size_t i = 0; i < PIPELINES; i++) {
            if (rows[i].selected == 0 && strcmp(text_at(result, "algorithm"), rows[i].name) == 0) {
                assert_true(near(number_at(result, "iteration_s"), rows[i].predicted_s, 5.1e-4));
                checked++;
            }
        }
    }
    assert_int_equal(checked, FIXED);
}

/* As docs/calibration.md shows it, where that is compared with what is printed. */
TEST(readme_says_of_the_shipped_file_what_check_says) {
    static const char *const what[] = {"collectives", "compressors"};
    double mean[2], low[2], high[2];
    const char *text = ask(*state, "gradweave check box-4x1gbit --json").out;
    for (size_t i = 0; i < 2; i++) {
        char begin[80];
        (void)snprintf(begin, sizeof begin, "curves of %s: sizes that were held out are ", what[i]);
        const char *found = strstr(text, begin);
        assert_non_null(found);
        assert_int_equal(sscanf(found + strlen(begin),
                                "%lf%% off in the mean of %*d curves, %lf to %lf%%", &mean[i],
                                &low[i], &high[i]),
                         3);
    }
    check_stands("README.md", "mean %.1f%%, %.1f to %.1f%%; %.1f%%, %.1f to %.1f%%", mean[0],
                 low[0], high[0], mean[1], low[1], high[1]);
}

/* ---- man pages ------------------------------------------------------------------------------- */

/* "\-" is a hyphen, and "\e" at the end of a line a backslash: it goes on. */
static void append_unescaped(char *out, const char *text) {
    size_t used = strlen(out);
    for (; *text != '\0' && used + 1 < MOST_TEXT; text++) {
        bool escapes = text[0] == '\\';
        text += escapes;
        if (!escapes || *text != 'e') {
            out[used++] = *text;
        }
    }
    out[used] = '\0';
}

TEST(man_pages_show_what_works) {
    static char command[MOST_TEXT];
    glob_t found;
    need_gnuplot();
    assert_int_equal(glob(GW_SOURCE "/docs/man/*.1", 0, NULL, &found), 0);
    size_t checked = 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *text = read_text(GW_SOURCE, found.gl_pathv[i] + sizeof GW_SOURCE);
        bool goes_on = false;
        char *rest = NULL;
        for (char *line = strtok_r(text, "\n", &rest); line != NULL;
             line = strtok_r(NULL, "\n", &rest)) {
            bool begins = strncmp(line, ".Dl ", 4) == 0 || strncmp(line, "$ gradweave", 11) == 0;
            if (begins) {
                command[0] = '\0';
                append_unescaped(command, strchr(line, ' ') + 1);
            } else if (goes_on) {
                append_unescaped(command, line);
            }
            bool is_shown = begins || goes_on;
            goes_on = is_shown && line[strlen(line) - 1] == 'e' && line[strlen(line) - 2] == '\\';
            if (is_shown && !goes_on && strstr(command, "tiny.json") == NULL) {
                check_command(*state, found.gl_pathv[i], command, "");
                checked += !is_skipped(command);
            }
        }
    }
    assert_true(checked > 15);
    assert_int_equal(untrue, 0);
    globfree(&found);
}

FIXTURES(make_folder, remove_folder)
