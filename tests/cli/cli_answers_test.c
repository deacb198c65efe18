/*
 * Answers of answers.txt: commands that succeed without a word on stderr, and what they print,
 * write and draw. Of a result in JSON the parts of its time add up.
 */
#include <ctype.h>

#include "tests/cli/command_table.h"
#include "tests/cli/program_inputs.h"
#include "tests/test.h"

/* Whether the value at the path is this number, text, "null", or there is "none". */
static bool has_value(const cJSON *document, char *path, const char *expected, double relative) {
    const cJSON *item = document;
    for (char *key = strsep(&path, "."); key != NULL && item != NULL; key = strsep(&path, ".")) {
        item = isdigit((unsigned char)key[0]) && cJSON_IsArray(item)
                   ? cJSON_GetArrayItem(item, atoi(key))
                   : cJSON_GetObjectItemCaseSensitive(item, key);
    }
    char *end = NULL;
    double number = strtod(expected, &end);
    if (item == NULL || cJSON_IsNull(item)) {
        return strcmp(expected, item == NULL ? "none" : "null") == 0;
    }
    return cJSON_IsNumber(item) ? *end == '\0' && near(item->valuedouble, number, relative)
                                : cJSON_IsString(item) && strcmp(item->valuestring, expected) == 0;
}

/*
 * Whether a part is right: "TEXT" in the output behind *from, "!TEXT" nowhere in the output,
 * ".PATH = VALUE" in its JSON (to 1e-9, with ~ to 1e-6), "@FILE TEXT" or "@FILE !TEXT" in that
 * file.
 */
static bool is_right(const char *folder, const char *out, char *part, const char **from) {
    if (part[0] == '!') {
        return strstr(out, part + 1) == NULL;
    }
    if (part[0] == '@') {
        char *text = strchr(part, ' ');
        *text = '\0';
        bool is_absent = text[1] == '!';
        return (strstr(read_text(folder, part + 1), text + 1 + is_absent) == NULL) == is_absent;
    }
    if (part[0] == '.' && strpbrk(part, "=~") != NULL) {
        char *sign = strpbrk(part, "=~");
        double relative = *sign == '=' ? 1e-9 : 1e-6;
        sign[-1] = '\0';
        return has_value(parse_document(out, NULL), part + 1, sign + 2, relative);
    }
    const char *found = strstr(*from, part);
    *from = found == NULL ? *from : found + strlen(part);
    return found != NULL;
}

static bool check_answer(const char *folder, char *command, char *part, int status) {
    struct answer answer = ask(folder, "gradweave %s", command);
    const char *from = answer.out;
    bool is_wrong = answer.status != status || answer.err[0] != '\0';
    if (strstr(answer.out, "{\n\t\"schema\":\t\"gradweave/result@1\"") == answer.out) {
        check_times(parse_document(answer.out, NULL));
    }
    while (part != NULL && !is_wrong) {
        char *next = cut_at_arrow(part);
        unescape_line_ends(part);
        is_wrong = !is_right(folder, answer.out, part, &from);
        if (is_wrong) {
            print_error("not there: %s\n", part);
        }
        part = next;
    }
    if (is_wrong) {
        print_error("gradweave %s\n  status %d, stderr: %s\n  stdout: %s\n", command, answer.status,
                    answer.err, answer.out);
    }
    return is_wrong;
}

static bool check_good(const char *folder, char *command, char *parts) {
    return check_answer(folder, command, parts, 0);
}

static bool check_odd(const char *folder, char *command, char *parts) {
    return check_answer(folder, command, parts, 1);
}

TEST(answers_have_their_parts) {
    assert_true(check_section(*state, GW_TEST_ANSWERS, "[answers]", check_good) > 100);
}

TEST(answers_that_say_no_have_their_parts) {
    assert_true(check_section(*state, GW_TEST_ANSWERS, "[status 1]", check_odd) > 10);
}

TEST(pictures_have_their_parts) {
    need_gnuplot();
    assert_true(check_section(*state, GW_TEST_ANSWERS, "[pictures]", check_good) > 20);
}

static int make_listed_inputs(void **state) {
    return make_inputs(state) != 0 ||
                   check_section(*state, GW_TEST_ANSWERS, "[files]", write_listed_file) == 0
               ? -1
               : 0;
}

FIXTURES(make_listed_inputs, remove_folder)
