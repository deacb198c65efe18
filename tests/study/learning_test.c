/* Iterations that recorded trainings needed: those that ship, against docs/results/convergence.md.
 */
#include <gsl/gsl_sort.h>
#include <math.h>
#include <string.h>

#include "study/learning.h"
#include "tests/test.h"

static char *page;
static struct gw_error error;
static struct gw_learning shipped;
static struct gw_learning by_sgd; /* of these, trainings with momentum */

static int read_page(void **state) {
    (void)state;
    size_t length = 0;
    (void)setenv("GRADWEAVE_DATA", GW_TEST_DATA, 1);
    assert_ok(gw_learning_open(NULL, &shipped, &error));
    by_sgd.each = calloc(shipped.count, sizeof *by_sgd.each);
    for (size_t i = 0; i < shipped.count; i++) {
        if (strncmp(shipped.each[i].optimizer, "SGD", 3) == 0) {
            by_sgd.each[by_sgd.count++] = shipped.each[i];
        }
    }
    assert_ok(gw_file_read(GW_TEST_DATA "/../docs/results/convergence.md", &page, &length, &error));
    return 0;
}
static int free_page(void **state) {
    (void)state;
    free(page);
    free(by_sgd.each);
    gw_learning_close(&shipped);
    return 0;
}
FIXTURES(read_page, free_page)

/* "| 95.5 ±1 (120, 2×) |" in that table, row and column (from 1); NULL: no such row. */
static const char *find_cell(const char *table, const char *way, size_t column) {
    char row[64];
    const char *start = strstr(page, table);
    assert_non_null(start);
    const char *end = strstr(strstr(start, "| --- "), "\n\n");
    (void)snprintf(row, sizeof row, "\n| `%s` |", way);
    const char *cell = strstr(start, row);
    if (cell == NULL || cell > end) {
        return NULL;
    }
    for (cell += 2; column > 0; column--) {
        cell = strchr(cell, '|') + 1;
    }
    return cell;
}

/* Iterations of the runs that came there, 0: of none, and how many did not. */
static void read_cell(const char *cell, double *iterations, size_t *never) {
    size_t length = strcspn(cell, "|");
    const char *first = memchr(cell, '(', length);
    assert_non_null(first);
    char *rest = NULL;
    double number = strtod(first + 1, &rest);
    bool none = strncmp(rest, "×", 2) == 0;
    *iterations = none ? 0 : number;
    *never = none ? (size_t)number : 0;
    if (rest[0] == ',' && strncmp(rest + 3, "×", 2) == 0) {
        *never = (size_t)(rest[2] - '0');
    }
}

#define SHORT_DENSE "<!-- learnt right 0.01 distinct fnn3-4 lenet5-4"
#define LONG "<!-- learnt right 0.001 all fnn3-4-1000"

/* Takes the longer trainings where there are any. */
static void read_training(const char *table, const char *way, size_t column, bool may_be_longer,
                          double *factor, size_t *never) {
    const char *longer = may_be_longer && column <= 2 ? find_cell(LONG, way, column) : NULL;
    const char *dense =
        longer != NULL ? find_cell(LONG, "p-sgd", column) : find_cell(SHORT_DENSE, "dense", column);
    double iterations = 0;
    double of_dense = 0;
    size_t none = 0;
    read_cell(longer != NULL ? longer : find_cell(table, way, column), &iterations, never);
    read_cell(dense, &of_dense, &none);
    assert_true(of_dense > 0 && none == 0);
    *factor = iterations / of_dense;
}

/* Finds the factor of a pipeline, which need not exist, or of the hook, by its name. */
static bool find_factor(const struct gw_learning *learning, const char *name, double density,
                        struct gw_iterations_factor *out) {
    const struct gw_algorithm unknown = {.name = name, .compressor = &gw_compressor_topk};
    const struct gw_algorithm half = {.name = "own-half", .compressor = &gw_compressor_bf16};
    const struct gw_algorithm *known = strcmp(name, "torch-fp16") == 0 ? &half : &unknown;
    (void)gw_algorithm_find(name, &known, NULL);
    return gw_learning_find(learning, known, density, out);
}

static void check_factor(const char *name, const char *way, double density, const char *table) {
    struct gw_iterations_factor found;
    double low = INFINITY;
    double high = 0;
    size_t failed = 0;
    assert_true(find_factor(&by_sgd, name, density, &found));
    for (size_t column = 1; column <= 5; column++) {
        double factor = 0;
        size_t never = 0;
        read_training(table, way, column, density < 0.01, &factor, &never);
        failed += never;
        low = factor > 0 ? fmin(low, factor) : low;
        high = fmax(high, factor);
    }
    if (found.failed != failed || found.runs != 11 ||
        (high > 0 && !(near(found.low, low, 1e-12) && near(found.high, high, 1e-12))) ||
        (high == 0 && !isinf(found.median))) {
        fail_msg("%s at %g: %zu of %zu never, %g to %g; the page has %zu, %g to %g", name, density,
                 found.failed, found.runs, found.low, found.high, failed, low, high);
    }
    assert_true(found.networks == 5);
    assert_true(high == 0 || isinf(found.median) ||
                (found.low <= found.median && found.median <= found.high));
}

/* Every pipeline with a line in the page has these factors; no other pipeline has any. */
TEST(factors_are_those_of_the_page) {
    static const char *const tables[] = {SHORT_DENSE, "<!-- learnt right 0.001 compressed fnn3-4"};
    static const double densities[] = {0.01, 0.001};
    size_t checked = 0;
    for (const struct gw_algorithm *row = gw_algorithms; row->name != NULL; row++) {
        for (size_t i = 0; i < 2 && gw_algorithm_selects(row); i++) {
            struct gw_iterations_factor found;
            if (find_cell(tables[i], row->name, 1) != NULL) {
                check_factor(row->name, row->name, densities[i], tables[i]);
                checked++;
            } else {
                assert_false(find_factor(&by_sgd, row->name, densities[i], &found));
            }
        }
    }
    assert_true(checked == 34);
    check_factor("dense", "dense", 0.01, SHORT_DENSE);
    check_factor("torch-fp16", "torch-fp16", 0.01, SHORT_DENSE);
}

/* Each cell of the tables of AdamW is the median of the runs in a file of its own. */
TEST(factors_with_adamw_are_those_of_the_page) {
    static const char *const tables[] = {"<!-- learnt right 0.01 all lstm_adamw-4 gpt_adamw-4",
                                         "<!-- learnt right 0.001 all lstm_adamw-4 gpt_adamw-4"};
    static const char *const networks[] = {"lstm", "gpt"};
    size_t checked = 0;
    for (size_t i = 0; i < shipped.count; i++) {
        struct gw_accuracy *file = &shipped.each[i];
        const struct gw_learning alone = {.count = 1, .each = file};
        size_t column = strcmp(file->model, networks[0]) == 0 ? 1 : 2;
        for (const struct gw_algorithm *row = gw_algorithms; row->name != NULL; row++) {
            for (size_t k = 0; k < 2 && strncmp(file->optimizer, "AdamW", 5) == 0; k++) {
                struct gw_iterations_factor found;
                double iterations = 0;
                double of_dense = 0;
                size_t never = 0;
                const char *cell = find_cell(tables[k], row->name, column);
                if (cell == NULL || strncmp(cell, "  |", 3) == 0) {
                    continue;
                }
                read_cell(find_cell(tables[0], "p-sgd", column), &of_dense, &never);
                read_cell(cell, &iterations, &never);
                assert_true(find_factor(&alone, row->name, k == 0 ? 0.01 : 0.001, &found));
                assert_true(found.failed == never && found.networks == 1);
                assert_true(never > 0 ? isinf(found.median)
                                      : near(found.median, iterations / of_dense, 1e-12));
                checked++;
            }
        }
    }
    assert_true(checked > 40);
    struct gw_iterations_factor all;
    assert_true(find_factor(&shipped, "topk", 0.01, &all));
    assert_true(all.networks == 5 && all.setups == 7);
}

/* The median of networks of each code is that of the page's medians, at any density. */
TEST(factors_of_codes_are_those_of_the_page) {
    static const char table[] = "<!-- learnt right 0.01 codes fnn3-4";
    size_t checked = 0;
    for (const struct gw_algorithm *row = gw_algorithms; row->name != NULL; row++) {
        struct gw_iterations_factor found;
        double factors[5];
        size_t failed = 0;
        if (row->compressor->code.bits == 0) {
            continue;
        }
        for (size_t column = 1; column <= 5; column++) {
            size_t never = 0;
            read_training(table, row->name, column, false, &factors[column - 1], &never);
            factors[column - 1] = factors[column - 1] > 0 ? factors[column - 1] : INFINITY;
            failed += never;
        }
        gsl_sort(factors, 1, 5);
        assert_true(find_factor(&by_sgd, row->name, checked % 2 == 0 ? 0.001 : 0.01, &found));
        assert_true(found.networks == 5 && found.runs == 13 && found.failed == failed);
        assert_true(found.median == factors[2] || near(found.median, factors[2], 1e-12));
        checked++;
    }
    assert_true(checked == 7);
}

/* exdyna at 0.01: 60 / 40, 140 / 120, never in 2 runs of 3, 140 / 120 and 200 / 80. At 0.001 it
 * never came there with three networks of five. */
TEST(the_median_is_that_of_networks_and_never_comes_after_all) {
    struct gw_iterations_factor found;
    assert_true(find_factor(&by_sgd, "exdyna", 0.05, &found));
    assert_true(found.density == 0.01);
    assert_true(near(found.median, 1.5, 1e-12) && near(found.high, 2.5, 1e-12));
    assert_true(near(found.sent, 7.84, 1e-12));
    assert_true(find_factor(&by_sgd, "exdyna", 0.002, &found) && found.density == 0.001);
    assert_true(isinf(found.median) && near(found.low, 180.0 / 140, 1e-12));
    assert_false(find_factor(&by_sgd, "no-such", 0.01, &found));
}

/* Codes of 16 bits learn as DDP's hook that sends such, until they are trained themselves. */
TEST(codes_without_residual_have_the_trainings_of_a_hook) {
    const struct gw_algorithm half = {.name = "own-half", .compressor = &gw_compressor_bf16};
    const struct gw_algorithm fewer = {.name = "own-int8", .compressor = &gw_compressor_int8};
    struct gw_iterations_factor found;
    assert_true(gw_learning_find(&by_sgd, &half, 0.001, &found));
    assert_true(found.median == 1 && near(found.high, 140.0 / 120, 1e-12) && found.runs == 11);
    assert_false(gw_learning_find(&by_sgd, &fewer, 0.001, &found));
}

/* A factor of three below the least density that was trained, trainings say nothing. */
TEST(trainings_do_not_cover_far_lower_densities) {
    struct gw_iterations_factor found;
    assert_true(find_factor(&by_sgd, "topk", 4e-4, &found) && !found.is_beyond);
    assert_true(found.runs == 11);
    assert_false(find_factor(&by_sgd, "topk", 3e-4, &found));
    assert_true(found.is_beyond && found.runs == 0 && isnan(found.median));
    assert_true(find_factor(&by_sgd, "dense", 1e-12, &found) && found.median == 1);
}

static void write_trainings(const char *folder, const char *name, const char *optimizer,
                            unsigned trained, const char *iterations) {
    char text[512];
    (void)snprintf(text, sizeof text,
                   "{\"schema\": \"gradweave/accuracy@1\", \"model\": \"own\", \"goal\": 0.9, "
                   "\"optimizer\": \"%s\", \"trained\": %u, \"trainings\": [{\"algorithm\": "
                   "\"ddp\", \"workers\": 2, "
                   "\"iterations\": [9, 10, 14]}, {\"algorithm\": \"topk\", \"density\": 0.02, "
                   "\"workers\": 2, \"sent\": 1.5, \"iterations\": %s}]}",
                   optimizer, trained, iterations);
    FILE *file = fopen(path_in(folder, name), "w");
    assert_non_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

/* Longer trainings stand for a user's own network, and each run shows in the range; of several
 * optimizers each has a setup of its own. */
TEST_IN_FOLDER(a_folder_of_own_trainings_is_read) {
    struct gw_learning own;
    struct gw_iterations_factor found;
    write_trainings(*state, "short.json", "SGD", 20, "[null, null, null]");
    write_trainings(*state, "long.json", "SGD", 90, "[30, null, 25]");
    assert_ok(gw_learning_open(*state, &own, &error));
    assert_true(find_factor(&own, "topk", 0.01, &found) && found.density == 0.02);
    assert_true(found.median == 3 && found.low == 2.5 && found.high == 3);
    assert_true(found.networks == 1 && found.runs == 3 && found.failed == 1 && found.sent == 1.5);
    /* One run of three is repeated by iterations of 7 s. */
    assert_true(near(gw_learning_expected_s(&found, 2, 7), 3 * 2 + 7.0 / 3, 1e-12));
    assert_true(near(gw_learning_break_even(&found), 3 / (2.0 / 3), 1e-12));
    assert_true(find_factor(&own, "torch-fp16", 0.01, &found)); /* the folder says nothing of it */
    assert_true(found.median == 1 && found.runs == 0);
    gw_learning_close(&own);
    assert_ok(gw_learning_open(path_in(*state, "short.json"), &own, &error));
    assert_true(find_factor(&own, "topk", 0.01, &found) && isinf(found.median));
    assert_true(isnan(found.low) && found.failed == 3);
    gw_learning_close(&own);
    write_trainings(*state, "other.json", "AdamW", 20, "[20]");
    assert_ok(gw_learning_open(*state, &own, &error));
    assert_true(find_factor(&own, "topk", 0.01, &found) && found.median == 2.5);
    assert_true(found.networks == 1 && found.setups == 2 && found.runs == 4 && found.failed == 1);
    gw_learning_close(&own);
    assert_int_equal(gw_learning_open(path_in(*state, "none"), &own, &error), GW_BAD_INPUT);
    (void)setenv("GRADWEAVE_DATA", *state, 1); /* which has no folder of trainings */
    assert_ok(gw_learning_open(NULL, &own, &error));
    assert_true(own.count == 0 && find_factor(&own, "bf16", 0.01, &found) && found.median == 1);
    assert_false(find_factor(&own, "topk", 0.01, &found));
    gw_learning_close(&own);
    (void)setenv("GRADWEAVE_DATA", GW_TEST_DATA, 1);
}
