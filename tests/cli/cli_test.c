/* Answers of the program: documents have their fields, verbs agree with each other, and files are
 * whole. */
#include <math.h>
#include <sys/stat.h>

#include "tests/cli/program_inputs.h"
#include "tests/test.h"

#define TINY "tiny.json --cluster small.json"
#define IDLE "idle-model.json --cluster idle-cluster.json"
#define RESNET50 "resnet50 --cluster p102-1gbe-16"

/* ---- help and version ---------------------------------------------------------------------- */

static const char *const verbs[] = {"calibrate", "plan",    "simulate", "compare",
                                    "validate",  "list",    "plot",     "bench",
                                    "advise",    "cluster", "model",    "report"};

TEST(helps_and_tells_its_version) {
    check_says(*state, "gradweave --version", "gradweave ", "MPI:  ", "CUDA: ", "NCCL: ", NULL);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        char command[64];
        char usage[64];
        check_says(*state, "gradweave --help", "Usage: gradweave VERB", verbs[i], NULL);
        (void)snprintf(usage, sizeof usage, "Usage: gradweave %s ", verbs[i]);
        (void)snprintf(command, sizeof command, "gradweave %s --help", verbs[i]);
        check_says(*state, command, usage, "--json", "--quiet", "--verbose", "--version", NULL);
        (void)snprintf(command, sizeof command, "gradweave %s --version", verbs[i]);
        check_says(*state, command, "gradweave ", "MPI:  ", "CUDA: ", "NCCL: ", NULL);
    }
}

/* ---- list ---------------------------------------------------------------------------------- */

static bool has_name(const cJSON *list, const char *name) {
    const cJSON *entry = NULL;
    cJSON_ArrayForEach(entry, list) {
        if (strcmp(text_at(entry, "name"), name) == 0) {
            return true;
        }
    }
    return false;
}

TEST(lists_what_there_is) {
    static const struct {
        const char *list, *name;
    } known[] = {{"algorithms", "omgs"},
                 {"algorithms", "dense"},
                 {"compressors", "topk"},
                 {"policies", "per-tensor"},
                 {"policies", "threshold:elements"},
                 {"collectives", "halving-doubling"},
                 {"models", "resnet50"},
                 {"clusters", "p102-1gbe-16"}};
    cJSON *all = ask_for(*state, "gradweave/list@1", "gradweave list --json");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const cJSON *entry = NULL;
        assert_true(has_name(item_at(all, known[i].list), known[i].name));
        cJSON_ArrayForEach(entry, item_at(all, known[i].list)) {
            assert_true(strlen(text_at(entry, "title")) > 0);
        }
        cJSON *one = ask_for(*state, "gradweave/list@1", "gradweave list %s --json", known[i].list);
        assert_int_equal(cJSON_GetArraySize(one), 2);
        assert_true(cJSON_Compare(item_at(one, known[i].list), item_at(all, known[i].list), 1));
        check_says(*state, "gradweave list", known[i].name, NULL);
    }
}

/* Every column has what its heading says. */
TEST(lists_exchanges_by_their_columns) {
    cJSON *list = ask_for(*state, "gradweave/list@1", "gradweave list exchanges --json");
    assert_true(has_name(item_at(list, "exchanges"), "leader"));
    const cJSON *entry = NULL;
    cJSON_ArrayForEach(entry, item_at(list, "exchanges")) {
        bool serves = strstr(text_at(entry, "collectives"), "push") != NULL;
        assert_string_equal(text_at(entry, "server"), serves ? "yes" : "no");
        assert_non_null(strstr(text_at(entry, "carries"), "compressor"));
        if (strcmp(text_at(entry, "name"), "leader") == 0) {
            assert_string_equal(text_at(entry, "collectives"), "broadcast, allreduce");
            assert_non_null(strstr(text_at(entry, "title"), "one worker in turn"));
            assert_non_null(strstr(text_at(entry, "source"), "ScaleCom"));
        }
    }
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

TEST(plans_one_policy) {
    cJSON *plan = ask_for(*state, "gradweave/plan@1",
                          "gradweave plan " TINY " --policy omgs --density 0.01 --json");
    check_plan(plan, 4);
    assert_string_equal(text_at(plan, "model"), "tiny");
    assert_string_equal(text_at(plan, "policy"), "omgs");
    assert_string_equal(text_at(plan, "compressor"), "topk");
    assert_true(number_at(plan, "density") == 0.01);
    assert_true(number_at(plan, "workers") == 4);
    assert_null(cJSON_GetObjectItem(plan, "notes"));
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
    check_says(*state, "gradweave plan " TINY, "policy ", "per-tensor", "no plan takes less than",
               NULL);
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

TEST(replaces_a_plan_whole) {
    const char *folder = *state;
    char old[64] = "";
    struct stat before;
    struct stat after;
    static const char plan[] = "{\"schema\": \"gradweave/plan@1\"}";
    write_text(folder, "plan.json", plan);
    FILE *reader = fopen(path_in(folder, "plan.json"), "re");
    assert_non_null(reader);
    assert_int_equal(fstat(fileno(reader), &before), 0);
    (void)ask_for(folder, "gradweave/plan@1",
                  "gradweave plan " TINY " --policy omgs --out plan.json --json");
    /* Who reads the old file goes on reading it; who opens it anew finds the new one. */
    assert_int_equal(fread(old, 1, sizeof old - 1, reader), strlen(plan));
    assert_string_equal(old, plan);
    (void)fclose(reader);
    assert_int_equal(stat(path_in(folder, "plan.json"), &after), 0);
    assert_true(after.st_ino != before.st_ino);
    char *text = read_text(folder, "plan.json");
    (void)parse_document(text, "gradweave/plan@1");
    char *files = list_files(folder);
    assert_null(strstr(files, ".gradweave"));
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
    check_says(*state, "gradweave compare " TINY, "tiny (4 tensors", "algorithm ", "omgs", NULL);
}

/* OMGS paper: 0.18 s of compute and 1.92 s of allreduce. */
TEST(dense_resnet50_takes_what_was_published) {
    cJSON *result = ask_result(*state, "gradweave simulate " RESNET50 " --algo dense --json");
    check_result(result);
    assert_true(
        near(number_at(result, "breakdown.forward_s") + number_at(result, "breakdown.backward_s"),
             0.18, 1e-6));
    assert_true(near(number_at(result, "breakdown.exposed_comm_s"), 1.92, 1e-6));
    assert_true(near(number_at(result, "iteration_s"), 0.18 + 1.92, 1e-6));
    assert_true(number_at(result, "bytes_per_worker") == 102228128);
    assert_true(number_at(result, "workers") == 16);
    check_says(*state, "gradweave simulate " RESNET50 " --algo dense", "resnet50 (161 tensors",
               "exposed communication", "2.100 s", NULL);
}

TEST(says_what_was_not_measured) {
    static const char *const commands[] = {
        "gradweave plan " TINY " --policy omgs --workers ",
        "gradweave simulate " TINY " --algo omgs --workers ",
        "gradweave compare " TINY " --algo topk,omgs --workers ",
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char derived[128];
        (void)snprintf(derived, sizeof derived, "%s32", commands[i]);
        check_says(*state, derived, "note: ", "allgather: 32 workers not measured; derived from 4",
                   NULL);
        assert_null(strstr(ask(*state, "%s4", commands[i]).out, "note"));
    }
    cJSON *result =
        ask_result(*state, "gradweave simulate " TINY " --algo dense --workers 32 --json");
    const cJSON *note = cJSON_GetArrayItem(item_at(result, "notes"), 0);
    assert_non_null(strstr(text_at(note, ""), "allreduce: 32 workers not measured"));
}

static void write_device(const char *folder, const char *name, const char *kind, const char *device,
                         const char *document) {
    char text[4096];
    (void)snprintf(text, sizeof text, "{'schema': 'gradweave/%s@1', 'source': {'device': '%s'}, %s",
                   kind, device, strstr(document, "'name'"));
    write_text(folder, name, text);
}

/* Compressors' curves of processors beside a model of a GPU: only where something is compressed. */
TEST(says_what_was_timed_on_another_device) {
    static const char *const devices[] = {"cpu", "cuda", "A GPU"};
    need_gnuplot();
    for (size_t c = 0; c < 3; c++) {
        for (size_t m = 0; m < 3; m++) {
            write_device(*state, "there.json", "cluster", devices[c], small_cluster);
            write_device(*state, "here.json", "model", devices[m], tiny_model);
            struct answer sparse =
                ask(*state, "gradweave simulate here.json --cluster there.json --algo topk");
            struct answer dense =
                ask(*state, "gradweave simulate here.json --cluster there.json --algo dense");
            assert_int_equal(sparse.status, 0);
            assert_true((strstr(sparse.out, "compression was timed on") != NULL) ==
                        ((c == 0) != (m == 0)));
            assert_null(strstr(dense.out, "timed on"));
        }
    }
    static const struct {
        const char *command;
        bool says;
    } others[] = {
        {"plan here.json --cluster there.json -p omgs", true},
        {"plan here.json --cluster there.json -p omgs --json", true},
        {"plan here.json --cluster there.json", true},
        {"plan here.json --cluster there.json -c none", false},
        {"plan here.json --cluster there.json --sweep workers=2:4", true},
        {"plan here.json --cluster there.json --sweep workers=2:4 --json", true},
        {"export goal here.json --cluster there.json --algo topk --out a.goal", true},
        {"export goal here.json --cluster there.json --algo topk --out b.goal --json", true},
        {"export goal here.json --cluster there.json --algo dense --out c.goal", false},
        {"plot breakdown here.json --cluster there.json --algo topk --out a.svg", true},
        {"plot breakdown here.json --cluster there.json --algo topk --out b.svg --json", true},
        {"plot breakdown here.json --cluster there.json --algo dense --out c.svg", false},
    };
    write_device(*state, "there.json", "cluster", "cpu", small_cluster);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct answer answer = ask(*state, "gradweave %s", others[i].command);
        bool says = strstr(answer.out, "on processors (small),") != NULL;
        if (answer.status != 0 || says != others[i].says) {
            fail_msg("%s: status %d, stdout: %s, stderr: %s", others[i].command, answer.status,
                     answer.out, answer.err);
        }
    }
}

/* The density is of what is compressed; an algorithm that is named twice is shown once. */
TEST(says_what_is_dense) {
    static const char *const dense[] = {
        "gradweave simulate " TINY " --algo dense",
        "gradweave plan " TINY " --compressor none",
        "gradweave compare " TINY " --algo dense,p-sgd,dense",
        "gradweave compare " TINY " --algo omgs,topk --compressor none",
    };
    for (size_t i = 0; i < sizeof dense / sizeof *dense; i++) {
        const char *text = check_says(*state, dense[i], "4 workers, cluster small, dense\n", NULL);
        assert_null(strstr(text, "density"));
    }
    check_says(*state, "gradweave compare " TINY " --algo dense,omgs", "density 0.001\n", NULL);
    cJSON *twice =
        ask_document(*state, "gradweave compare " TINY " --algo dense,p-sgd,dense --json",
                     "gradweave/comparison@1");
    assert_int_equal(cJSON_GetArraySize(item_at(twice, "results")), 2);
}

TEST(names_do_not_command_the_terminal) {
    write_text(*state, "red.json",
               "{'schema': 'gradweave/model@1', 'name': '\\u001b[31mred\\u009b', 'forward_s': 1, "
               "'tensors': [{'name': '\\u001b[2J', 'elements': 10, 'backward_s': 0}]}");
    check_says(*state, "gradweave plan red.json --cluster small.json --explain",
               "\\x1b[31mred\\u009b (1 tensors", "\\x1b[2J\n", NULL);
    write_text(*state, "long.json",
               "{'schema': 'gradweave/model@1', 'name': 'two\\nlines', 'forward_s': 1, "
               "'tensors': [{'name': 'a', 'elements': 10, 'backward_s': 0}]}");
    check_says(*state, "gradweave simulate long.json --cluster small.json --algo dense",
               "two\\x0alines (1 tensors", NULL);
    struct answer broken = ask(*state, "gradweave plan " TINY " --policy a\nb --density x\ny");
    assert_non_null(strstr(broken.err, "got \"x\\x0ay\""));
    static const struct {
        const char *command, *shown;
    } refused[] = {
        {"gradweave plan red.json --cluster small.json --plan", "unrecognized option '--plan'"},
        {"gradweave plan --x\033[31m", "unrecognized option '--x\\x1b[31m'"},
        {"gradweave plan --x\033[31m=1", "unrecognized option '--x\\x1b[31m=1'"},
        {"gradweave plan -qx", "invalid option -- 'x'"},
        {"gradweave plan -q\033[31m", "invalid option -- '\\x1b'"},
        {"gradweave simulate --n=\033[31m", "option '--n' is ambiguous"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct answer answer = ask(*state, refused[i].command);
        assert_int_equal(answer.status, 2);
        assert_null(strchr(answer.err, '\033'));
        assert_non_null(strstr(answer.err, refused[i].shown));
    }
    write_text(*state, "odd.json", "{'schema': '\\u001b[31m'}");
    struct answer odd = ask(*state, "gradweave plan odd.json --cluster small.json");
    assert_int_equal(odd.status, 2);
    assert_non_null(strstr(odd.err, "got \"\\x1b[31m\""));
}

TEST(repeats_noise_from_its_seed) {
    static const char *const command =
        "gradweave simulate " TINY " --algo omgs --iterations 5 --noise 0.1 --json --seed ";
    char other_command[256];
    char first_command[256];
    (void)snprintf(first_command, sizeof first_command, "%s7", command);
    (void)snprintf(other_command, sizeof other_command, "%s8", command);
    struct answer first = ask(*state, first_command);
    struct answer again = ask(*state, first_command);
    struct answer other = ask(*state, other_command);
    assert_int_equal(first.status, 0);
    assert_string_equal(first.out, again.out);
    assert_string_not_equal(first.out, other.out);
    cJSON *result = parse_document(first.out, "gradweave/result@1");
    check_result(result);
    assert_true(number_at(result, "iterations") == 5);
    assert_true(number_at(result, "iteration_sd_s") > 0);
}

/* All wait for the slowest: without overlap, its compute counts. */
TEST(waits_for_stragglers) {
    double alike_s = number_at(
        ask_result(*state, "gradweave simulate " TINY " --algo dense --json"), "iteration_s");
    double slow_s =
        number_at(ask_result(*state, "gradweave simulate " TINY
                                     " --algo dense --straggler 3:2 --straggler 1:1.5 --json"),
                  "iteration_s");
    assert_true(near(slow_s - alike_s, 0.0056, 1e-9));
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

/* ---- what takes no time --------------------------------------------------------------------- */

/* The place of an entry whose `key` is this text. */
static int place_of(const cJSON *list, const char *key, const char *text) {
    int place = 0;
    const cJSON *entry = NULL;
    cJSON_ArrayForEach(entry, list) {
        if (strncmp(text_at(entry, key), text, strcspn(text, ":")) == 0) {
            return place;
        }
        place++;
    }
    print_error("%s: not in the list\n", text);
    fail();
    return -1;
}

TEST(says_shares_of_nothing) {
    static const char *const commands[] = {
        "gradweave plan " IDLE,
        "gradweave compare " IDLE,
        "gradweave simulate " IDLE " --algo omgs",
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        struct answer answer = ask(*state, commands[i]);
        assert_int_equal(answer.status, 0);
        assert_null(strstr(answer.out, "nan"));
        assert_null(strstr(answer.out, "inf"));
    }
}

/* All take as long: algorithms stay in their table's order, plans with few groups come first. */
TEST(ranks_equals_in_the_tables_order) {
    cJSON *list = ask_for(*state, "gradweave/list@1", "gradweave list --json");
    cJSON *comparison =
        ask_for(*state, "gradweave/comparison@1", "gradweave compare " IDLE " --json");
    cJSON *plans = ask_for(*state, "gradweave/plans@1", "gradweave plan " IDLE " --json");
    int place = 0;
    const cJSON *entry = NULL;
    cJSON_ArrayForEach(entry, item_at(list, "algorithms")) {
        const cJSON *result = cJSON_GetArrayItem(item_at(comparison, "results"), place++);
        assert_string_equal(text_at(result, "algorithm"), text_at(entry, "name"));
        assert_true(number_at(result, "iteration_s") == 0);
    }
    int last_groups = 0;
    int last_place = -1;
    cJSON_ArrayForEach(entry, item_at(plans, "plans")) {
        int groups = cJSON_GetArraySize(item_at(entry, "groups"));
        place = place_of(item_at(list, "policies"), "name", text_at(entry, "policy"));
        assert_true(groups > last_groups || (groups == last_groups && place > last_place));
        last_groups = groups;
        last_place = place;
    }
    assert_true(last_groups == 3);
}

/* ---- plot ---------------------------------------------------------------------------------- */

TEST(draws_a_prediction) {
    need_gnuplot();
    cJSON *document =
        ask_for(*state, "gradweave/plot@1",
                "gradweave plot breakdown " TINY " --out bars.png --data bars.csv --json");
    assert_string_equal(text_at(document, "picture"), "bars.png");
    check_png(*state, "bars.png");
    char *table = read_text(*state, "bars.csv");
    assert_non_null(strstr(table, "label,kind,forward_s,backward_s,compress_s,exposed_comm_s"));
    assert_non_null(strstr(table, ",omgs,"));
    char *files = list_files(*state);
    assert_null(strstr(files, ".gradweave"));
}

/* Names of many pipelines stand aslant, as they would cover each other. */
TEST(draws_many_names_aslant) {
    static const struct {
        const char *command;
        bool aslant;
    } cases[] = {{"gradweave plot breakdown " TINY " --out names.svg", true},
                 {"gradweave plot breakdown " TINY " --algo dense,omgs --out names.svg", false}};
    need_gnuplot();
    for (size_t i = 0; i < 2; i++) {
        check_says(*state, cases[i].command, NULL);
        char *picture = read_text(*state, "names.svg");
        assert_true((strstr(picture, "rotate(-35") != NULL) == cases[i].aslant);
    }
}

/* gnuplot must not complain about an empty picture. */
TEST(draws_no_time_at_all) {
    need_gnuplot();
    check_says(*state, "gradweave plot breakdown " IDLE " --out idle.png", NULL);
    check_png(*state, "idle.png");
}

TEST(draws_a_validation) {
    need_gnuplot();
    static const char side[] =
        "{'iteration_s': 0.010, 'breakdown': {'forward_s': 0.002, 'backward_s': 0.004, "
        "'compress_s': 0.001, 'exposed_comm_s': 0.003, 'other_s': 0}, 'comm_s': 0.004}";
    char document[1024];
    (void)snprintf(
        document, sizeof document,
        "{'schema': 'gradweave/validation@1', 'model': 'tiny', 'workers': 2, 'complete': true, "
        "'results': [{'algorithm': 'omgs', 'predicted': %s, 'measured': %s, 'error': 0}]}",
        side, side);
    write_text(*state, "validation.json", document);
    check_says(*state, "gradweave plot validation validation.json --out pairs.png", NULL);
    check_png(*state, "pairs.png");
}

TEST(draws_bounds) {
    need_gnuplot();
    check_says(*state, "gradweave plot bounds --elements 1000 --out bounds.png --data bounds.csv",
               NULL);
    check_png(*state, "bounds.png");
    char *table = read_text(*state, "bounds.csv");
    assert_memory_equal(table, "#k / d,random-k: 1 - k/d,bound: (1 - k/d)^2,top-k\n", 50);
    assert_non_null(strstr(table, "0.001,0.999,0.998001,"));
    assert_non_null(strstr(table, "\n1,0,0,0\n"));
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
