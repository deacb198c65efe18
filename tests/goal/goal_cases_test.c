/* The schedules of cases.txt: worked out by hand, waiting for ever, too long, or refused. */
#include "goal/goal.h"
#include "tests/goal/goal_text.h"
#include "tests/test.h"

static struct gw_error error;

/* Turns \\n and \\xff into what they stand for, in place. */
static char *unescape(char *text) {
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        bool is_end = from[0] == '\\' && from[1] == 'n';
        bool is_byte = strncmp(from, "\\xff", 4) == 0;
        *to++ = (char)(is_end ? '\n' : is_byte ? '\xff' : *from);
        from += is_end + 3 * is_byte;
    }
    *to = '\0';
    return text;
}

/* Reads "L=1,o=2" over LogGOPSim's own parameters. */
static struct gw_loggops parameters_of(char *text) {
    struct gw_loggops out = {.L = 2500, .o = 1500, .g = 1000, .G = 6, .S = 65535};
    uint64_t *const members[] = {&out.L, &out.o, &out.g, &out.O, &out.G, &out.S};
    for (char *one = strsep(&text, ","); one != NULL && *one != '\0'; one = strsep(&text, ",")) {
        *members[strchr("LogOGS", one[0]) - "LogOGS"] = strtoull(one + 2, NULL, 10);
    }
    return out;
}

static bool ran_as_expected(const struct gw_goal *goal, const struct gw_goal_result *result,
                            const char *expected) {
    char *rest = NULL;
    bool is_right = result->events == strtoull(expected, &rest, 10) && *rest++ == ':';
    for (uint32_t rank = 0; rank < goal->rank_count; rank++) {
        is_right = is_right && result->finish_ns[rank] == strtoull(rest, &rest, 10);
    }
    return is_right && *rest == '\0';
}

static bool try_case(const char *folder, const struct gw_loggops *parameters, const char *text,
                     const char *expected) {
    static const struct gw_goal nothing;
    const char *path = path_in(folder, "f.goal");
    bool has_file = strncmp(expected, "deadlock: ", strlen("deadlock: ")) == 0;
    bool fails = strncmp(expected, "GOAL ", 5) == 0 || strncmp(expected, "LogGOPS ", 8) == 0;
    bool is_refused = !has_file && !fails && strstr(expected, ": expected ") != NULL;
    struct gw_goal goal;
    struct gw_goal_result result = {0};
    char message[sizeof error.message];
    (void)snprintf(message, sizeof message, is_refused ? "f:%s" : "%s", expected);
    error = (struct gw_error){0};
    enum gw_status status = read_goal_text(text, strlen(text), "f", &goal, &error);
    if (is_refused) {
        return status == GW_BAD_INPUT && error.status == GW_BAD_INPUT &&
               strcmp(error.message, message) == 0 && memcmp(&goal, &nothing, sizeof goal) == 0;
    }
    assert_ok(status);
    assert_ok(gw_file_write(path, text, strlen(text), &error));
    status = gw_goal_run(&goal, parameters, has_file ? path : NULL, &result, &error);
    bool is_right = has_file || fails
                        ? status == GW_BAD_INPUT && strstr(error.message, message) != NULL &&
                              result.finish_ns == NULL
                        : status == GW_OK && ran_as_expected(&goal, &result, expected);
    free(result.finish_ns);
    gw_goal_free(&goal);
    return is_right;
}

TEST_IN_FOLDER(schedules_take_the_times_worked_out_by_hand_or_are_refused) {
    char *text = NULL;
    size_t length = 0, wrong = 0, tried = 0;
    struct gw_loggops parameters = parameters_of(NULL);
    assert_ok(gw_file_read(GW_TEST_GOAL_CASES, &text, &length, &error));
    char *rest = text;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        char *expected = strstr(line, " => ");
        if (line[0] == '@') {
            parameters = parameters_of(line + strspn(line, "@ "));
        } else if (expected != NULL && line[0] != '%') {
            *expected = '\0';
            expected += strlen(" => ");
            bool is_right = try_case(*state, &parameters, unescape(line), expected);
            if (!is_right) {
                print_error("%s\n  expected %s, got %s\n", line, expected, error.message);
            }
            wrong += !is_right;
            tried++;
        }
    }
    free(text);
    assert_int_equal(wrong, 0);
    assert_true(tried > 100);
}

/* The file that would name lines is gone. */
TEST_IN_FOLDER(a_lost_file_is_reported) {
    static const char text[] = "num_ranks 1\nrank 0 {\na: calc 1\na requires a\n}\n";
    const struct gw_loggops parameters = parameters_of(NULL);
    struct gw_goal goal;
    struct gw_goal_result result;
    assert_ok(read_goal_text(text, strlen(text), "f", &goal, &error));
    assert_int_equal(gw_goal_run(&goal, &parameters, path_in(*state, "none.goal"), &result, &error),
                     GW_BAD_INPUT);
    assert_non_null(strstr(error.message, "none.goal"));
    assert_null(result.finish_ns);
    gw_goal_free(&goal);
}
