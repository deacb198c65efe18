/* Explanations by `gradweave plan`: they agree with the simulator's timeline, add up, and appear
 * only on request; the plan's picture can be drawn. */
#include "tests/cli/program_inputs.h"
#include "tests/test.h"

#define TINY "tiny.json --cluster small.json"
#define RESNET50 "resnet50 --cluster p102-1gbe-16"

static const char plan_schema[] = "gradweave/plan@1";

/* ---- against the simulator ----------------------------------------------------------------- */

static const cJSON *group_at(const cJSON *plan, int g) {
    const cJSON *group = cJSON_GetArrayItem(item_at(plan, "explanation.groups"), g);
    assert_non_null(group);
    return group;
}

/* The trace's events of one activity, in their groups' order. */
static void check_events(const cJSON *trace, const char *activity, const cJSON *plan,
                         const char *start, const char *end) {
    int groups = 0;
    const cJSON *event = NULL;
    cJSON_ArrayForEach(event, item_at(trace, "traceEvents")) {
        const cJSON *category = cJSON_GetObjectItem(event, "cat");
        if (category == NULL || strcmp(text_at(category, ""), activity) != 0 ||
            number_at(event, "pid") > 0) {
            continue;
        }
        const cJSON *group = group_at(plan, (int)number_at(event, "args.group"));
        double start_s = number_at(event, "ts") / 1e6;
        assert_true(near(number_at(group, start), start_s, 1e-9));
        if (end != NULL) {
            assert_true(near(number_at(group, end), start_s + number_at(event, "dur") / 1e6, 1e-9));
        }
        assert_true(number_at(group, "elements") == number_at(event, "args.elements"));
        groups++;
    }
    assert_int_equal(groups, cJSON_GetArraySize(item_at(plan, "groups")));
}

static void check_simulation(const char *folder, const char *policy, const char *compressor,
                             const char *algorithm) {
    char command[256];
    (void)snprintf(command, sizeof command,
                   "gradweave plan " RESNET50 " --policy %s --compressor %s --out plan.json "
                   "--explain --json",
                   policy, compressor);
    cJSON *plan = ask_document(folder, command, plan_schema);
    (void)snprintf(command, sizeof command,
                   "gradweave simulate " RESNET50 " --algo %s --plan plan.json --json "
                   "--trace trace.json",
                   algorithm);
    cJSON *result = ask_result(folder, command);
    char *text = read_text(folder, "trace.json");
    cJSON *trace = parse_document(text, NULL);
    check_events(trace, "exchange", plan, "exchange_start_s", "exchange_end_s");
    if (strcmp(compressor, "none") != 0) {
        check_events(trace, "compress", plan, "ready_s", NULL);
    }
    double exposed_s = number_at(result, "breakdown.exposed_comm_s");
    assert_true(near(number_at(plan, "explanation.exposed_comm_s"), exposed_s, 1e-9));
    assert_true(near(number_at(plan, "explanation.comm_s"), number_at(result, "comm_s"), 1e-9));
}

TEST(explains_what_is_simulated) {
    static const char *const policies[] = {"per-tensor", "single", "ddp", "omgs", "optimal"};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        check_simulation(*state, policies[i], "topk", "omgs");
        check_simulation(*state, policies[i], "none", "mg-wfbp");
    }
}

/* ---- sums ---------------------------------------------------------------------------------- */

/* Forward, backward, compression and what is exposed; and the network's waits and exchanges. */
static void check_sums(const cJSON *plan, double forward_and_backward_s, double elements) {
    double compute_s = forward_and_backward_s;
    double network_s = 0;
    double exchange_s = 0;
    const cJSON *group = NULL;
    cJSON_ArrayForEach(group, item_at(plan, "explanation.groups")) {
        double start_s = number_at(group, "exchange_start_s");
        double duration_s = number_at(group, "exchange_end_s") - start_s;
        double compressed_s = number_at(group, "ready_s") + number_at(group, "compress_s");
        assert_true(near(start_s, compressed_s + number_at(group, "gradients_wait_s"), 1e-12));
        compute_s += number_at(group, "compress_s");
        network_s += number_at(group, "network_wait_s") + duration_s;
        exchange_s += duration_s;
        elements -= number_at(group, "elements");
    }
    double iteration_s = number_at(plan, "iteration_s");
    double exposed_s = number_at(plan, "explanation.exposed_comm_s");
    assert_true(near(network_s, iteration_s, 1e-12));
    assert_true(near(compute_s + exposed_s, iteration_s, 1e-12));
    assert_true(near(number_at(plan, "explanation.comm_s"), exchange_s, 1e-12));
    assert_true(elements == 0);
}

/* From the critical group on no gradient travels at once; the path from its end is the longest. */
static void check_critical_group(const cJSON *plan) {
    int critical = (int)number_at(plan, "explanation.critical_group");
    int count = cJSON_GetArraySize(item_at(plan, "groups"));
    double compute_s = number_at(group_at(plan, critical), "exchange_start_s");
    double rest_s = number_at(plan, "iteration_s") - compute_s;
    assert_true(number_at(group_at(plan, critical), "gradients_wait_s") == 0);
    for (int g = critical + 1; g < count; g++) {
        assert_true(number_at(group_at(plan, g), "gradients_wait_s") > 0);
        assert_true(number_at(group_at(plan, g), "network_wait_s") == 0);
    }
    assert_string_equal(text_at(plan, "explanation.bottleneck"),
                        compute_s < rest_s ? "communication" : "compute");
}

TEST(explains_sums) {
    static const char *const policies[] = {"per-tensor", "single", "threshold:20000", "optimal"};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        for (int dense = 0; dense < 2; dense++) {
            cJSON *plan =
                ask_for(*state, plan_schema,
                        "gradweave plan " TINY " --policy %s --compressor %s --explain --json",
                        policies[i], dense ? "none" : "topk");
            check_sums(plan, 0.0056, 73100);
            check_critical_group(plan);
        }
    }
}

/* ---- what is printed ----------------------------------------------------------------------- */

TEST(fits_a_terminal) {
    static const char *const policies[] = {"per-tensor", "ddp", "omgs", "optimal"};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        struct answer answer =
            ask(*state, "gradweave plan " RESNET50 " -p %s --explain", policies[i]);
        assert_int_equal(answer.status, 0);
        for (const char *line = answer.out; *line != '\0'; line += strcspn(line, "\n") + 1) {
            assert_true(strcspn(line, "\n") <= 120);
        }
    }
}

FIXTURES(make_inputs, remove_folder)
