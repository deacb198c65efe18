/*
 * Tables of commands in text files: sections such as "[status 2]", and in them a line for each
 * command, "COMMAND => PART => PART". Empty lines and lines that begin with "#" are left out.
 */
#ifndef GW_TESTS_COMMAND_TABLE_H
#define GW_TESTS_COMMAND_TABLE_H

#include "tests/cli/program.h"
#include "tests/support.h"

/* Cuts the text at its first arrow, and returns what follows it; NULL: it has none. */
static inline char *cut_at_arrow(char *text) {
    char *arrow = strstr(text, " =>");
    if (arrow == NULL) {
        return NULL;
    }
    *arrow = '\0';
    return arrow + strlen(" =>") + (arrow[3] == ' ');
}

/* Makes line ends of each "\\n". */
static inline void unescape_line_ends(char *text) {
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        *to = *from;
        if (from[0] == '\\' && from[1] == 'n') {
            *to = '\n';
            from++;
        }
        to++;
    }
    *to = '\0';
}

/* Checks a command; `parts` is what follows its first arrow, or NULL. Returns whether it is wrong.
 */
typedef bool command_check(const char *folder, char *command, char *parts);

/* Checks each line of a section, and returns their number; the test fails if any is wrong. */
static inline size_t check_section(const char *folder, const char *path, const char *section,
                                   command_check *check) {
    char *rest = read_text("/", path);
    size_t lines = 0;
    size_t wrong = 0;
    bool is_inside = false;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        if (line[0] == '[') {
            is_inside = strcmp(line, section) == 0;
        } else if (is_inside && line[0] != '#' && line[0] != '\0') {
            char *parts = cut_at_arrow(line);
            lines++;
            wrong += check(folder, line, parts);
        }
    }
    assert_int_equal(wrong, 0);
    return lines;
}

/* For the section "[files]": writes the file NAME => TEXT. */
static inline bool write_listed_file(const char *folder, char *name, char *text) {
    unescape_line_ends(text);
    write_text(folder, name, text);
    return false;
}

#endif
