/* simulate --counts and the plots of counts, as a user runs them. */
#include "tests/cli/program_inputs.h"
#include "tests/cli/refusals.h"
#include "tests/test.h"
#include "tests/traces/recorded_gradients.h"

#define TINY "tiny.json --cluster small.json"
#define HARD "simulate " TINY " --algo hard-threshold --density 0.01"
#define FILED HARD " --counts counts.json"

enum { ELEMENTS = 73100 };

/* The model's compute time, with the compressor's 1e-5 + 1e-9 for each element. */
static const double compute_s = 0.0056 + 1e-5 + 1e-9 * ELEMENTS;

/* The allgather of small.json at 4 workers. */
static double allgather_s(double bytes) {
    return 0.0005 + 3e-8 * bytes;
}

/* Counts of three iterations of four workers, in the fullest of which `most` are selected. */
static void write_counts(const char *folder, const char *name, const char *compressor,
                         int elements) {
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "{'schema': 'gradweave/counts@1', 'model': 'tiny', 'algorithm': 'any', "
                   "'compressor': '%s', 'source': 'by hand', 'density': 0.01, 'workers': 4, "
                   "'groups': [{'tensors': 4, 'elements': %d}], 'iterations': ["
                   "{'selected': [[1000, 0, 500, 500]], 'distinct': [1800]},"
                   "{'selected': [[0, 0, 0, 0]], 'distinct': [0]},"
                   "{'selected': [[4000, 3000, 2000, 1000]], 'distinct': [7310]}]}",
                   compressor, elements);
    write_text(folder, name, text);
}

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

static int make_counts(void **state) {
    if (make_inputs(state) != 0) {
        return -1;
    }
    write_counts(*state, "counts.json", "hard-threshold", ELEMENTS);
    write_counts(*state, "other.json", "sidco", ELEMENTS);
    write_counts(*state, "larger.json", "hard-threshold", ELEMENTS + 1);
    write_gradients(*state, "gradients.json", tiny_names);
    write_gradients(*state, "others.json", other_names);
    write_text(*state, "bad.json", "{'schema': 'gradweave/counts@1', 'model': 'tiny'}");
    return 0;
}

/* ---- where counts come from ---------------------------------------------------------------- */

TEST(counts_are_as_asked_by_default) {
    static const char *const commands[] = {"gradweave " HARD " --json",
                                           "gradweave " HARD " --counts asked --json"};
    for (size_t i = 0; i < 2; i++) {
        cJSON *result = ask_result(*state, commands[i]);
        assert_string_equal(text_at(result, "counts"), "as asked");
        assert_null(cJSON_GetObjectItem(result, "padding"));
        double bytes = 8 * 731;
        assert_true(near(number_at(result, "iteration_s"),
                         compute_s + allgather_s(4) + allgather_s(bytes), 1e-9));
        assert_true(near(number_at(result, "bytes_per_worker"), bytes + 4, 1e-12));
    }
}

/* Worked out by hand: padded to 1000, 0 and 4000 entries, the first of which repeat. */
TEST(recorded_counts_make_the_time) {
    cJSON *result = ask_result(*state, "gradweave " FILED " --iterations 4 --json");
    double sum_s = 4 * (compute_s + allgather_s(4)) + 2 * allgather_s(8000) + allgather_s(32000);
    assert_true(near(number_at(result, "iteration_s"), sum_s / 4, 1e-9));
    assert_true(near(number_at(result, "bytes_per_worker"), 4 + 48000.0 / 4, 1e-12));
    assert_true(near(number_at(result, "padding"), (2 + 1 + 1.6 + 2) / 4, 1e-12));
    assert_true(
        near(number_at(result, "actual_density"), (1800 * 2 + 7310) / 4.0 / ELEMENTS, 1e-12));
    assert_string_equal(text_at(result, "counts"), "recorded in counts.json");
    assert_note(result, "counts are of 3 iterations, which are repeated");
    check_times(result);
}

/* Trained counts give the same result when read from a file, and with any number of threads. */
TEST(trained_counts_can_be_kept) {
    static const char trained[] =
        "gradweave " HARD " --iterations 20 --seed 3 --counts trained --counts-out kept.json "
        "--json --threads ";
    double iteration_s[3];
    for (int threads = 1; threads <= 2; threads++) {
        cJSON *result = ask_result(*state, "%s%d", trained, threads);
        iteration_s[threads] = number_at(result, "iteration_s");
        assert_string_equal(text_at(result, "counts"), "trained at 1/1 size over 20 iterations");
        assert_true(number_at(result, "actual_density") > 0.05);
        assert_true(number_at(result, "padding") > 1);
    }
    cJSON *again =
        ask_result(*state, "gradweave " HARD " --iterations 20 --counts kept.json --json");
    iteration_s[0] = number_at(again, "iteration_s");
    assert_true(iteration_s[0] == iteration_s[1] && iteration_s[1] == iteration_s[2]);
}

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

/* A fixed threshold is exceeded by ever more with more workers, ExDyna's is not. */
TEST(text_shows_what_builds_up) {
    check_says(*state, "gradweave " HARD " --iterations 20 --counts trained",
               "\ncounts trained at 1/1 size over 20 iterations: padding x ", " times as asked\n",
               NULL);
    cJSON *result = ask_result(*state, "gradweave simulate " TINY " --algo exdyna --density 0.01 "
                                       "--iterations 20 --counts trained --json");
    double density = number_at(result, "actual_density");
    assert_true(density > 0.008 && density < 0.012);
}

/* Also if nothing was said about counts, and if the compressor is not the preset's. */
TEST(text_names_the_source) {
    static const struct {
        const char *command, *expected;
    } cases[] = {
        {"gradweave " HARD, "\ncounts as asked\n"},
        {"gradweave simulate " TINY " --algo dense --compressor dgc", "\ncounts as asked\n"},
        {"gradweave " FILED, "\ncounts recorded in counts.json: padding x "}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_says(*state, cases[i].command, cases[i].expected, NULL);
    }
    struct answer exact = ask(*state, "gradweave simulate " TINY " --algo topk");
    assert_null(strstr(exact.out, "counts"));
}

/* A compressor that selects exactly k needs no training. */
TEST(exact_compressors_are_as_asked) {
    cJSON *result =
        ask_result(*state, "gradweave simulate " TINY " --algo topk --counts trained --json");
    assert_string_equal(text_at(result, "counts"), "as asked");
    assert_note(result, "topk selects as many elements as asked of all gradients");
}

/* A comparison trains what depends on gradients, as a simulation of 100 iterations does. */
TEST(comparisons_train) {
    static const char *const options[] = {"", " --counts asked", " --counts trained"};
    double times_s[3];
    for (size_t i = 0; i < 3; i++) {
        cJSON *found =
            ask_for(*state, "gradweave/comparison@1",
                    "gradweave compare " TINY " --density 0.01 --algo topk,hard-threshold%s --json",
                    options[i]);
        const cJSON *result = NULL;
        cJSON_ArrayForEach(result, item_at(found, "results")) {
            bool hard = strcmp(text_at(result, "algorithm"), "hard-threshold") == 0;
            times_s[i] = hard ? number_at(result, "iteration_s") : times_s[i];
            if (hard && i == 2) {
                assert_non_null(strstr(text_at(result, "counts"), "trained at 1/"));
            } else {
                assert_string_equal(text_at(result, "counts"), "as asked");
            }
        }
    }
    cJSON *alone = ask_result(*state, "gradweave " HARD " --counts trained -n 100 --json");
    assert_true(times_s[0] == times_s[1] && times_s[2] > times_s[1]);
    assert_true(times_s[2] == number_at(alone, "iteration_s"));
    struct answer answer =
        ask(*state, "gradweave compare " TINY " --density 0.01 --algo topk,sidco --counts trained");
    assert_non_null(strstr(answer.out, "\nnote: counts of sidco are trained on generated"));
}

TEST(messages_have_their_bytes_too) {
    cJSON *asked = ask_result(*state, "gradweave " HARD " --network messages --loggp G=10 --json");
    cJSON *filed =
        ask_result(*state, "gradweave " FILED " --network messages --loggp G=10 -n 3 --json");
    double more = (5000 * 8 - 3 * 731 * 8) / 3.0;
    assert_true(near(number_at(filed, "iteration_s") - number_at(asked, "iteration_s"),
                     3 * more * 1e-8, 1e-6));
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
    {"simulate " TINY " --algo dense --counts trained", "expected an algorithm that compresses"},
    {"simulate resnet50 --cluster box-4x1gbit --algo exdyna --workers 1024 --counts trained",
     "counts: expected a training of at most 4 GiB, got 31.3 GiB: 1024 workers of 4096"},
    {"simulate resnet50 --cluster box-4x1gbit --algo hard-threshold --workers 64 --density 1e-7 "
     "--counts trained",
     "counts: expected a training of at most 4 GiB"},
    {HARD " --counts absent.json", "absent.json"},
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
    {HARD " --counts asked --counts-out kept.json", "--counts-out: expected --counts trained"},
    {HARD " --counts-out kept.json", "--counts-out: expected --counts trained"},
    {"compare " TINY " --counts gradients.json --workers 2,4",
     "--counts gradients.json: expected one value"},
    {HARD " --counts bad.json", "bad.json: algorithm: "},
    {HARD " --counts other.json", "compressor: expected \"hard-threshold\", got \"sidco\""},
    {HARD " --counts larger.json", "groups[0]: expected 4 tensors of 73100 elements"},
    {FILED " --density 0.02", "counts.json: density: expected 0.02, got 0.01"},
    {FILED " --workers 3", "counts.json: workers: expected 3, got 4"},
    {FILED " --policy per-tensor", "counts.json: number of groups: expected 4, got 1"},
    {FILED " --counts-out kept.json", "--counts-out: expected --counts trained"},
    {"simulate " TINY " --algo topk --counts counts.json",
     "--counts counts.json: expected a compressor whose counts depend on gradients, got topk"},
    {"simulate " TINY " --algo topk --counts trained --counts-out kept.json",
     "--counts-out kept.json: expected a compressor whose counts depend on gradients, got topk"},
    {"simulate --goal x --counts trained", "--goal: expected only"},
    {"compare " TINY " --counts counts.json",
     "expected asked, trained or a file of gradients, got \"counts.json\""},
    {"compare " TINY " --counts trained --workers 2,4", "--counts trained: expected one value"},
    {"plot density tiny.json --algo dense --out d.png", "expected algorithms that compress"},
    {"plot density tiny.json --decay 0 --out d.png", "--decay: expected a positive"},
    {"plot padding --out d.png", "plot padding: expected MODEL"},
    {"plot padding absent.json --out d.png", "absent.json"},
};

TEST(refuses) {
    check_refusals(*state, refusals, sizeof refusals / sizeof *refusals, 2);
    const struct refusal unwritable = {HARD " --counts trained --counts-out absent/kept.json",
                                       "absent/kept.json: cannot be written"};
    assert_true(is_refused(*state, "gradweave", &unwritable, 3));
}

FIXTURES(make_counts, remove_folder)
