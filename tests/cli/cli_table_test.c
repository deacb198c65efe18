/*
 * The commands of answers.txt and of refusals.txt: with which status they end, what they print,
 * write and draw, and that refusals leave all files alone.
 */
#include <ctype.h>
#include <sys/stat.h>

#include "tests/cli/program_inputs.h"
#include "tests/cli/refusals.h"
#include "tests/test.h"

#define TINY "tiny.json --cluster small.json"

/* ---- tables -------------------------------------------------------------------------------- */

/* Cuts the text at its first arrow, and returns what follows it; NULL: it has none. */
static char *cut_at_arrow(char *text) {
    char *arrow = strstr(text, " =>");
    if (arrow == NULL) {
        return NULL;
    }
    *arrow = '\0';
    return arrow + strlen(" =>") + (arrow[3] == ' ');
}

/* Turns \n into the end of a line and \e into an escape, in place. */
static void unescape(char *text) {
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        bool is_escape = from[0] == '\\' && (from[1] == 'n' || from[1] == 'e');
        *to++ = (char)(!is_escape ? *from : from[1] == 'n' ? '\n' : '\033');
        from += is_escape;
    }
    *to = '\0';
}

/* Checks the line of a command; `parts` is what follows its first arrow, or NULL. */
typedef bool command_check(const char *folder, char *command, char *parts, int status);

/* Checks each line of a section, and returns their number; the test fails if any is wrong. */
static size_t check_section(const char *folder, const char *path, const char *section,
                            command_check *check, int status) {
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
            wrong += !check(folder, line, parts, status);
        }
    }
    assert_int_equal(wrong, 0);
    return lines;
}

/* ---- refusals.txt -------------------------------------------------------------------------- */

static bool check_refusal(const char *folder, char *command, char *message, int status) {
    const struct refusal refusal = {.command = command, .message = message};
    unescape(command);
    unescape(message);
    return is_refused(folder, "gradweave", &refusal, status);
}

/* The program starts no other program here. */
TEST(refuses_wrong_usage_and_bad_input) {
    char *path = strdup(getenv("PATH"));
    assert_int_equal(setenv("PATH", "", 1), 0);
    assert_true(check_section(*state, GW_TEST_REFUSALS, "[status 2]", check_refusal, 2) > 300);
    assert_true(check_section(*state, GW_TEST_REFUSALS, "[status 3]", check_refusal, 3) > 20);
    assert_int_equal(setenv("PATH", path, 1), 0);
    free(path);
}

/* A list is whole or is not printed, also if the file that is broken comes late. */
TEST(refuses_broken_data) {
    static const char *const lists[] = {"list", "list --json", "list models"};
    const char *folder = *state;
    assert_int_equal(mkdir(path_in(folder, "data"), 0777), 0);
    assert_int_equal(mkdir(path_in(folder, "data/models"), 0777), 0);
    write_text(folder, "data/models/able.json", tiny_model);
    write_text(folder, "data/models/broken.json",
               "{'schema': 'gradweave/model@1', 'name': 'm', 'forward_s': 1}");
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct refusal refusal = {lists[i], "data/models/broken.json: tensors: expected"};
        assert_true(is_refused(folder, "/usr/bin/env GRADWEAVE_DATA=data gradweave", &refusal, 2));
    }
    (void)unlink(path_in(folder, "data/models/able.json"));
    (void)unlink(path_in(folder, "data/models/broken.json"));
    (void)rmdir(path_in(folder, "data/models"));
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
            fail_msg("%s: status %d, stderr: %s\n", commands[i], answer.status, answer.err);
        }
    }
}

/* ---- answers.txt --------------------------------------------------------------------------- */

/*
 * The item at a path such as ".rows.0.value", "." being all; NULL: there is none. Cuts the path.
 * *holder, if asked for, is what would hold the path's last key, or NULL.
 */
static const cJSON *find_item(const cJSON *document, char *path, const cJSON **holder) {
    const cJSON *item = document;
    const cJSON *above = NULL;
    for (path++; path != NULL && *path != '\0';) {
        const char *key = strsep(&path, ".");
        above = item;
        item = isdigit((unsigned char)key[0]) && cJSON_IsArray(item)
                   ? cJSON_GetArrayItem(item, atoi(key))
                   : cJSON_GetObjectItemCaseSensitive(item, key);
    }
    if (holder != NULL) {
        *holder = above;
    }
    return item;
}

/* A sum, or with `is_product` a product, of numbers, paths of numbers and sums in brackets. */
static double evaluate(const cJSON *document, char **at, bool is_product) {
    char sign = is_product ? '*' : '+';
    double value = is_product ? 1 : 0;
    for (;;) {
        double term = 0;
        *at += strspn(*at, " ");
        if (!is_product) {
            term = evaluate(document, at, true);
        } else if (**at == '(') {
            ++*at;
            term = evaluate(document, at, false);
            *at += **at == ')';
        } else if (**at == '.') {
            char path[200];
            size_t length = strcspn(*at, " )");
            (void)snprintf(path, sizeof path, "%.*s", (int)length, *at);
            const cJSON *item = find_item(document, path, NULL);
            term = cJSON_IsArray(item) ? cJSON_GetArraySize(item) : cJSON_GetNumberValue(item);
            *at += length;
        } else {
            term = strtod(*at, at);
        }
        value = sign == '*'   ? value * term
                : sign == '/' ? value / term
                : sign == '-' ? value - term
                              : value + term;
        *at += strspn(*at, " ");
        if (**at == '\0' || strchr(is_product ? "*/" : "+-", **at) == NULL) {
            return value;
        }
        sign = *(*at)++;
    }
}

/* Compares numbers by "=", "=TOLERANCE", "!=", "<" or ">"; never holds with a NaN. */
static bool compare_numbers(double value, const char *sign, double number) {
    if (isnan(value) || isnan(number)) {
        return false;
    }
    if (sign[0] == '=') {
        char *end = NULL;
        double tolerance = sign[1] == '\0' ? 1e-12 : strtod(sign + 1, &end);
        return (end == NULL || *end == '\0') && near(value, number, tolerance);
    }
    return strcmp(sign, "!=") == 0  ? value != number
           : strcmp(sign, "<") == 0 ? value < number
                                    : strcmp(sign, ">") == 0 && value > number;
}

/* Whether ".PATH SIGN VALUE" holds; see answers.txt. */
static bool holds(const char *folder, const cJSON *document, char *part) {
    const cJSON *holder = NULL;
    const cJSON *item = find_item(document, strsep(&part, " "), &holder);
    const char *sign = strsep(&part, " ");
    if (part == NULL || part[0] == '\0') {
        return false;
    }
    char *of = strchr(".(", part[0]) == NULL ? NULL : strstr(part, " of ");
    if (of != NULL) {
        *of = '\0';
        document = ask_for(folder, NULL, "gradweave %s", of + strlen(" of "));
    }
    bool is_equal = strcmp(sign, "=") == 0;
    if (item == NULL) {
        return is_equal && holder != NULL && strcmp(part, "none") == 0;
    }
    bool is_size = strcmp(sign, "has") == 0 && (cJSON_IsArray(item) || cJSON_IsObject(item));
    if (is_size ||
        (cJSON_IsNumber(item) && strcmp(part, "none") != 0 && strcmp(part, "null") != 0)) {
        double value = is_size ? cJSON_GetArraySize(item) : item->valuedouble;
        double number = evaluate(document, &part, false);
        return *part == '\0' && compare_numbers(value, is_size ? "=" : sign, number);
    }
    if (!is_equal && strcmp(sign, "!=") != 0) {
        return false;
    }
    if (part[0] == '.') {
        const cJSON *other = find_item(document, part, NULL);
        return other != NULL && (cJSON_Compare(item, other, true) != 0) == is_equal;
    }
    const char *text = cJSON_IsNull(item)     ? "null"
                       : cJSON_IsTrue(item)   ? "true"
                       : cJSON_IsFalse(item)  ? "false"
                       : cJSON_IsString(item) ? item->valuestring
                                              : "";
    return (strcmp(text, part) == 0) == is_equal;
}

/* Whether a part is right; *from is what follows the part before in the output. */
static bool is_right(const char *folder, const struct answer *answer, char *part,
                     const char **from) {
    if (part[0] == '!') {
        return strstr(answer->out, part + 1) == NULL;
    }
    if (strncmp(part, "== ", 3) == 0) {
        return strcmp(answer->out, ask(folder, "gradweave %s", part + 3).out) == 0;
    }
    if (strncmp(part, "2> ", 3) == 0) {
        return strstr(answer->err, part + 3) != NULL;
    }
    if (part[0] == '@') {
        char *text = strchr(part, ' ');
        *text = '\0';
        bool is_absent = text[1] == '!';
        return (strstr(read_text(folder, part + 1), text + 1 + is_absent) == NULL) == is_absent;
    }
    if (part[0] == '.' && part[strcspn(part, " ")] == ' ') {
        return holds(folder, parse_document(answer->out, NULL), part);
    }
    const char *found = strstr(*from, part);
    *from = found == NULL ? *from : found + strlen(part);
    return found != NULL;
}

static bool check_answer(const char *folder, char *command, char *part, int status) {
    struct answer answer = ask(folder, "gradweave %s", command);
    const char *from = answer.out;
    bool is_good = answer.status == status &&
                   (answer.err[0] == '\0' || (part != NULL && strstr(part, "2> ") != NULL));
    if (strstr(answer.out, "{\n\t\"schema\":\t\"gradweave/result@1\"") == answer.out) {
        check_times(parse_document(answer.out, NULL));
    }
    while (part != NULL && is_good) {
        char *next = cut_at_arrow(part);
        char *said = strdup(part);
        unescape(part);
        is_good = is_right(folder, &answer, part, &from);
        if (!is_good) {
            print_error("not so: %s\n", said);
        }
        free(said);
        part = next;
    }
    if (!is_good) {
        print_error("gradweave %s\n  status %d, stderr: %s\n  stdout: %s\n", command, answer.status,
                    answer.err, answer.out);
    }
    return is_good;
}

TEST(parts_hold_or_not) {
    static const char *const parts[] = {
        /* parts that do not hold */
        ".n = 2.00000001;.n != 2;.n > 2;.n < 2;.n ~ 2;.n <= 3;.n =x 2;.n = text;.n;.n =;"
        ".n != .nosuch;.n < .nosuch;.n != .s;.n = none;.n has 0;.nosuch != none;"
        ".nosuch != 1;.nosuch has 0;.nosuch = null;.nosuch = .nosuch;.nosuch.1 = none;"
        ".s != text;.s > none;.s = none;.s != .nosuch;.s =1e-6 text;.no != null;.no > null;"
        ".no = none;.yes = false;.yes = words;.yes != true;.list = text;.list != .list;"
        ".list has two;.s has 4;.list has 1",
        /* parts that hold */
        ".n = 2;.n != 3;.n < 2.5;.n > 1 + 0.5;.n =1e-3 2.001;.n = .list.1;.n != none;"
        ".s = text;.s != words;.s != none;.no = null;.no != none;.yes = true;.yes != false;"
        ".list has 2;.nosuch = none;.list.2 = none;.list = .list;.list != .same;.n != null"};
    const cJSON *document = parse_document(
        "{\"n\":2,\"s\":\"text\",\"no\":null,\"yes\":true,\"list\":[1,2],\"same\":[1,3]}", NULL);
    for (size_t is_held = 0; is_held < 2; is_held++) {
        char *list = strdup(parts[is_held]);
        char *rest = list;
        for (char *part = strsep(&rest, ";"); part != NULL; part = strsep(&rest, ";")) {
            char *said = strdup(part);
            if (holds(*state, document, part) != is_held) {
                fail_msg("%s: expected that it %s", said, is_held ? "holds" : "does not hold");
            }
            free(said);
        }
        free(list);
    }
}

TEST(answers_have_their_parts) {
    assert_true(check_section(*state, GW_TEST_ANSWERS, "[answers]", check_answer, 0) > 200);
    assert_true(check_section(*state, GW_TEST_ANSWERS, "[status 1]", check_answer, 1) > 10);
    assert_true(check_section(*state, GW_TEST_ANSWERS, "[status 2]", check_answer, 2) > 5);
}

TEST(pictures_have_their_parts) {
    need_gnuplot();
    assert_true(check_section(*state, GW_TEST_ANSWERS, "[pictures]", check_answer, 0) > 20);
}

/* For the sections "[files]": writes the file NAME => TEXT. */
static bool write_listed_file(const char *folder, char *name, char *text, int status) {
    (void)status;
    unescape(text);
    write_text(folder, name, text);
    return true;
}

static int make_listed_inputs(void **state) {
    if (make_inputs(state) != 0) {
        return -1;
    }
    (void)check_section(*state, GW_TEST_ANSWERS, "[files]", write_listed_file, 0);
    (void)check_section(*state, GW_TEST_REFUSALS, "[files]", write_listed_file, 0);
    return mkdir(path_in(*state, "folder.json"), 0777);
}

FIXTURES(make_listed_inputs, remove_folder)
