/* `report`: one page that needs nothing else, with the numbers that other verbs have. */
#include <math.h>

#include "tests/cli/program.h"
#include "tests/test.h"

#define ASKED "resnet50 --gpu a100 --nodes 8 --network 10gbit "

/* The text between two texts, the first of their kind. */
static char *cut(const char *text, const char *from, const char *to) {
    const char *start = strstr(text, from);
    assert_non_null(start);
    start += strlen(from);
    const char *end = strstr(start, to);
    assert_non_null(end);
    return strndup(start, (size_t)(end - start));
}

static cJSON *data_of(const char *page) {
    char *data = cut(page, "<script type=\"application/json\" id=\"data\">", "</script>");
    cJSON *document = parse_document(data, "gradweave/report@1");
    free(data);
    return document;
}

/* ---- the page -------------------------------------------------------------------------------- */

/* All addresses in it are of the page itself, but for the name of SVG's namespace. */
static void check_addresses(const char *page) {
    static const char *const asks[] = {"src=",   "url(",    "@import",
                                       "fetch(", "XMLHttp", "<link rel=\"s"};
    static const char space[] = "http://www.w3.org/2000/svg";
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        assert_null(strstr(page, asks[i]));
    }
    for (const char *at = strstr(page, "href="); at != NULL; at = strstr(at + 1, "href=")) {
        assert_true(strncmp(at, "href=\"#", 7) == 0 || strncmp(at, "href=\"data:", 11) == 0);
    }
    for (const char *at = strstr(page, "://"); at != NULL; at = strstr(at + 1, "://")) {
        assert_true(at - page >= 4 && strncmp(at - 4, space, sizeof space - 1) == 0);
    }
}

TEST_IN_FOLDER(a_page_needs_nothing_else) {
    enum { MOST_BYTES = 2 << 20 };
    check_says(*state, "gradweave report " ASKED "--out page.html", NULL);
    const char *page = read_text(*state, "page.html");
    assert_true(strlen(page) < MOST_BYTES);
    assert_true(strncmp(page, "<!DOCTYPE html>", 15) == 0);
    assert_null(strstr(page, "{{"));
    cJSON *document = data_of(page);
    char *data = cut(page, "id=\"data\">", "</script>");
    char *rest = strdup(page);
    *strstr(rest, "<script type=\"application/json\"") = '\0';
    check_addresses(rest);
    check_addresses(strstr(page, "</script>"));
    assert_null(strchr(data, '<'));
    assert_true(cJSON_Compare(
        document, ask_document(*state, "gradweave report " ASKED "--out page.html --json", NULL),
        1));
    free(data);
    free(rest);
}

/* A name may be text that would end a script, or begin another. */
TEST_IN_FOLDER(names_are_no_markup) {
    static const char name[] = "</script><script>alert(1)</script>";
    write_text(*state, "sizes.txt", "</script><b> 3 3\nlast 9\n");
    (void)ask_document(*state,
                       "gradweave model import sizes.txt --backward 45ms --out model.json --json "
                       "--name </script><script>alert(1)</script>",
                       NULL);
    check_says(*state, "gradweave report model.json --cluster box-4x1gbit --out page.html", NULL);
    const char *page = read_text(*state, "page.html");
    assert_null(strstr(page, name));
    assert_null(strstr(page, "<b>"));
    assert_string_equal(text_at(item_at(data_of(page), "model"), "name"), name);
}

/* ---- its numbers ----------------------------------------------------------------------------- */

/* The pipeline in that place of the ranking, as `simulate` takes it. */
enum { NAME_SIZE = 96 };
static void name_pipeline(const cJSON *report, const cJSON *place, char out[NAME_SIZE]) {
    const cJSON *result = cJSON_GetArrayItem(item_at(report, "advice.results"), place->valueint);
    const cJSON *policy = cJSON_GetObjectItem(cJSON_GetObjectItem(result, "changed"), "policy");
    (void)snprintf(out, NAME_SIZE, "model.json --algo %s%s%s", text_at(result, "algorithm"),
                   policy == NULL ? "" : " --policy ", policy == NULL ? "" : policy->valuestring);
}

static double simulated_s(const char *folder, const char *pipeline, const char *change) {
    char command[256];
    (void)snprintf(command, sizeof command,
                   "gradweave simulate %s --cluster cluster.json %s --json", pipeline, change);
    return number_at(ask_document(folder, command, NULL), "iteration_s");
}

/* Checks each shown pipeline by another command for the same. */
static void check_shown(const char *folder, const cJSON *report, const cJSON *times,
                        const char *change) {
    const cJSON *timeline = NULL;
    int i = 0;
    cJSON_ArrayForEach(timeline, item_at(report, "timelines")) {
        char pipeline[NAME_SIZE];
        name_pipeline(report, item_at(timeline, "place"), pipeline);
        double expected_s = simulated_s(folder, pipeline, change);
        double got_s = cJSON_GetNumberValue(cJSON_GetArrayItem(times, i++));
        if (!(fabs(got_s / expected_s - 1) < 1e-9)) {
            fail_msg("%s %s: %g s, expected %g s", pipeline, change, got_s, expected_s);
        }
    }
    assert_true(i > 1);
}

static void make_files(const char *folder) {
    (void)ask_document(folder, "gradweave model make resnet50 --gpu a100 --out model.json --json",
                       NULL);
    (void)ask_document(folder,
                       "gradweave cluster make --nodes 8 --network 10gbit --gpu a100 --out "
                       "cluster.json --json",
                       NULL);
}

TEST_IN_FOLDER(other_workers_and_changes_are_what_simulate_says) {
    make_files(*state);
    cJSON *report =
        ask_document(*state, "gradweave report model.json --cluster cluster.json --json", NULL);
    const cJSON *one = NULL;
    double before = 1;
    cJSON_ArrayForEach(one, item_at(report, "scaling")) {
        char change[64];
        double workers = number_at(one, "workers");
        assert_true(workers > before);
        before = workers;
        (void)snprintf(change, sizeof change, "--workers %.0f", workers);
        (void)strcat(change, " --density 0.01");
        if (workers == 2 || workers == 64) {
            check_shown(*state, report, item_at(one, "iteration_s"), change);
        }
    }
    assert_true(before == 256);
    cJSON_ArrayForEach(one, item_at(report, "changes")) {
        char change[64] = "";
        double factor = number_at(one, "factor");
        if (strcmp(text_at(one, "name"), "bandwidth") == 0) {
            (void)snprintf(change, sizeof change, "--bandwidth %gx --density 0.01", factor);
        } else if (strcmp(text_at(one, "name"), "density") == 0) {
            (void)snprintf(change, sizeof change, "--density %g", 0.01 * factor);
        }
        if (change[0] != '\0') {
            check_shown(*state, report, item_at(one, "iteration_s"), change);
        }
    }
}

/* The fastest at a corner of the map is so by `compare`, of those that may be recommended. */
TEST_IN_FOLDER(a_map_has_the_fastest) {
    make_files(*state);
    cJSON *report =
        ask_document(*state, "gradweave report model.json --cluster cluster.json --json", NULL);
    const cJSON *map = item_at(report, "map");
    int last_density = cJSON_GetArraySize(item_at(map, "densities")) - 1;
    int last_bandwidth = cJSON_GetArraySize(item_at(map, "bandwidths")) - 1;
    assert_true(near(cJSON_GetArrayItem(item_at(map, "bandwidths"), 0)->valuedouble, 0.1, 1e-9));
    assert_true(
        near(cJSON_GetArrayItem(item_at(map, "densities"), last_density)->valuedouble, 0.1, 1e-9));
    for (int corner = 0; corner < 4; corner++) {
        int d = corner / 2 * last_density, b = corner % 2 * last_bandwidth;
        const cJSON *place = cJSON_GetArrayItem(cJSON_GetArrayItem(item_at(map, "fastest"), d), b);
        const cJSON *speedup =
            cJSON_GetArrayItem(cJSON_GetArrayItem(item_at(map, "speedups"), d), b);
        char pipeline[NAME_SIZE];
        char change[64];
        name_pipeline(report, place, pipeline);
        (void)snprintf(change, sizeof change, "--bandwidth %sx --density %s", b == 0 ? "0.1" : "10",
                       d == 0 ? "1e-4" : "0.1");
        double fastest_s = simulated_s(*state, pipeline, change);
        double dense_s = fmin(simulated_s(*state, "model.json --algo ddp", change),
                              simulated_s(*state, "model.json --algo mg-wfbp", change));
        assert_true(near(speedup->valuedouble, dense_s / fastest_s, 1e-6));
        assert_true(simulated_s(*state, "model.json --algo topk", change) >=
                    fastest_s * (1 - 1e-9));
        assert_true(simulated_s(*state, "model.json --algo omgs", change) >=
                    fastest_s * (1 - 1e-9));
    }
}

/* Spans of both streams cover what the iteration takes, and each is in it. */
TEST_IN_FOLDER(timelines_are_of_their_iterations) {
    cJSON *report = ask_document(*state, "gradweave report " ASKED "--json", NULL);
    const cJSON *timeline = NULL;
    const cJSON *span = NULL;
    cJSON_ArrayForEach(timeline, item_at(report, "timelines")) {
        const cJSON *result = cJSON_GetArrayItem(item_at(report, "advice.results"),
                                                 item_at(timeline, "place")->valueint);
        double end_s = 0;
        cJSON_ArrayForEach(span, item_at(timeline, "spans")) {
            assert_true(number_at(span, "start_s") <= number_at(span, "end_s"));
            end_s = fmax(end_s, number_at(span, "end_s"));
        }
        assert_true(near(end_s, number_at(result, "iteration_s"), 1e-9));
    }
}

/* ---- what else it takes, and what it refuses ------------------------------------------------- */

#define VALIDATION                                                                                 \
    "{'schema': 'gradweave/validation@1', 'model': 'm', 'workers': 4, 'complete': true, "          \
    "'results': [{'algorithm': 'topk', 'predicted': {'iteration_s': 2, 'breakdown': "              \
    "{'forward_s': 1, 'backward_s': 0.5, 'compress_s': 0.25, 'exposed_comm_s': 0.25}}, "           \
    "'measured': {'iteration_s': 2.5, 'breakdown': {'forward_s': 1, 'backward_s': 0.5, "           \
    "'compress_s': 0.5, 'exposed_comm_s': 0.5}}, 'error': -0.2}]}"
#define ACCURACY                                                                                   \
    "{'schema': 'gradweave/accuracy@1', 'model': 'm', 'goal': 0.9, 'judged_every': 20, "           \
    "'trainings': [{'algorithm': 'topk', 'density': 0.01, 'workers': 4, 'iterations': [120, "      \
    "140, null]}]}"

/* A validation of the page's question, in which two pipelines took so long. */
#define MEASURED                                                                                   \
    "{'schema': 'gradweave/validation@1', 'model': 'resnet50', 'cluster': '8-10gbit', "            \
    "'workers': 8, 'density': 0.01, 'complete': true, 'results': [" TOOK ", " TOOK "]}"
#define TOOK                                                                                       \
    "{'algorithm': '%s', 'predicted': {'iteration_s': 2, 'breakdown': {'forward_s': 1, "           \
    "'backward_s': 0.5, 'compress_s': 0.25, 'exposed_comm_s': 0.25}}, 'measured': "                \
    "{'iteration_s': %g, 'breakdown': {'forward_s': 0.01, 'backward_s': 0.01, 'compress_s': "      \
    "0.01, 'exposed_comm_s': 0.01}}, 'error': 0}"

static cJSON *report_measured(const char *folder, const char *first, double first_s,
                              const char *second, double second_s) {
    char text[2048];
    (void)snprintf(text, sizeof text, MEASURED, first, first_s, second, second_s);
    write_text(folder, "measured.json", text);
    return ask_document(folder, "gradweave report " ASKED "--validation measured.json --json",
                        NULL);
}

/* The page says what came first of what was measured, and has one prediction of each pipeline,
 * whatever a file of measurements says. */
TEST_IN_FOLDER(measurements_of_the_question_are_said) {
    cJSON *report = report_measured(*state, "topk", 0.3, "mgs", 0.4);
    const cJSON *results = item_at(report, "advice.results");
    int place = (int)number_at(report, "measurements.first");
    const cJSON *result = cJSON_GetArrayItem(results, place);
    assert_string_equal(text_at(result, "algorithm"), "topk");
    assert_true(number_at(report, "measurements.first_s") == 0.3);
    assert_true(number_at(report, "measurements.count") == 2);
    const cJSON *pair = cJSON_GetArrayItem(item_at(report, "validation.results"), 0);
    double iteration_s = number_at(result, "iteration_s");
    assert_true(near(number_at(pair, "predicted.iteration_s"), iteration_s, 1e-12));
    assert_true(near(number_at(pair, "error"), iteration_s / 0.3 - 1, 1e-9));
    assert_true(number_at(pair, "predicted.iteration_low_s") < iteration_s);
    assert_true(number_at(pair, "predicted.iteration_high_s") > iteration_s);
    double parts_s = 0;
    const cJSON *part = NULL;
    cJSON_ArrayForEach(part, item_at(pair, "predicted.breakdown")) {
        parts_s += part->valuedouble;
    }
    assert_true(near(parts_s, iteration_s, 1e-9));
}

TEST_IN_FOLDER(validations_and_trainings_stand_beside_it) {
    write_text(*state, "validation.json", VALIDATION);
    write_text(*state, "accuracy.json", ACCURACY);
    cJSON *report = ask_document(*state,
                                 "gradweave report " ASKED "--validation validation.json "
                                 "--accuracy accuracy.json --json",
                                 NULL);
    cJSON *validation = parse_document(read_text(*state, "validation.json"), NULL);
    assert_true(cJSON_Compare(item_at(report, "validation"), validation, 1));
    const cJSON *trainings =
        cJSON_GetArrayItem(item_at(item_at(report, "accuracy"), "trainings"), 0);
    assert_true(number_at(trainings, "reached") == 2 && number_at(trainings, "count") == 3);
    assert_true(number_at(trainings, "iterations") == 140);
    assert_true(cJSON_IsNull(item_at(trainings, "high")));
}
