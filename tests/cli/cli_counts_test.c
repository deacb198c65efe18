/* simulate --counts of recorded gradients and the plots of counts, as a user runs them. */
#include "tests/cli/program_inputs.h"
#include "tests/cli/refusals.h"
#include "tests/test.h"
#include "tests/traces/recorded_gradients.h"

#define TINY "tiny.json --cluster small.json"
#define HARD "simulate " TINY " --algo hard-threshold --density 0.01"

static void assert_note(const cJSON *result, const char *note) {
    const cJSON *first = cJSON_GetArrayItem(item_at(result, "notes"), 0);
    assert_string_equal(cJSON_GetStringValue(first), note);
}

static const char *const tiny_names[] = {"conv", "norm", "fc.weight", "fc.bias"};
static const char *const other_names[] = {"conv", "norm", "fc.weight", "bias"};

/* Twelve iterations of two workers. */
static void write_gradients(const char *folder, const char *name, const char *const *names) {
    static const size_t elements[] = {20000, 3000, 50000, 100};
    static const size_t sampled[] = {1000, 150, 2500, 5};
    struct drawn_gradients drawn = {.model = "tiny",
                                    .tensor_count = 4,
                                    .workers = 2,
                                    .iterations = 12,
                                    .names = names,
                                    .elements = elements,
                                    .sampled = sampled};
    draw_levels(&drawn, random_stream(1));
    char *text = drawn_document(&drawn);
    write_text(folder, name, text);
    free(text);
    free_drawn(&drawn);
}

static int make_gradients(void **state) {
    if (make_inputs(state) != 0) {
        return -1;
    }
    write_gradients(*state, "gradients.json", tiny_names);
    write_gradients(*state, "others.json", other_names);
    return 0;
}

/* ---- recorded gradients -------------------------------------------------------------------- */

static const cJSON *kept_iterations(const char *folder, const char *name) {
    return item_at(parse_document(read_text(folder, name), "gradweave/counts@1"), "iterations");
}

/* Counts of recorded gradients are kept as those of generated ones are; compare takes them, too. */
TEST(recorded_gradients_are_trained_on) {
    static const char source[] =
        "trained on gradients of gradients.json at 1/20 size over 11 of 12 iterations";
    static const char note[] = "counts are of 11 iterations, which are repeated";
    cJSON *trained = ask_result(*state, "gradweave " HARD " --iterations 100 --counts "
                                        "gradients.json --counts-out kept.json --json");
    assert_string_equal(text_at(trained, "counts"), source);
    assert_note(trained, note);
    assert_true(number_at(trained, "actual_density") > 0.02);
    cJSON *again =
        ask_result(*state, "gradweave " HARD " --iterations 100 --counts kept.json --json");
    double iteration_s = number_at(trained, "iteration_s");
    assert_true(number_at(again, "iteration_s") == iteration_s);
    cJSON *last = ask_result(*state, "gradweave " HARD " --counts gradients.json --counts-out "
                                     "last.json --json");
    assert_string_equal(text_at(last, "counts"),
                        "trained on gradients of gradients.json at 1/20 size over 1 of 12 "
                        "iterations");
    const cJSON *of_all = kept_iterations(*state, "kept.json");
    const cJSON *of_last = kept_iterations(*state, "last.json");
    assert_int_equal(cJSON_GetArraySize(of_all), 11);
    assert_int_equal(cJSON_GetArraySize(of_last), 1);
    assert_true(cJSON_Compare(cJSON_GetArrayItem(of_all, 10), of_last->child, 1));
    cJSON *compared = ask_document(*state,
                                   "gradweave compare " TINY " --density 0.01 --algo "
                                   "hard-threshold,topk --counts gradients.json --json",
                                   "gradweave/comparison@1");
    const cJSON *results = item_at(compared, "results");
    assert_string_equal(text_at(cJSON_GetArrayItem(results, 0), "algorithm"), "topk");
    assert_true(near(number_at(cJSON_GetArrayItem(results, 1), "iteration_s"), iteration_s, 1e-12));
    check_says(*state, "gradweave compare " TINY " --density 0.01 --counts gradients.json",
               "trained on recorded gradients", note, NULL);
    check_says(*state, "gradweave check gradients.json",
               "3655 of 73100 elements of 4 tensors, 12 iterations of 2 workers", NULL);
}

/* ---- pictures ------------------------------------------------------------------------------ */

TEST(density_and_padding_are_drawn) {
    need_gnuplot();
    (void)ask_document(*state,
                       "gradweave plot density tiny.json --density 0.01 --workers 4 "
                       "--iterations 301 --elements 20000 --decay 200 --out d.png "
                       "--data d.csv --algo hard-threshold,clt-k,exdyna --json",
                       "gradweave/plot@1");
    check_png(*state, "d.png");
    char *table = read_text(*state, "d.csv");
    double before[5], after[5];
    size_t line = 1; /* of two iterations each */
    assert_string_equal(strtok(table, "\n"), "#iteration,hard-threshold,clt-k,exdyna,asked for");
    for (char *row = strtok(NULL, "\n"); row != NULL; row = strtok(NULL, "\n"), line++) {
        double *values = line == 100 ? before : after;
        assert_int_equal(sscanf(row, "%lf,%lf,%lf,%lf,%lf", &values[0], &values[1], &values[2],
                                &values[3], &values[4]),
                         5);
    }
    assert_int_equal(line, 152);
    assert_true(before[0] == 200 && after[0] == 301);
    assert_true(before[1] > 0.1 && after[1] < before[1] / 2); /* hard-threshold */
    assert_true(before[2] == 0.01 && before[4] == 0.01); /* the leader's k, and what is asked */
    (void)ask_document(*state,
                       "gradweave plot padding tiny.json --density 0.01 --workers 4 "
                       "--iterations 50 --elements 20000 --out p.svg --json",
                       "gradweave/plot@1");
}

/* ---- refusals ------------------------------------------------------------------------------ */

static const struct refusal refusals[] = {
    {HARD " --counts others.json",
     "others.json: tensors: expected one called \"fc.bias\" of 100 elements, as model tiny has"},
    {HARD " --counts gradients.json --density 0.0001",
     "gradients.json: group 0: expected a sample of which 4 elements are kept at least, got 3655 "
     "elements, of which density 0.0001 keeps 1"},
    {HARD " --counts gradients.json --workers 25",
     "gradients.json: expected to stand for at most 24 workers, 2 in 12 iterations, got 25"},
    {"compare " TINY " --counts others.json", "others.json: tensors: expected one called"},
    {HARD " --policy per-tensor --counts gradients.json --density 0.002",
     "gradients.json: group 0: expected a sample of which 4 elements are kept at least, got 5"},
    {"compare " TINY " --counts gradients.json --workers 2,4",
     "--counts gradients.json: expected one value"},
};

TEST(refuses_gradients_of_another_model) {
    check_refusals(*state, refusals, sizeof refusals / sizeof *refusals, 2);
}

FIXTURES(make_gradients, remove_folder)
