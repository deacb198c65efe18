/*
 * `plan --sweep`: its cells are the plans that `plan` makes, its findings follow from them, and the
 * files say the same.
 */
#include "tests/cli/program_inputs.h"
#include "tests/test.h"

#define TINY "gradweave plan tiny.json --cluster small.json"
#define RESNET50 "gradweave plan resnet50 --cluster p102-1gbe-16"
#define SWEEP "gradweave/sweep@1"

static cJSON *ask_sweep(const char *folder, const char *command) {
    return ask_document(folder, command, SWEEP);
}

static const cJSON *row_at(const cJSON *sweep, int row) {
    const cJSON *found = cJSON_GetArrayItem(item_at(sweep, "rows"), row);
    assert_non_null(found);
    return found;
}

static const cJSON *plan_at(const cJSON *row, const char *policy, const char *compressor) {
    const cJSON *plan = NULL;
    cJSON_ArrayForEach(plan, item_at(row, "plans")) {
        if (strcmp(text_at(plan, "policy"), policy) == 0 &&
            strcmp(text_at(plan, "compressor"), compressor) == 0) {
            return plan;
        }
    }
    print_error("%s, %s: not in the row\n", policy, compressor);
    fail();
    return NULL;
}

static double best_s(const cJSON *row, const char *compressor) {
    double least_s = INFINITY;
    const cJSON *plan = NULL;
    cJSON_ArrayForEach(plan, item_at(row, "plans")) {
        if (strcmp(text_at(plan, "compressor"), compressor) == 0) {
            least_s = fmin(least_s, number_at(plan, "iteration_s"));
        }
    }
    assert_true(isfinite(least_s));
    return least_s;
}

/* ---- cells --------------------------------------------------------------------------------- */

/* Each cell against `plan` asked with `format` and the value. */
static void check_cells(const char *folder, const char *sweep_command, const char *format) {
    cJSON *sweep = ask_sweep(folder, sweep_command);
    cJSON *list = ask_document(folder, "gradweave list policies --json", "gradweave/list@1");
    int policies = cJSON_GetArraySize(item_at(list, "policies"));
    const cJSON *row = NULL;
    const cJSON *cell = NULL;
    cJSON_ArrayForEach(row, item_at(sweep, "rows")) {
        assert_int_equal(cJSON_GetArraySize(item_at(row, "plans")), 2 * policies);
        cJSON_ArrayForEach(cell, item_at(row, "plans")) {
            char start_of[256];
            (void)snprintf(start_of, sizeof start_of, format, number_at(row, "value"));
            cJSON *plan =
                ask_for(folder, "gradweave/plan@1", "%s --policy %s --compressor %s --json",
                        start_of, text_at(cell, "policy"), text_at(cell, "compressor"));
            assert_true(number_at(cell, "iteration_s") == number_at(plan, "iteration_s"));
            assert_true(number_at(cell, "lower_bound_s") == number_at(plan, "lower_bound_s"));
            assert_true(number_at(cell, "groups") == cJSON_GetArraySize(item_at(plan, "groups")));
        }
    }
}

/* The small cluster with its bytes 0.5, 1 and 4 times as fast, as small-<factor>.json. */
static void write_faster_clusters(const char *folder) {
    static const struct {
        const char *name;
        double allgather, allreduce;
    } clusters[] = {{"small-0.5.json", 6e-8, 4e-8},
                    {"small-1.json", 3e-8, 2e-8},
                    {"small-4.json", 7.5e-9, 5e-9}};
    for (size_t i = 0; i < sizeof clusters / sizeof *clusters; i++) {
        char text[1024];
        (void)snprintf(text, sizeof text,
                       "{'schema': 'gradweave/cluster@1', 'name': 'small', 'workers': 4, "
                       "'collectives': {'allgather': [{'workers': 4, 'alpha_s': 0.0005, "
                       "'beta_s_per_byte': %g}], 'allreduce': [{'workers': 4, 'alpha_s': 0.0005, "
                       "'beta_s_per_byte': %g}]}, "
                       "'compressors': {'topk': {'fixed_s': 1e-5, 'per_element_s': 1e-9}}}",
                       clusters[i].allgather, clusters[i].allreduce);
        write_text(folder, clusters[i].name, text);
    }
}

TEST(cells_are_what_plan_gives) {
    write_faster_clusters(*state);
    check_cells(*state, TINY " --sweep density=0.3,0.0123,0.001 --json", TINY " --density %.17g");
    check_cells(*state, TINY " --sweep workers=1,3,4,64 --density 0.05 --json",
                TINY " --density 0.05 --workers %g");
    check_cells(*state, TINY " --sweep bandwidth=0.5x,1x,4x --workers 8 --json",
                "gradweave plan tiny.json --cluster small-%g.json --workers 8");
    check_cells(*state, RESNET50 " --sweep density=0.001:0.1:log2 --json",
                RESNET50 " --density %.17g");
}

/* ---- findings ------------------------------------------------------------------------------ */

/* The time that the best plan saves on the better of per-tensor and single. */
static double saving(const cJSON *row, const char *compressor) {
    double plain_s = fmin(number_at(plan_at(row, "per-tensor", compressor), "iteration_s"),
                          number_at(plan_at(row, "single", compressor), "iteration_s"));
    return 1 - best_s(row, compressor) / plain_s;
}

TEST(merging_matters_where_it_saves_1_percent) {
    static const bool worthwhile[] = {false, true, true, true, false};
    cJSON *sweep = ask_sweep(*state, TINY " --sweep bandwidth=0.1x,0.2x,1x,4x,10x --json");
    for (int i = 0; i < 5; i++) {
        assert_true(saving(row_at(sweep, i), "topk") < 0.01);
        assert_true((saving(row_at(sweep, i), "none") >= 0.01) == worthwhile[i]);
    }
}

/* ---- files --------------------------------------------------------------------------------- */

/* The table's lines against the document's cells, to the last bit. */
static void check_table(const char *text, const cJSON *sweep) {
    const char *line = strchr(text, '\n') + 1;
    const cJSON *row = NULL;
    const cJSON *cell = NULL;
    assert_true(
        strncmp(text, "value,policy,compressor,groups,iteration_s\n", (size_t)(line - text)) == 0);
    cJSON_ArrayForEach(row, item_at(sweep, "rows")) {
        cJSON_ArrayForEach(cell, item_at(row, "plans")) {
            char policy[64];
            char compressor[64];
            double value = 0;
            double iteration_s = 0;
            size_t groups = 0;
            int length = 0;
            assert_int_equal(sscanf(line, "%lf,%63[^,],%63[^,],%zu,%lf%n", &value, policy,
                                    compressor, &groups, &iteration_s, &length),
                             5);
            assert_true(line[length] == '\n');
            assert_true(value == number_at(row, "value"));
            assert_string_equal(policy, text_at(cell, "policy"));
            assert_string_equal(compressor, text_at(cell, "compressor"));
            assert_true((double)groups == number_at(cell, "groups"));
            assert_true(iteration_s == number_at(cell, "iteration_s"));
            line += length + 1;
        }
    }
    assert_string_equal(line, "");
}

TEST(writes_the_same_as_table_and_document) {
    static const char *const sweeps[] = {"density=1e-4:1e-1:log20", "workers=2:32:lin31",
                                         "bandwidth=0.1x:10x:lin7"};
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) {
        char command[256];
        (void)snprintf(command, sizeof command, TINY " --sweep %s --json --out sweep.csv",
                       sweeps[i]);
        cJSON *printed = ask_sweep(*state, command);
        char *table = read_text(*state, "sweep.csv");
        check_table(table, printed);
        (void)snprintf(command, sizeof command, TINY " --sweep %s --out sweep.json", sweeps[i]);
        check_says(*state, command, NULL);
        char *document = read_text(*state, "sweep.json");
        cJSON *written = parse_document(document, SWEEP);
        assert_true(cJSON_Compare(printed, written, 1));
    }
    char *files = list_files(*state);
    assert_null(strstr(files, ".gradweave"));
}

FIXTURES(make_inputs, remove_folder)
