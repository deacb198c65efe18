/*
 * Commands that the README, docs/ and man pages show do what stands there. What a document prints
 * below "$ gradweave ..." is what the program prints, but for white space, and "..." for anything.
 */
#include <glob.h>

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
    assert_int_equal(glob(GW_SOURCE "/docs/results/*.md", GLOB_APPEND, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        check_markdown(*state, found.gl_pathv[i] + sizeof GW_SOURCE);
    }
    globfree(&found);
    assert_int_equal(untrue, 0);
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
