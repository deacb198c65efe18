/*
 * `sweep`: its points are all combinations in their order, each with what `simulate` says; the same
 * bytes come out whatever the threads.
 */
#include "tests/cli/program_inputs.h"
#include "tests/cli/refusals.h"
#include "tests/cli/sweep_support.h"
#include "tests/test.h"

/* ---- points -------------------------------------------------------------------------------- */

static const cJSON *point_at(const cJSON *sweep, int number) {
    const cJSON *point = cJSON_GetArrayItem(item_at(sweep, "points"), number);
    assert_non_null(point);
    assert_true(number_at(point, "point") == number);
    return point;
}

static void check_axes(const cJSON *point, const char *model, double workers, double density,
                       double bandwidth, double straggler, double noise, const char *algorithm) {
    const cJSON *axes = item_at(point, "axes");
    assert_string_equal(text_at(axes, "model"), model);
    assert_string_equal(text_at(axes, "cluster"), "small.json");
    assert_true(number_at(axes, "workers") == workers);
    assert_true(number_at(axes, "density") == density);
    assert_true(number_at(axes, "bandwidth") == bandwidth);
    assert_true(number_at(axes, "straggler") == straggler);
    assert_true(number_at(axes, "noise") == noise);
    assert_string_equal(text_at(axes, "algorithm"), algorithm);
    assert_int_equal(cJSON_GetArraySize(axes), 8);
}

/* Nested loops, the model's outermost. */
TEST_WITH(points_are_all_combinations_in_order, make_inputs, remove_folder) {
    static const char *const models[] = {"tiny.json", "idle-model.json"};
    static const char *const algorithms[] = {"p-sgd", "omgs", "topk"};
    const double factors[] = {1, 2.5};
    const double noises[] = {0, 0.125};
    cJSON *sweep =
        ask_document(*state,
                     "gradweave sweep --model tiny.json,idle-model.json --cluster small.json "
                     "--workers 2:8:log3 --density 0.5,0.25 --bandwidth 1x,4x --straggler 2.5,1 "
                     "--noise 0.125,0 --algo p-sgd,omgs,topk --json",
                     RESULT);
    int number = 0;
    for (int i = 0; i < 2 * 3 * 2 * 2 * 2 * 2 * 3; i++) {
        int a = i % 3;
        int n = i / 3 % 2;
        int s = i / 6 % 2;
        int b = i / 12 % 2;
        int d = i / 24 % 2;
        int w = i / 48 % 3;
        int m = i / 144;
        check_axes(point_at(sweep, number++), models[m], 2 << w, d == 0 ? 0.25 : 0.5,
                   b == 0 ? 1 : 4, factors[s], noises[n], algorithms[a]);
    }
    assert_int_equal(cJSON_GetArraySize(item_at(sweep, "points")), number);
    assert_true(number_at(sweep, "point_count") == number);
    assert_true(number_at(sweep, "infeasible_count") == 0);
}

static void check_equal(const char *folder, const char *asked, const cJSON *point) {
    cJSON *simulated = ask_result(folder, asked);
    if (!cJSON_Compare(point, simulated, 1)) {
        print_error("%s: another answer than the sweep's\n", asked);
        fail();
    }
}

static void check_refused_as(const char *folder, const char *asked, const char *reason) {
    struct answer answer = ask(folder, asked);
    if (answer.status != 2 || strstr(answer.err, reason) == NULL) {
        print_error("%s: exit status %d, expected 2 and \"%s\"\n", asked, answer.status, reason);
        fail();
    }
}

/* Every point without what tells it apart, against `simulate`. */
static void check_against_simulate(const char *folder, const char *command, const char *cluster,
                                   const char *options) {
    cJSON *sweep = ask_document(folder, command, RESULT);
    cJSON *point = NULL;
    cJSON_ArrayForEach(point, cJSON_GetObjectItem(sweep, "points")) {
        cJSON *axes = cJSON_DetachItemFromObject(point, "axes");
        char asked[512];
        int length = snprintf(asked, sizeof asked,
                              "gradweave simulate %s --cluster %s --algo %s --workers %.17g "
                              "--density %.17g --noise %.17g %s --json",
                              text_at(axes, "model"), cluster, text_at(axes, "algorithm"),
                              number_at(axes, "workers"), number_at(axes, "density"),
                              number_at(axes, "noise"), options);
        if (number_at(axes, "straggler") != 1) {
            (void)snprintf(asked + length, sizeof asked - (size_t)length, " --straggler 0:%.17g",
                           number_at(axes, "straggler"));
        }
        cJSON_DeleteItemFromObject(point, "point");
        if (cJSON_HasObjectItem(point, "reason")) {
            check_refused_as(folder, asked, text_at(point, "reason"));
        } else {
            check_equal(folder, asked, point);
        }
        cJSON_Delete(axes);
    }
}

TEST_WITH(points_are_what_simulate_says, make_inputs, remove_folder) {
    static const char faster[] =
        "{'schema': 'gradweave/cluster@1', 'name': 'small', 'workers': 4, 'collectives': {"
        "'allgather': [{'workers': 4, 'alpha_s': 0.0005, 'beta_s_per_byte': 7.5e-9}],"
        "'allreduce': [{'workers': 4, 'alpha_s': 0.0005, 'beta_s_per_byte': 5e-9}],"
        "'alltoall': [{'workers': 4, 'alpha_s': 0.0005, 'beta_s_per_byte': 2.5e-9}],"
        "'broadcast': [{'workers': 4, 'alpha_s': 0.0004, 'beta_s_per_byte': 5e-9}],"
        "'sendrecv': [{'workers': 2, 'alpha_s': 0.0002, 'beta_s_per_byte': 2.5e-9}],"
        "'gather': [{'workers': 5, 'alpha_s': 0.0008, 'beta_s_per_byte': 1e-8}],"
        "'scatter': [{'workers': 5, 'alpha_s': 0.0009, 'beta_s_per_byte': 1e-8}]},"
        "'compressors': {" EVERY_COMPRESSOR("{'fixed_s': 1e-5, 'per_element_s': 1e-9}") "}}";
    write_text(*state, "faster.json", faster);
    check_against_simulate(*state,
                           TINY " --workers 1,3,4 --density 0.01,0.3 --straggler 1,1.7 --json",
                           "small.json", "");
    check_against_simulate(*state,
                           TINY " --noise 0,0.1 --straggler 1,2 --iterations 7 --seed 5 "
                                "--algo omgs,dense --json",
                           "small.json", "--iterations 7 --seed 5");
    check_against_simulate(*state,
                           TINY " --workers 2,4 --algo dense,omgs,gtopk --policy optimal "
                                "--compressor gaussiank --json",
                           "small.json", "--policy optimal --compressor gaussiank");
    check_against_simulate(*state, TINY " --accumulate 3 --workers 1,4 --json", "small.json",
                           "--accumulate 3");
    check_against_simulate(*state, TINY " --bandwidth 4x --workers 2,4 --json", "faster.json", "");
    check_against_simulate(*state,
                           "gradweave sweep --model resnet50,lstm-ptb --cluster p102-1gbe-16 "
                           "--algo omgs,mg-wfbp --workers 16,64 --json",
                           "p102-1gbe-16", "");
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* The next cell of a line without quotes; the line goes on behind it. */
static const char *next_cell(char **rest) {
    const char *cell = strsep(rest, ",\n");
    assert_non_null(cell);
    return cell;
}

static double next_number(char **rest) {
    const char *cell = next_cell(rest);
    char *end = NULL;
    double number = strtod(cell, &end);
    assert_true(cell[0] != '\0' && *end == '\0');
    return number;
}

static void check_csv_row(char **rest, const cJSON *point, bool feasible) {
    static const char *const numbers[] = {"axes.workers", "axes.density", "axes.bandwidth",
                                          "axes.straggler", "axes.noise"};
    static const char *const figures[] = {"iterations",           "groups",
                                          "iteration_s",          "iteration_sd_s",
                                          "breakdown.forward_s",  "breakdown.backward_s",
                                          "breakdown.compress_s", "breakdown.exposed_comm_s",
                                          "breakdown.other_s",    "comm_s",
                                          "bytes_per_worker"};
    assert_true(next_number(rest) == number_at(point, "point"));
    assert_string_equal(next_cell(rest), text_at(point, "axes.model"));
    assert_string_equal(next_cell(rest), text_at(point, "axes.cluster"));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        assert_true(next_number(rest) == number_at(point, numbers[i]));
    }
    assert_string_equal(next_cell(rest), text_at(point, "axes.algorithm"));
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        if (feasible) {
            assert_true(next_number(rest) == number_at(point, figures[i]));
        } else {
            assert_string_equal(next_cell(rest), "");
        }
    }
    assert_string_equal(next_cell(rest), "");
    const char *reason = *rest;
    *rest = strchr(*rest, '\n') + 1;
    assert_true((reason[0] != '\n') == !feasible);
}

/* JSON lines are the points of --json, and the table has the same numbers. */
TEST_WITH(files_say_what_is_printed, make_inputs, remove_folder) {
    write_text(*state, "sparse.json", sparse_cluster);
    static const char sweep_of[] =
        "gradweave sweep --model tiny.json --cluster small.json,sparse.json --density 0.1,0.001 "
        "--iterations 3 --noise 0,0.1 --algo omgs,dense";
    char command[512];
    cJSON *sweep = ask_for(*state, RESULT, "%s --json", sweep_of);
    (void)snprintf(command, sizeof command, "%s --out rows.csv --out rows.jsonl", sweep_of);
    check_done(*state, command);
    char *lines = read_text(*state, "rows.jsonl");
    char *table = read_text(*state, "rows.csv");
    char *rest = lines;
    char *row = strchr(table, '\n') + 1;
    const cJSON *point = NULL;
    cJSON_ArrayForEach(point, item_at(sweep, "points")) {
        cJSON *line = parse_document(strsep(&rest, "\n"), NULL);
        assert_true(cJSON_Compare(point, line, 1));
        check_csv_row(&row, point, cJSON_GetObjectItem(point, "reason") == NULL);
    }
    assert_string_equal(rest, "");
    assert_string_equal(row, "");
}

/* ---- the same bytes ------------------------------------------------------------------------ */

#define GRID                                                                                       \
    TINY " --workers 2:64:log6 --density 1e-3:1e-1:log5 --straggler 1,2 --noise 0,0.1 "            \
         "--iterations 5"

TEST_WITH(threads_make_no_difference, make_inputs, remove_folder) {
    check_done(*state, GRID " --out one.csv --out one.jsonl --threads 1");
    check_done(*state, GRID " --out two.csv --out two.jsonl --threads 2");
    check_done(*state, GRID " --out five.csv --out five.jsonl --threads 5");
    check_same_file(*state, "one.csv", "two.csv");
    check_same_file(*state, "one.csv", "five.csv");
    check_same_file(*state, "one.jsonl", "two.jsonl");
    check_same_file(*state, "one.jsonl", "five.jsonl");
}

/* Rows with a path of thousands of characters are rows like others. */
TEST_WITH(names_may_be_long, make_inputs, remove_folder) {
    enum { STEPS = 1900 };
    char path[2 * STEPS + 16] = "";
    char job[2 * STEPS + 256];
    for (size_t i = 0; i < STEPS; i++) {
        memcpy(path + 2 * i, "./", 2);
    }
    (void)snprintf(path + (size_t)2 * STEPS, 16, "tiny.json");
    (void)snprintf(job, sizeof job,
                   "{'schema': 'gradweave/sweep-job@1', 'models': ['tiny.json', '%s'], "
                   "'clusters': 'small.json', 'algorithms': 'omgs'}",
                   path);
    write_text(*state, "long.json", job);
    check_done(*state, "gradweave sweep long.json --out long.csv --out long.jsonl");
    char *table = read_text(*state, "long.csv");
    char *lines = read_text(*state, "long.jsonl");
    assert_int_equal(count_lines(table), 3);
    assert_int_equal(count_lines(lines), 2);
    cJSON *longer = parse_document(strchr(lines, '\n') + 1, "gradweave/result@1");
    assert_string_equal(text_at(longer, "axes.model"), path);
    assert_true(number_at(longer, "point") == 1);
    assert_non_null(strstr(table, path));
}

/* ---- bad jobs ------------------------------------------------------------------------------ */

#define JOB(fields) "{'schema': 'gradweave/sweep-job@1', " fields "}"
#define JOB_WITH(field) JOB("'models': 'tiny.json', 'clusters': ['small.json'], " field)

static const struct {
    const char *text, *message;
} bad_jobs[] = {
    {"", "bad.json: line 1, column 1: expected valid JSON"},
    {"[]", "bad.json: expected an object, got an empty array"},
    {"{}", "bad.json: schema: expected \"gradweave/sweep-job@1\", got nothing"},
    {"{'schema': 'gradweave/sweep@1'}", "schema: expected \"gradweave/sweep-job@1\", got"},
    {JOB("'models': 'tiny.json'"), "bad.json: clusters: expected at least one: a file, or"},
    {JOB("'clusters': 'small.json'"), "bad.json: models: expected at least one: a file, or"},
    {JOB("'models': [], 'clusters': 'small.json'"), "bad.json: models: expected at least one"},
    {JOB("'models': [3], 'clusters': 'small.json'"), "models[0]: expected a name, got 3"},
    {JOB("'models': 'absent', 'clusters': 'small.json'"), "absent: expected a file, a model"},
    {JOB("'models': 'a.json', 'clusters': 'small.json'"), "a.json: cannot be read"},
    {JOB("'models': 'small.json', 'clusters': 'small.json'"), "small.json: schema: expected"},
    {JOB("'models': ['tiny.json', 'tiny.json'], 'clusters': 'small.json'"),
     "bad.json: models: expected each once, got \"tiny.json\" twice"},
    {JOB_WITH("'algorithms': ['omgs', 'sgd']"), "bad.json: algorithms: algorithm: expected one"},
    {JOB_WITH("'algorithms': 'omgs,omgs'"), "bad.json: algorithms: expected each once"},
    {JOB_WITH("'algorithms': {}"), "bad.json: algorithms: expected a name, got an object"},
    {JOB_WITH("'workers': 0"), "bad.json: workers: expected positive integers, such as"},
    {JOB_WITH("'workers': [2, 2.5]"), "bad.json: workers: expected positive integers"},
    {JOB_WITH("'workers': [2, null]"), "bad.json: workers[1]: expected a number, or text"},
    {JOB_WITH("'workers': true"), "bad.json: workers: expected a number, or text"},
    {JOB_WITH("'workers': '2:64:log'"), "bad.json: workers: expected FROM:TO:logN"},
    {JOB_WITH("'workers': [2, '4:8:log2']"), "bad.json: workers: expected"},
    {JOB_WITH("'density': 2"), "bad.json: density: expected numbers above 0 and at most 1"},
    {JOB_WITH("'density': 1e999"), "bad.json: density: expected numbers above 0"},
    {JOB_WITH("'bandwidth': '2'"), "bad.json: bandwidth: expected ascending rates"},
    {JOB_WITH("'bandwidth': [-1]"), "bad.json: bandwidth: expected ascending rates"},
    {JOB_WITH("'noise': -0.1"), "bad.json: noise: expected numbers >= 0 and at most 10"},
    {JOB_WITH("'straggler': 0"), "bad.json: straggler: expected numbers >= 1e-06"},
    {JOB_WITH("'accumulate': 0"), "bad.json: accumulate: expected a positive integer, got 0"},
    {JOB_WITH("'accumulate': 4097"), "accumulate: expected at most 4096 micro-batches, got 4097"},
    {JOB_WITH("'iterations': 0"), "bad.json: iterations: expected a positive integer, got 0"},
    {JOB_WITH("'seed': -1"), "bad.json: seed: expected an integer >= 0, got -1"},
    {JOB_WITH("'workers': '1:10000:lin10000', 'density': '1e-4:1:lin10000', 'noise': [0, 1]"),
     "expected at most 1000000000 points in a sweep, got more"},
    {JOB_WITH("'algorithms': ['dense'], 'workers': '1:10000:lin10000', 'noise': '0:10:lin11'"),
     "expected --out FILE for 110000 points, which are more than 100000"},
};

TEST_WITH(bad_jobs_are_refused, make_inputs, remove_folder) {
    for (size_t i = 0; i < sizeof bad_jobs / sizeof *bad_jobs; i++) {
        write_text(*state, "bad.json", bad_jobs[i].text);
        check_refused(*state, "gradweave sweep bad.json", bad_jobs[i].message);
    }
}

/* More names than an axis may have are refused before one is looked for. */
TEST_WITH(axes_have_so_many_names, make_inputs, remove_folder) {
    enum { NAMES = 10001, SIZE = 8 * NAMES };
    char *job = malloc(SIZE);
    assert_non_null(job);
    for (int list = 0; list < 2; list++) {
        size_t used = (size_t)snprintf(job, SIZE,
                                       "{'schema': 'gradweave/sweep-job@1', "
                                       "'clusters': 'small.json', 'models': %s",
                                       list ? "[" : "'");
        for (int i = 0; i < NAMES; i++) {
            used += (size_t)snprintf(job + used, SIZE - used, list ? "%s'%d'" : "%s%d",
                                     i == 0 ? "" : ",", i);
        }
        (void)snprintf(job + used, SIZE - used, "%s}", list ? "]" : "'");
        write_text(*state, "many.json", job);
        struct answer answer = ask(*state, "gradweave sweep many.json");
        assert_int_equal(answer.status, 2);
        assert_string_equal(
            answer.err, "gradweave: many.json: models: expected at most 10000 values, got more\n");
    }
    free(job);
}
