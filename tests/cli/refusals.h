/*
 * Commands that the program refuses: with an exit status, one message that helps, an empty stdout
 * and every file as it was.
 */
#ifndef GW_TESTS_REFUSALS_H
#define GW_TESTS_REFUSALS_H

#include "tests/cli/program.h"
#include "tests/support.h"

struct refusal {
    const char *command; /* without the program's name */
    const char *message; /* a part of what stderr says */
};

/* Lines that begin as the program's messages do; the hint about --help does not. */
static inline size_t count_messages(const char *text) {
    static const char beginning[] = "gradweave";
    size_t count = 0;
    for (const char *line = text; line != NULL && *line != '\0';) {
        count += strncmp(line, beginning, sizeof beginning - 1) == 0;
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    return count;
}

/* Whether the command is refused as it should be; says what differs. */
static inline bool is_refused(const char *folder, const char *program,
                              const struct refusal *refusal, int status) {
    char command[1024];
    (void)snprintf(command, sizeof command, "%s %s", program, refusal->command);
    char *before = list_files(folder);
    struct answer answer = ask(folder, command);
    char *after = list_files(folder);
    bool same_files = strcmp(before, after) == 0;
    bool as_expected = answer.status == status && answer.out[0] == '\0' && same_files &&
                       strstr(answer.err, refusal->message) != NULL &&
                       count_messages(answer.err) == 1 &&
                       strstr(answer.err, "\\x0a") == NULL && /* its own line ends are none */
                       strchr(answer.err, '\033') == NULL;
    if (!as_expected) {
        print_error("%s\n  expected status %d and \"%s\"\n  got status %d and \"%s\"%s%s\n",
                    command, status, refusal->message, answer.status, answer.err,
                    answer.out[0] == '\0' ? "" : ", something on stdout",
                    same_files ? "" : ", files changed");
    }
    return as_expected;
}

static inline void check_refusals(const char *folder, const struct refusal *refusals, size_t count,
                                  int status) {
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        wrong += !is_refused(folder, "gradweave", &refusals[i], status);
    }
    assert_int_equal(wrong, 0);
}

/* One command, with the program's name in it. */
static inline void check_refused(const char *folder, const char *command, const char *message) {
    const struct refusal refusal = {.command = command, .message = message};
    assert_true(is_refused(folder, "", &refusal, 2));
}

#endif
