/* `reproduce`: what papers published beside what gradweave comes to, and what does not count. */
#include <math.h>

#include "tests/cli/program.h"
#include "tests/test.h"

static cJSON *reproduce(const char *folder, const char *table) {
    char command[96];
    (void)snprintf(command, sizeof command, "gradweave reproduce %s --json", table);
    return ask_document(folder, command, "gradweave/reproduction@1");
}

static const cJSON *find_cell(const cJSON *document, const char *row, const char *column) {
    const cJSON *cell = NULL;
    cJSON_ArrayForEach(cell, item_at(document, "cells")) {
        if (strcmp(text_at(cell, "row"), row) == 0 &&
            strcmp(text_at(cell, "column"), column) == 0) {
            return cell;
        }
    }
    fail_msg("no cell %s, %s", row, column);
    return NULL;
}

static double summary_at(const cJSON *document, const char *key) {
    return number_at(cJSON_GetArrayItem(item_at(document, "summaries"), 0), key);
}

/* ---- the papers ------------------------------------------------------------------------------ */

/* All sixteen numbers of groups; one startup is fitted to one of them. */
TEST_IN_FOLDER(omgs_table5_is_exact) {
    cJSON *document = reproduce(*state, "omgs-table5");
    const cJSON *cell = NULL;
    int fitted = 0;
    assert_int_equal(cJSON_GetArraySize(item_at(document, "cells")), 16);
    cJSON_ArrayForEach(cell, item_at(document, "cells")) {
        assert_true(number_at(cell, "gradweave") == number_at(cell, "published"));
        fitted += cJSON_IsTrue(item_at(cell, "fitted"));
    }
    assert_int_equal(fitted, 1);
    assert_true(cJSON_IsTrue(item_at(find_cell(document, "ResNet-50", "OMGS-SGD"), "fitted")));
    assert_true(summary_at(document, "unfitted") == 15);
    assert_true(summary_at(document, "within_10_percent") == 15);
}

/* The faster of two is as published in all rows; simulate's numbers are those of the table. */
TEST_IN_FOLDER(omgs_table6_is_in_order) {
    static const char *const pairs[][2] = {
        {"TopK-SGD", "topk"}, {"MGS-SGD", "mgs"}, {"OMGS-SGD", "omgs"}};
    cJSON *document = reproduce(*state, "omgs-table6");
    assert_true(summary_at(document, "pairs") == 12 && summary_at(document, "ordered") == 12);
    write_text(*state, "cluster.json",
               "{'schema': 'gradweave/cluster@1', 'name': 'c', 'workers': 16, 'collectives': "
               "{'allgather': [{'workers': 16, 'alpha_s': 0.0162, 'beta_s_per_byte': 2.72e-7}]}, "
               "'compressors': {'topk': {'fixed_s': 0, 'per_nlog2n_s': 2.18896957e-10}}}");
    for (size_t i = 0; i < 3; i++) {
        char command[128];
        (void)snprintf(command, sizeof command,
                       "gradweave simulate resnet50 --cluster cluster.json --algo %s --json",
                       pairs[i][1]);
        double expected_s = number_at(ask_document(*state, command, NULL), "iteration_s");
        const cJSON *cell = find_cell(document, "ResNet-50", pairs[i][0]);
        assert_true(near(number_at(cell, "gradweave"), expected_s, 1e-9));
        assert_true(
            near(number_at(cell, "error"), expected_s / number_at(cell, "published") - 1, 1e-9));
    }
    const cJSON *ratio = find_cell(document, "ResNet-50", "MGS / OMGS");
    assert_true(near(number_at(ratio, "gradweave"),
                     number_at(find_cell(document, "ResNet-50", "MGS-SGD"), "gradweave") /
                         number_at(find_cell(document, "ResNet-50", "OMGS-SGD"), "gradweave"),
                     1e-12));
}

/* A dense iteration is T + a + 4 n b, a sparse one T + a / 2 + 8 k 8 b + c n: by hand. */
TEST_IN_FOLDER(gaussiank_table2_is_within_a_tenth) {
    static const struct {
        const char *name;
        double elements, alone_s, dense_s, topk_s; /* topk 0: illegible */
    } rows[] = {{"VGG-16", 138357544, 1.311 * 0.855, 2.068, 0},
                {"ResNet-50", 25557032, 0.586 * 0.785, 0.699, 0.810},
                {"Inception-v4", 42679816, 0.787 * 0.877, 1.022, 1.268}};
    const double n = 61100840, alone_s = 0.245 * 0.328, startup_s = 9.08e-4;
    const double per_byte_s = (0.571 - alone_s - startup_s) / (4 * n);
    const double gathering_s = 8 * per_byte_s * 8;
    const double selecting_s =
        (0.893 - alone_s - startup_s / 2 - gathering_s * floor(0.001 * n)) / n;
    cJSON *document = reproduce(*state, "gaussiank-table2");
    for (size_t i = 0; i < 3; i++) {
        const cJSON *dense = find_cell(document, rows[i].name, "Dense");
        double expected_s = rows[i].alone_s + startup_s + 4 * rows[i].elements * per_byte_s;
        assert_true(near(number_at(dense, "gradweave"), expected_s, 1e-5));
        assert_true(fabs(number_at(dense, "error")) < 0.1);
        assert_true(cJSON_IsFalse(item_at(dense, "fitted")));
        if (rows[i].topk_s > 0) {
            const cJSON *topk = find_cell(document, rows[i].name, "TopK");
            expected_s = rows[i].alone_s + startup_s / 2 +
                         gathering_s * floor(0.001 * rows[i].elements) +
                         selecting_s * rows[i].elements;
            assert_true(near(number_at(topk, "gradweave"), expected_s, 1e-5));
            assert_true(fabs(number_at(topk, "error")) < 0.1);
        }
        assert_true(
            cJSON_IsTrue(item_at(find_cell(document, rows[i].name, "GaussianK"), "fitted")));
    }
}

/* ---- tables of one's own --------------------------------------------------------------------- */

#define TABLE                                                                                      \
    "{'schema': 'gradweave/table@1', 'name': 'own', 'title': 't', 'source': 's', 'unit': 'u', "    \
    "'inputs': [{'what': 'w', 'origin': 'assumed'}], 'notes': [], "                                \
    "'models': {'m': {'schema': 'gradweave/model@1', 'name': 'm', 'forward_s': 1, 'tensors': "     \
    "[{'name': 'a', 'elements': 60000, 'backward_s': 2}]}}, "                                      \
    "'clusters': {'c': {'schema': 'gradweave/cluster@1', 'name': 'c', 'workers': 4, "              \
    "'collectives': {'allgather': [{'workers': 4, 'alpha_s': 1, 'beta_s_per_byte': 0}], "          \
    "'allreduce': [{'workers': 4, 'alpha_s': 2, 'beta_s_per_byte': 0}]}, 'compressors': "          \
    "{'topk': {'fixed_s': 0.5, 'per_element_s': 0}, 'exdyna': {'fixed_s': 1, 'per_element_s': "    \
    "0}}}}, "                                                                                      \
    "'columns': [{'name': 'dense', 'quantity': 'iteration_s', 'algorithm': 'dense'}, "             \
    "{'name': 'topk', 'quantity': 'iteration_s', 'algorithm': 'topk'}, "                           \
    "{'name': 'gain', 'ratio': ['dense', 'topk']}, "                                               \
    "{'name': 'density', 'quantity': 'density', 'algorithm': 'exdyna'}], "                         \
    "'rows': [{'name': 'r', 'model': 'm', 'cluster': 'c', 'density': 0.01, 'samples': 8, "         \
    "'emulation': {'elements': 20000, 'warm_up': 300, 'iterations': 50}, "                         \
    "'cells': {'dense': {'published': 4, 'fitted': 'x'}, 'topk': {'published': 4.5}, "             \
    "'gain': {'published': 1}, 'density': {'least': 0.8, 'most': 1.2}}}]}"

/* 3 s of compute and 2 of an allreduce; or half of one for selection and 1 for an allgather. */
TEST_IN_FOLDER(fitted_cells_do_not_count) {
    write_text(*state, "own.json", TABLE);
    cJSON *document = reproduce(*state, "own.json");
    assert_true(near(number_at(find_cell(document, "r", "dense"), "gradweave"), 5, 1e-12));
    assert_true(near(number_at(find_cell(document, "r", "dense"), "error"), 0.25, 1e-12));
    assert_true(near(number_at(find_cell(document, "r", "topk"), "gradweave"), 4.5, 1e-12));
    assert_true(near(number_at(find_cell(document, "r", "gain"), "gradweave"), 5 / 4.5, 1e-12));
    assert_true(cJSON_IsTrue(item_at(find_cell(document, "r", "gain"), "fitted")));
    assert_true(cJSON_IsFalse(item_at(find_cell(document, "r", "topk"), "fitted")));
    assert_true(summary_at(document, "unfitted") == 1 && summary_at(document, "pairs") == 0);
    assert_true(near(summary_at(document, "largest_error") + 1, 1, 1e-12));
    assert_true(summary_at(document, "claims") == 1 && summary_at(document, "holding") == 1);
    check_says(*state, "gradweave reproduce own.json", "own: t", "dense", "x", "of fitted ones",
               "0.8 to 1.2", "holds", "Of 1 numbers", "assumed", NULL);
}

TEST_IN_FOLDER(bad_tables_are_refused) {
    static const char *const cases[][3] = {
        {"gradweave/table@1", "gradweave/tables@1", "schema"},
        {"'model': 'm'", "'model': 'n'", "n: expected a file, or a model that ships"},
        {"'elements': 60000", "'elements': -1", "elements: expected a positive integer"},
        {"'algorithm': 'topk'", "'algorithm': 'top'", "algorithm: expected one of"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *at = strstr(TABLE, cases[i][0]);
        char *text = NULL;
        assert_non_null(at);
        assert_true(asprintf(&text, "%.*s%s%s", (int)(at - TABLE), TABLE, cases[i][1],
                             at + strlen(cases[i][0])) > 0);
        write_text(*state, "own.json", text);
        free(text);
        struct answer answer = ask(*state, "gradweave reproduce own.json");
        if (answer.status != 2 || strstr(answer.err, cases[i][2]) == NULL) {
            fail_msg("%s: %d %s", cases[i][1], answer.status, answer.err);
        }
        assert_string_equal(answer.out, "");
    }
    struct answer unknown = ask(*state, "gradweave reproduce omgs-table7");
    assert_int_equal(unknown.status, 2);
    assert_non_null(strstr(unknown.err, "gradweave list tables"));
}
