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

/* Dense, each tensor alone: 0.5 ms + 20 ns a byte; worked out by hand. */
TEST(prints_a_table_and_a_summary) {
    check_says(
        *state, "gradweave plan " TINY " --policy per-tensor --compressor none --explain",
        "per-tensor, 4 groups:",
        "group  tensors  elements     ready  compress  exchange     until  waiting             "
        "names",
        "    0  3             100  2.100 ms       0 s  2.100 ms  2.608 ms  network 2.100 ms    "
        "fc.bias",
        "    1  2          50,000  4.100 ms       0 s  4.100 ms  8.600 ms  network 1.492 ms    "
        "fc.weight",
        "    2  1           3,000  4.600 ms       0 s  8.600 ms  9.340 ms  gradients 4.000 ms  "
        "norm",
        "    3  0          20,000  5.600 ms       0 s  9.340 ms  11.44 ms  gradients 3.740 ms  "
        "conv",
        "Exchanges take 7.848 ms: 2.008 ms (25.6%) hidden behind compute, 5.840 ms exposed at the "
        "end.",
        "Gradients of 2 of 4 groups wait for the network, those of group 2 longest, 4.000 ms.",
        "The network waits 2.100 ms for the first group and 1.492 ms between groups.",
        "The network is the bottleneck: 4.100 ms of compute until group 1 can travel, then 7.340 "
        "ms of exchange without a pause.",
        NULL);
}

/* Long names are shortened to fit: all, modules, one module, the first, the end of the first. */
TEST(shortens_names) {
    static const struct {
        const char *first, *last, *shown;
    } table[] = {
        {"encoder.layer.11.weight", "a", "encoder.layer.11.weight .. a"},
        {"layer4.2.conv3.weight", "layer4.2.bn1.bias", "layer4.2.conv3 .. layer4.2.bn1"},
        {"encoder.layer.11.weight", "encoder.layer.11.bias", "encoder.layer.11"},
        {"encoder.layer.11.weight", "encoder.layer.10.attention.bias",
         "encoder.layer.11.weight .."},
        {"model.encoder.layer.11.attention.weight", "a.b", "..layer.11.attention.weight .."},
        {"model.12345.attention.output.bias", "a.b", "..12345.attention.output.bias .."},
        {"a_name_that_has_no_parts_but_many_letters", "b", "..s_no_parts_but_many_letters .."},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       "{'schema': 'gradweave/model@1', 'name': 'long', 'forward_s': 0, 'tensors': "
                       "[{'name': '%s', 'elements': 1, 'backward_s': 0}, "
                       "{'name': '%s', 'elements': 1, 'backward_s': 0}]}",
                       table[i].last, table[i].first);
        write_text(*state, "long.json", text);
        struct answer answer =
            ask(*state, "gradweave plan long.json --cluster small.json -p single --explain");
        (void)snprintf(text, sizeof text, "  %s\n", table[i].shown);
        if (strstr(answer.out, text) == NULL) {
            print_error("expected \"%s\" in: %s\n", table[i].shown, answer.out);
            fail();
        }
    }
}

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

TEST(explains_the_best_of_all) {
    cJSON *all =
        ask_document(*state, "gradweave plan " TINY " --explain --json", "gradweave/plans@1");
    const cJSON *plan = NULL;
    int place = 0;
    cJSON_ArrayForEach(plan, item_at(all, "plans")) {
        assert_true((cJSON_GetObjectItem(plan, "explanation") != NULL) == (place++ == 0));
    }
    struct answer answer = ask(*state, "gradweave plan " TINY " --explain");
    assert_non_null(strstr(answer.out, "\noptimal, "));
}

/* Not in what is printed, and never in a plan file. */
TEST(explains_only_when_asked) {
    cJSON *plain = ask_document(
        *state, "gradweave plan " TINY " --policy omgs --out plain.json --json", plan_schema);
    cJSON *explained = ask_document(
        *state, "gradweave plan " TINY " --policy omgs --out file.json --explain --json",
        plan_schema);
    char *text = read_text(*state, "file.json");
    cJSON *file = parse_document(text, plan_schema);
    assert_null(cJSON_GetObjectItem(plain, "explanation"));
    assert_true(cJSON_Compare(plain, file, 1));
    cJSON_DeleteItemFromObject(explained, "explanation");
    assert_true(cJSON_Compare(plain, explained, 1));
    struct answer answer = ask(*state, "gradweave plan " TINY " --policy omgs");
    assert_null(strstr(answer.out, "Exchanges take"));
}

/* Each plan's iteration with interference is that of its pipeline, as simulate has it. */
TEST(says_what_plans_take_with_interference) {
    static const char *const pairs[][2] = {
        {"optimal", "omgs-optimal"}, {"threshold:8192", "mgs"}, {"single", "topk"}};
    cJSON *plans = ask_document(*state, "gradweave plan resnet50 --cluster box-4x1gbit --json",
                                "gradweave/plans@1");
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const cJSON *plan = NULL;
        size_t found = 0;
        cJSON *result = ask_for(
            *state, "gradweave/result@1",
            "gradweave simulate resnet50 --cluster box-4x1gbit --algo %s --json", pairs[i][1]);
        cJSON_ArrayForEach(plan, item_at(plans, "plans")) {
            if (strcmp(text_at(plan, "policy"), pairs[i][0]) == 0) {
                assert_true(near(number_at(plan, "interfered_iteration_s"),
                                 number_at(result, "iteration_s"), 1e-9));
                found++;
            }
        }
        assert_int_equal(found, 1);
    }
    check_says(*state, "gradweave plan resnet50 --cluster box-4x1gbit", "with interference",
               "without interference no plan takes less than", "as compare and simulate do:", NULL);
    struct answer answer =
        ask(*state, "gradweave plan resnet50 --cluster box-4x1gbit --no-interference");
    assert_null(strstr(answer.out, "interference"));
}

/* ---- pictures ------------------------------------------------------------------------------ */

static void check_start(const char *folder, const char *name, const char *start) {
    char *text = read_text(folder, name);
    assert_int_equal(strncmp(text, start, strlen(start)), 0);
}

/* The document is printed as ever; that stderr stays empty says that gnuplot liked the script. */
TEST(draws_the_streams) {
    need_gnuplot();
    static const char *const plans[] = {
        TINY " --policy single", TINY " --policy per-tensor --compressor none",
        RESNET50 " --policy per-tensor", RESNET50 " --policy optimal --workers 1",
        "idle-model.json --cluster idle-cluster.json --policy omgs"};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        (void)ask_for(*state, plan_schema, "gradweave plan %s --out plan.png --json", plans[i]);
        check_png(*state, "plan.png");
        assert_int_equal(unlink(path_in(*state, "plan.png")), 0);
    }
    (void)ask_document(*state, "gradweave plan " TINY " --out plan.svg --json",
                       "gradweave/plans@1");
    check_start(*state, "plan.svg", "<?xml");
    (void)ask_document(*state, "gradweave plan " TINY " --out plan.pdf --json",
                       "gradweave/plans@1");
    check_start(*state, "plan.pdf", "%PDF");
    char *files = list_files(*state);
    assert_null(strstr(files, ".gradweave"));
}

/* The legend of what a command draws, of a model that ends in an update, has just these. */
static void check_legend(const char *folder, const char *command, const char *const *expected) {
    static const char *const all[] = {
        "forward",          "backward", "compression", "hidden exchange",
        "exposed exchange", "update",   "idle"};
    (void)ask_document(folder, command, plan_schema);
    char *picture = read_text(folder, "legend.svg");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, ">%s</tspan>", all[i]);
        bool listed = *expected != NULL && strcmp(*expected, all[i]) == 0;
        if (listed != (strstr(picture, text) != NULL)) {
            print_error("%s: expected %s%s in the legend\n", command, listed ? "" : "no ", all[i]);
            fail();
        }
        expected += listed;
    }
}

TEST(legends_have_what_is_drawn) {
    need_gnuplot();
    write_text(*state, "updating.json",
               "{'schema': 'gradweave/model@1', 'name': 'updating', 'forward_s': 0, 'update_s': 1, "
               "'tensors': [{'name': 'a', 'elements': 10, 'backward_s': 1}]}");
    check_legend(*state, "gradweave plan " TINY " --policy per-tensor --json --out legend.svg",
                 (const char *const[]){"forward", "backward", "compression", "hidden exchange",
                                       "exposed exchange", "idle", NULL});
    check_legend(
        *state, "gradweave plan " TINY " --policy single --compressor none --json --out legend.svg",
        (const char *const[]){"forward", "backward", "exposed exchange", "idle", NULL});
    check_legend(*state,
                 "gradweave plan updating.json --cluster idle-cluster.json --policy single --json "
                 "--out legend.svg",
                 (const char *const[]){"backward", "update", "idle", NULL});
    check_legend(*state,
                 "gradweave plan idle-model.json --cluster idle-cluster.json --policy single "
                 "--json --out legend.svg",
                 (const char *const[]){NULL});
}

/* A script may give a device or a pipe. */
TEST(writes_plans_under_names_without_ending) {
    static const char *const names[] = {"plan.json", "plan", "png", "./plan"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cJSON *printed = ask_for(*state, plan_schema,
                                 "gradweave plan " TINY " --policy omgs --out %s --json", names[i]);
        char *text = read_text(*state, names[i]);
        cJSON *written = parse_document(text, plan_schema);
        assert_true(cJSON_Compare(printed, written, 1));
    }
}

FIXTURES(make_inputs, remove_folder)

/* ---- keys that nothing reads ---------------------------------------------------------------- */

TEST(warns_of_keys_that_nothing_reads) {
    static const char warning[] = "gradweave: warning: typed.json: nothing reads the key "
                                  "\"byte_per_element\"; did you mean \"bytes_per_element\"?\n";
    write_text(*state, "typed.json",
               "{'schema': 'gradweave/model@1', 'name': 'm', 'forward_s': 1, 'byte_per_element': "
               "2, 'tensors': [{'name': 'a', 'elements': 1, 'backward_s': 1}]}");
    struct answer answer =
        ask(*state, "gradweave plan typed.json --cluster small.json -p omgs --json");
    assert_int_equal(answer.status, 0);
    assert_string_equal(answer.err, warning);
    parse_document(answer.out, "gradweave/plan@1");
    answer = ask(*state, "gradweave plan typed.json --cluster small.json -p omgs --quiet");
    assert_int_equal(answer.status, 0);
    assert_string_equal(answer.err, "");
}
