/* Pictures of a question and of trainings: each is drawn, and has in its data what other verbs say.
 */
#include <math.h>

#include "tests/cli/program.h"
#include "tests/test.h"

#define ASKED "resnet50 --cluster box-4x1gbit "

/* Draws that kind with its data, which are returned without their headings. */
static const char *draw(const char *folder, const char *what) {
    char command[256];
    need_gnuplot();
    (void)snprintf(command, sizeof command, "gradweave plot %s --out p.png --data p.csv --force",
                   what);
    (void)check_says(folder, command, NULL);
    check_png(folder, "p.png");
    const char *text = read_text(folder, "p.csv");
    assert_true(text[0] == '#');
    return strchr(text, '\n') + 1;
}

static size_t count_lines(const char *text) {
    size_t lines = 0;
    for (; *text != '\0'; text++) {
        lines += *text == '\n';
    }
    return lines;
}

/* The number in that place of a line, the first being 0. */
static double number_in(const char *line, int place) {
    for (; place > 0; place--) {
        line = strchr(line, ',') + 1;
    }
    return strtod(line, NULL);
}

static const char *next_line(const char *line) {
    return strchr(line, '\n') + 1;
}

TEST_IN_FOLDER(a_timeline_ends_with_its_iteration) {
    const char *line = draw(*state, "timeline " ASKED "--algo omgs");
    double end_s = 0;
    for (; *line != '\0'; line = next_line(line)) {
        end_s = fmax(end_s, number_in(line, 4));
    }
    cJSON *result = ask_document(
        *state, "gradweave simulate " ASKED "--algo omgs --no-interference --json", NULL);
    assert_true(near(end_s, number_at(result, "iteration_s"), 1e-6));
}

TEST_IN_FOLDER(a_plan_has_each_tensor_in_its_group) {
    const char *line = draw(*state, "plan " ASKED "--algo mgs");
    cJSON *plan = ask_document(*state, "gradweave plan " ASKED "--policy threshold:8192 --json",
                               "gradweave/plan@1");
    double elements = 0;
    double last = -1;
    assert_int_equal(count_lines(line), 161);
    for (; *line != '\0'; line = next_line(line)) {
        assert_true(number_in(line, 1) == last || number_in(line, 1) == last + 1);
        last = number_in(line, 1);
        elements += number_in(line, 3);
    }
    assert_true(elements == 25557032);
    assert_true(last + 1 == cJSON_GetArraySize(item_at(plan, "groups")));
}

TEST_IN_FOLDER(scaling_map_and_front_are_of_the_report) {
    cJSON *report = ask_document(*state, "gradweave report " ASKED "--json", NULL);
    const char *line = draw(*state, "scaling " ASKED);
    const cJSON *first = cJSON_GetArrayItem(item_at(report, "scaling"), 0);
    double best_s = cJSON_GetArrayItem(item_at(first, "iteration_s"), 0)->valuedouble;
    assert_int_equal(count_lines(line), cJSON_GetArraySize(item_at(report, "scaling")));
    assert_true(number_in(line, 0) == number_at(first, "workers"));
    assert_true(near(number_in(line, 1), 0.18 / best_s, 1e-5));
    line = draw(*state, "crossover " ASKED);
    const cJSON *speedups = item_at(report, "map.speedups");
    assert_int_equal(count_lines(line), 13 * 7);
    assert_true(near(number_in(line, 0), 0.1, 1e-6) && near(number_in(line, 1), 1e-4, 1e-6));
    assert_true(near(number_in(line, 4),
                     cJSON_GetArrayItem(cJSON_GetArrayItem(speedups, 0), 0)->valuedouble, 1e-6));
    line = draw(*state, "front " ASKED);
    const cJSON *result = NULL;
    assert_int_equal(count_lines(line), cJSON_GetArraySize(item_at(report, "advice.results")));
    double most = 0;
    cJSON_ArrayForEach(result, item_at(report, "advice.results")) {
        const cJSON *kept = item_at(result, "energy_kept"); /* that of factors is not known */
        double energy = cJSON_IsNull(kept) ? 0 : number_at(result, "energy_kept");
        assert_true(near(number_in(line, 1), 1e3 * number_at(result, "iteration_s"), 1e-6));
        assert_true((number_in(line, 4) > 0) == (energy > most));
        most = fmax(most, energy);
        line = next_line(line);
    }
}

#define MIXED "resnet50 --cluster p102-1gbe-16 --choices dense,topk:0.01 "

/* Each point is the plan that keeps as much; the last keeps all and is dense. */
TEST_IN_FOLDER(front_of_mixed_plans_is_of_plans_within_limits) {
    char command[256];
    const char *line = draw(*state, "front " MIXED);
    double last_s = 0;
    double last = 0;
    assert_true(count_lines(line) > 15);
    for (size_t i = 0; *line != '\0'; line = next_line(line), i++) {
        double kept = number_in(line, 0);
        double iteration_s = number_in(line, 1);
        assert_true(kept > last && iteration_s >= last_s);
        assert_true(number_in(line, 2) <= iteration_s && number_in(line, 2) > 0.99 * iteration_s);
        if (i % 8 == 1) {
            (void)snprintf(command, sizeof command,
                           "gradweave plan " MIXED "--policy optimal --keep %.12g --json",
                           kept * (1 - 1e-8));
            cJSON *plan = ask_document(*state, command, NULL);
            assert_true(near(number_at(plan, "iteration_s"), iteration_s, 1e-8));
        }
        last = kept;
        last_s = iteration_s;
    }
    assert_true(near(last, 1, 1e-9));
}

/* Numbers alone need no gnuplot, and are those of the picture. */
TEST_IN_FOLDER(numbers_need_no_gnuplot) {
    char *drawn = strdup(draw(*state, "plan " ASKED "--algo mgs"));
    char *path = strdup(getenv("PATH"));
    assert_int_equal(setenv("PATH", *state, 1), 0);
    (void)check_says(*state, "gradweave plot plan " ASKED "--algo mgs --data alone.csv", NULL);
    struct answer answer =
        ask(*state, "gradweave plot plan " ASKED "--algo mgs --out none.png --data none.csv");
    assert_int_equal(setenv("PATH", path, 1), 0);
    assert_string_equal(strchr(read_text(*state, "alone.csv"), '\n') + 1, drawn);
    assert_int_equal(answer.status, 3);
    assert_non_null(strstr(answer.err, "without --out needs none"));
    assert_null(strstr(list_files(*state), "none"));
    free(drawn);
    free(path);
}
