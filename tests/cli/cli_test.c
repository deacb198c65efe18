/* Answers of the program: documents have their fields, verbs agree with each other, and files are
 * whole. */
#include <math.h>
#include <sys/stat.h>

#include "tests/cli/program_inputs.h"
#include "tests/test.h"

#define TINY "tiny.json --cluster small.json"
#define RESNET50 "resnet50 --cluster p102-1gbe-16"

static bool has_name(const cJSON *list, const char *name) {
    const cJSON *entry = NULL;
    cJSON_ArrayForEach(entry, list) {
        if (strcmp(text_at(entry, "name"), name) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- plan ---------------------------------------------------------------------------------- */

/* The contract's fields, and groups of all tensors in the order in which they become ready. */
static void check_plan(const cJSON *plan, double tensors) {
    assert_string_equal(text_at(plan, "schema"), "gradweave/plan@1");
    assert_true(number_at(plan, "lower_bound_s") > 0);
    assert_true(number_at(plan, "lower_bound_s") <= number_at(plan, "iteration_s") * (1 + 1e-12));
    const cJSON *group = NULL;
    const cJSON *tensor = NULL;
    cJSON_ArrayForEach(group, item_at(plan, "groups")) {
        assert_true(cJSON_GetArraySize(group) > 0);
        cJSON_ArrayForEach(tensor, group) {
            assert_true(number_at(tensor, "") == --tensors);
        }
    }
    assert_true(tensors == 0);
}

TEST(ranks_all_policies) {
    cJSON *all =
        ask_for(*state, "gradweave/plans@1", "gradweave plan " TINY " --policy all --json");
    cJSON *list = ask_for(*state, "gradweave/list@1", "gradweave list policies --json");
    const cJSON *plans = item_at(all, "plans");
    assert_int_equal(cJSON_GetArraySize(plans), cJSON_GetArraySize(item_at(list, "policies")));
    double last_s = 0;
    const cJSON *plan = NULL;
    cJSON_ArrayForEach(plan, plans) {
        check_plan(plan, 4);
        assert_true(number_at(plan, "iteration_s") >= last_s);
        last_s = number_at(plan, "iteration_s");
    }
}

/* The file has what stdout says, and its simulation takes what it says. */
static void check_plan_file(const char *folder, const char *policy, const char *compressor,
                            const char *algorithm) {
    cJSON *printed = ask_for(folder, "gradweave/plan@1",
                             "gradweave plan " RESNET50 " --workers 8 --density 0.01 --policy %s "
                             "--compressor %s --out plan.json --json",
                             policy, compressor);
    char *text = read_text(folder, "plan.json");
    cJSON *written = parse_document(text, "gradweave/plan@1");
    assert_true(cJSON_Compare(printed, written, 1));
    check_plan(written, 161);
    cJSON *result =
        ask_result(folder,
                   "gradweave simulate " RESNET50 " --workers 8 --density 0.01 --algo %s "
                   "--plan plan.json --json",
                   algorithm);
    assert_true(near(number_at(result, "iteration_s"), number_at(written, "iteration_s"), 1e-9));
    assert_true(number_at(result, "groups") == cJSON_GetArraySize(item_at(written, "groups")));
}

TEST(simulates_the_plan_it_wrote) {
    static const char *const policies[] = {
        "per-tensor", "single", "threshold:100000", "bucket:1048576", "ddp", "mg-wfbp", "omgs"};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        check_plan_file(*state, policies[i], "topk", "omgs");
        check_plan_file(*state, policies[i], "none", "mg-wfbp");
    }
}

/* ---- simulate and compare ------------------------------------------------------------------ */

static void check_result(const cJSON *result) {
    assert_string_equal(text_at(result, "schema"), "gradweave/result@1");
    assert_true(strlen(text_at(result, "model")) > 0 && strlen(text_at(result, "algorithm")) > 0);
    assert_true(number_at(result, "workers") >= 1);
    assert_true(number_at(result, "density") > 0 && number_at(result, "density") <= 1);
    assert_true(number_at(result, "iterations") >= 1);
    assert_true(number_at(result, "groups") >= 1);
    assert_true(number_at(result, "comm_s") >= number_at(result, "breakdown.exposed_comm_s"));
    assert_true(number_at(result, "bytes_per_worker") > 0);
    check_times(result);
}

TEST(simulates_as_compare_does) {
    cJSON *comparison =
        ask_for(*state, "gradweave/comparison@1", "gradweave compare " TINY " --json");
    cJSON *list = ask_for(*state, "gradweave/list@1", "gradweave list algorithms --json");
    const cJSON *results = item_at(comparison, "results");
    assert_int_equal(cJSON_GetArraySize(results), cJSON_GetArraySize(item_at(list, "algorithms")));
    double last_s = 0;
    const cJSON *ranked = NULL;
    cJSON_ArrayForEach(ranked, results) {
        check_result(ranked);
        assert_true(has_name(item_at(list, "algorithms"), text_at(ranked, "algorithm")));
        assert_true(number_at(ranked, "iteration_s") >= last_s);
        last_s = number_at(ranked, "iteration_s");
        cJSON *alone = ask_result(*state, "gradweave simulate " TINY " --algo %s --json",
                                  text_at(ranked, "algorithm"));
        assert_true(cJSON_Compare(ranked, alone, 1));
    }
}

TEST(traces_every_worker) {
    cJSON *result =
        ask_result(*state, "gradweave simulate " TINY " --algo omgs --iterations 2 --trace "
                           "trace.json --straggler 1:1.2 --json");
    check_trace(*state, "trace.json", 4);
    char *text = read_text(*state, "trace.json");
    cJSON *trace = parse_document(text, NULL);
    double end_us = 0;
    const cJSON *event = NULL;
    cJSON_ArrayForEach(event, item_at(trace, "traceEvents")) {
        if (strcmp(text_at(event, "ph"), "X") == 0) {
            end_us = fmax(end_us, number_at(event, "ts") + number_at(event, "dur"));
        }
    }
    assert_true(near(end_us, 2e6 * number_at(result, "iteration_s"), 1e-9));
}

/* ---- bench --------------------------------------------------------------------------------- */

TEST(measures_compressors) {
    cJSON *document =
        ask_for(*state, "gradweave/bench@1",
                "gradweave bench compressors --elements 20000 --density 0.01 --repeats 3 --json");
    assert_true(number_at(document, "elements") == 20000);
    assert_true(number_at(document, "density") == 0.01);
    assert_true(number_at(document, "read_pass_s") > 0);
    size_t count = 0;
    const cJSON *row = NULL;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(document, "compressors")) {
        assert_true(number_at(row, "median_s") > 0);
        assert_true(number_at(row, "passes") > 0);
        assert_true(number_at(row, "energy_ratio") >= 0);
        assert_true(number_at(row, "outliers") <= 3);
        if (strcmp(text_at(row, "compressor"), "topk") == 0) {
            assert_true(number_at(row, "count_ratio") == 1);
            assert_true(number_at(row, "energy_ratio") == 1);
        }
        count++;
    }
    assert_true(count >= 10);
    check_says(*state,
               "gradweave bench compressors --elements 20000 --shape laplace --compressor dgc,topk "
               "--threads 2 --repeats 2",
               "20,000 elements (laplace)", "p5, p95", "dgc", "% +", NULL);
    struct answer once = ask(*state, "gradweave bench compressors --elements 20000 --repeats 1");
    assert_int_equal(once.status, 0);
    assert_null(strstr(once.out, "+0%"));
}

FIXTURES(make_inputs, remove_folder)
