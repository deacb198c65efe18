/*
 * The verbs that run as MPI jobs: calibrate and validate, as a user starts them, and what is left
 * when they are interrupted. Skipped without MPI.
 */
#include <signal.h>
#include <sys/stat.h>

#include "tests/cli/program_inputs.h"
#include "tests/test.h"

#include "tests/cli/job_support.h"

#define QUICK "--max-bytes 8192 --max-elements 8192 --max-time 0.02 --time 4"
#define ENDLESS "--max-time 100000 --precision 1e-9"
#define TINY "tiny.json --cluster small.json"

/* ---- calibrate ----------------------------------------------------------------------------- */

/* Raw medians, and the fit that was chosen from them. */
static void check_measured(const cJSON *curve, const char *size) {
    double last = 0;
    const cJSON *raw = NULL;
    cJSON_ArrayForEach(raw, item_at(curve, "raw")) {
        assert_true(number_at(raw, size) > last);
        last = number_at(raw, size);
        assert_true(number_at(raw, "median_low_s") <= number_at(raw, "median_s"));
        assert_true(number_at(raw, "median_s") <= number_at(raw, "median_high_s"));
        assert_true(number_at(raw, "repeats") >= 1);
    }
    assert_true(last > 0);
    assert_true(strlen(text_at(curve, "fit.chosen")) > 0);
}

/* The expected half of a ping-pong, as the man page says. */
static double predict(const cJSON *link, double bytes) {
    double gap_s = number_at(link, "gap_s");
    double bytes_s = bytes * number_at(link, "gap_s_per_byte");
    return 2 * number_at(link, "overhead_s") + bytes * number_at(link, "overhead_s_per_byte") +
           (gap_s > bytes_s ? gap_s : bytes_s) + number_at(link, "latency_s");
}

/* Ping-pongs are predicted within the stated error, half of them within the median one. */
static void check_network(const cJSON *network) {
    const cJSON *link = item_at(network, "within");
    double median = number_at(link, "fit.median_relative_error");
    double largest = number_at(link, "fit.max_relative_error");
    size_t count = 0;
    size_t good = 0;
    const cJSON *raw = NULL;
    assert_null(cJSON_GetObjectItem(network, "between"));
    assert_true(number_at(network, "oversubscription") == 1);
    cJSON_ArrayForEach(raw, item_at(link, "raw")) {
        double median_s = number_at(raw, "median_s");
        assert_true(median_s > 0);
        if (strcmp(text_at(raw, "what"), "ping-pong") == 0) {
            double off = fabs(predict(link, number_at(raw, "bytes")) - median_s) / median_s;
            assert_true(off <= largest * (1 + 1e-9));
            good += off <= median * (1 + 1e-9);
            count++;
        }
    }
    assert_true(count >= 8 && 2 * good >= count);
    assert_true(predict(link, 1) > 0 && number_at(link, "gap_s_per_byte") > 0);
}

static void check_calibrated(const cJSON *cluster) {
    assert_string_equal(text_at(cluster, "schema"), "gradweave/cluster@1");
    assert_string_equal(text_at(cluster, "name"), "mine");
    assert_true(number_at(cluster, "workers") == 2);
    assert_string_equal(text_at(cluster, "source.kind"), "measured");
    assert_true(strlen(text_at(cluster, "source.date")) >= strlen("2020-01-01"));
    assert_non_null(
        strstr(text_at(cluster, "source.command"), "calibrate --nodes 2 --out mine.json"));
    assert_true(cJSON_GetArraySize(item_at(cluster, "source.hosts")) == 1);
    const cJSON *measured = NULL;
    cJSON_ArrayForEach(measured, item_at(cluster, "collectives")) {
        assert_int_equal(cJSON_GetArraySize(measured), 1);
        check_measured(cJSON_GetArrayItem(measured, 0), "bytes");
    }
    cJSON_ArrayForEach(measured, item_at(cluster, "compressors")) {
        check_measured(measured, "elements");
    }
    (void)item_at(cluster, "collectives.allgather");
    (void)item_at(cluster, "collectives.allreduce");
    check_measured(item_at(cluster, "compressors.topk.together"), "elements");
    assert_int_equal(number_at(cluster, "sharing.ranks"), 2);
    assert_true(number_at(cluster, "sharing.processors") >= 1);
    assert_int_equal(number_at(cluster, "sharing.together"), 2);
    check_network(item_at(cluster, "network"));
}

/* The cluster as data that ships would be listed. */
static void check_listed(const char *folder) {
    assert_int_equal(mkdir(path_in(folder, "clusters"), 0700), 0);
    assert_int_equal(rename(path_in(folder, "mine.json"), path_in(folder, "clusters/mine.json")),
                     0);
    struct answer list = ask(folder, "/usr/bin/env GRADWEAVE_DATA=. gradweave list clusters");
    assert_non_null(strstr(list.out, "2 workers, 2 per node, measured, with a network"));
    assert_int_equal(rename(path_in(folder, "clusters/mine.json"), path_in(folder, "mine.json")),
                     0);
}

TEST(calibrates_what_plan_and_simulate_read) {
    need_mpi();
    cJSON *cluster =
        ask_document(*state, "gradweave calibrate --nodes 2 --out mine.json --json " QUICK,
                     "gradweave/cluster@1");
    check_calibrated(cluster);
    char *text = read_text(*state, "mine.json");
    cJSON *written = parse_document(text, "gradweave/cluster@1");
    assert_true(cJSON_Compare(cluster, written, 1));
    (void)ask_document(*state, "gradweave plan tiny.json --cluster mine.json --json",
                       "gradweave/plans@1");
    (void)ask_document(*state, "gradweave compare tiny.json --cluster mine.json --json",
                       "gradweave/comparison@1");
    check_listed(*state);
}

TEST(leaves_the_network_out) {
    need_mpi();
    cJSON *cluster = ask_document(
        *state, "gradweave calibrate --nodes 2 --no-network --out bare.json --json " QUICK,
        "gradweave/cluster@1");
    assert_null(cJSON_GetObjectItem(cluster, "network"));
}

/* Existing files stay, only resumable ones remain, and no rank continues. */
static void interrupt(const char *folder, bool group) {
    pid_t ranks[2];
    write_text(folder, "kept.json", "{'schema': 'gradweave/cluster@1'}");
    char *before = list_files(folder);
    struct running calibration =
        start(folder, "gradweave calibrate --nodes 2 --out kept.json " ENDLESS);
    find_ranks(calibration.process, 2, ranks);
    (void)usleep(500000);
    assert_int_equal(kill(group ? -calibration.process : calibration.process, SIGINT), 0);
    struct answer answer = finish(&calibration, 10);
    assert_true(end_soon(ranks, 2));
    (void)unlink(path_in(folder, "kept.json.partial"));
    char *after = list_files(folder);
    check_failed(&answer, 3, "interrupted");
    assert_string_equal(before, after);
}

/* Ctrl-C reaches the whole process group, a job manager's signal this process alone. */
TEST(leaves_files_alone_when_interrupted) {
    need_mpi();
    interrupt(*state, true);
    interrupt(*state, false);
}

/* ---- validate ------------------------------------------------------------------------------ */

static bool is_there(const cJSON *object, const char *key) {
    return cJSON_GetObjectItem(object, key) != NULL;
}

/* The source of the prediction's counts; "" without a compressor. */
static const char *counts_of(const cJSON *result) {
    const cJSON *predicted = item_at(result, "predicted");
    return is_there(predicted, "counts") ? text_at(predicted, "counts") : "";
}

static void check_result(const cJSON *result, const char *algorithm) {
    assert_string_equal(text_at(result, "algorithm"), algorithm);
    check_times(item_at(result, "predicted"));
    check_times(item_at(result, "measured"));
    assert_true(number_at(result, "measured.iteration_sd_s") >= 0);
    bool recorded = strcmp(counts_of(result), "recorded in the measured iterations") == 0;
    assert_true(recorded == is_there(result, "settling"));
    assert_true(recorded || number_at(result, "predicted.iteration_sd_s") == 0);
    assert_true(number_at(result, "predicted.bytes_per_worker") > 0);
    assert_true(number_at(result, "measured.bytes_per_worker") > 0);
    double predicted_s = number_at(result, "predicted.iteration_s");
    double measured_s = number_at(result, "measured.iteration_s");
    /* The compute is timed waiting, of 5.6 ms at least. */
    assert_true(measured_s > 0.0055);
    assert_true(fabs((predicted_s - measured_s) / measured_s - number_at(result, "error")) < 1e-9);
}

/* The names of the algorithms that are left out, each with its reason. */
static bool is_left_out(const cJSON *validation, const char *algorithm) {
    const cJSON *entry = NULL;
    cJSON_ArrayForEach(entry, item_at(validation, "infeasible")) {
        if (strcmp(text_at(entry, "algorithm"), algorithm) == 0) {
            assert_true(strlen(text_at(entry, "reason")) > 0);
            return true;
        }
    }
    return false;
}

/* All algorithms: predicted, measured and compared, or left out. */
static void check_validation(const char *folder, const cJSON *validation, double workers) {
    cJSON *list = ask_document(folder, "gradweave list algorithms --json", "gradweave/list@1");
    const cJSON *results = item_at(validation, "results");
    assert_true(number_at(validation, "workers") == workers);
    assert_true(cJSON_IsTrue(item_at(validation, "complete")));
    const cJSON *algorithm = NULL;
    int count = 0;
    cJSON_ArrayForEach(algorithm, item_at(list, "algorithms")) {
        if (!is_left_out(validation, text_at(algorithm, "name"))) {
            check_result(cJSON_GetArrayItem(results, count++), text_at(algorithm, "name"));
        }
    }
    assert_int_equal(cJSON_GetArraySize(results), count);
}

/* Those with a server run where there is a rank for it, if the cluster file has what they need. */
static void check_run(const char *folder, const char *command, double workers, bool server) {
    cJSON *validation = ask_document(folder, command, "gradweave/validation@1");
    check_validation(folder, validation, workers);
    assert_true(is_left_out(validation, "ps") != server);
}

TEST(validates_all_algorithms) {
    need_mpi();
    check_run(*state, "gradweave validate " TINY " --nodes 4 --settle 10 --iterations 5 --json", 4,
              false);
    check_run(*state,
              "gradweave validate " TINY " --nodes 3 --workers 2 --settle 10 --iterations 5 --json",
              2, true);
}

/* Runs as many iterations as fit in the time, at most the wanted number. */
TEST(measures_as_long_as_asked) {
    need_mpi();
    static const double times_s[] = {0.0001, 0.04, 100};
    for (size_t i = 0; i < sizeof times_s / sizeof *times_s; i++) {
        char command[200];
        (void)snprintf(command, sizeof command,
                       "gradweave validate " TINY " --nodes 2 --algo dense,topk --iterations 7 "
                       "--check-time 0 --time %g --json",
                       times_s[i]);
        cJSON *validation = ask_document(*state, command, "gradweave/validation@1");
        const cJSON *result = NULL;
        cJSON_ArrayForEach(result, item_at(validation, "results")) {
            double fit = floor(times_s[i] / number_at(result, "predicted.iteration_s"));
            double expected = fit < 2 ? 2 : fit > 7 ? 7 : fit;
            assert_true(number_at(result, "iterations") == expected);
        }
    }
}

/* Then counts are as asked, whatever gradients are, and compression takes no less than its curve.
 */
TEST(compression_can_be_timed_waiting) {
    need_mpi();
    cJSON *validation =
        ask_document(*state,
                     "gradweave validate " TINY " --nodes 3 --workers 2 --iterations 2 "
                     "--compression timed --json",
                     "gradweave/validation@1");
    assert_string_equal(text_at(validation, "compression"), "timed");
    check_validation(*state, validation, 2);
    const cJSON *result = NULL;
    cJSON_ArrayForEach(result, item_at(validation, "results")) {
        const char *counts = counts_of(result);
        assert_true(counts[0] == '\0' || strcmp(counts, "as asked") == 0);
        assert_true(number_at(result, "measured.bytes_per_worker") ==
                    number_at(result, "predicted.bytes_per_worker"));
        assert_true(number_at(result, "measured.iteration_s") >=
                    number_at(result, "predicted.iteration_s") -
                        number_at(result, "predicted.breakdown.exposed_comm_s") - 1e-9);
    }
    cJSON *real = ask_document(
        *state, "gradweave validate " TINY " --nodes 2 --algo topk --iterations 1 --json",
        "gradweave/validation@1");
    assert_false(is_there(real, "compression"));
}

TEST(says_no_beyond_the_tolerance) {
    need_mpi();
    struct answer beyond = ask(*state, "gradweave validate " TINY
                                       " --nodes 2 --algo dense,omgs --iterations 2 --tolerance 0");
    assert_int_equal(beyond.status, 1);
    assert_non_null(strstr(beyond.out, "\nbeyond --tolerance 0: dense "));
    assert_non_null(strstr(beyond.out, "%; exit status 1\n"));
    check_says(*state,
               "gradweave validate " TINY
               " --nodes 2 --algo dense,omgs --iterations 2 --tolerance 1000",
               "note: small.json was not calibrated on hosts that it names", "\nalgorithm ",
               "measured: means of 2 iterations; mean error", "all within --tolerance 1000\n",
               "not measured among so many workers",
               ": allreduce (how far off is not known), allgather (how", NULL);
}

TEST(writes_a_trace_and_a_report) {
    need_mpi();
    cJSON *printed =
        ask_document(*state,
                     "gradweave validate " TINY " --nodes 2 --iterations 3 --algo omgs "
                     "--trace trace.json --out report.json --json",
                     "gradweave/validation@1");
    check_trace(*state, "trace.json", 2);
    char *text = read_text(*state, "report.json");
    cJSON *written = parse_document(text, "gradweave/validation@1");
    assert_true(cJSON_Compare(printed, written, 1));
}

/* The ten that contribute most, in order, of operations that with the rest add up. */
static void check_explanation(const cJSON *result) {
    const cJSON *explanation = item_at(result, "explanation");
    const cJSON *operations = item_at(explanation, "operations");
    double predicted_s = number_at(result, "predicted.iteration_s");
    double measured_s = number_at(result, "measured.iteration_s");
    double difference_s = number_at(explanation, "difference_s");
    double sum_s = number_at(explanation, "elsewhere_s");
    double before_s = INFINITY;
    const cJSON *node = NULL;
    assert_true(fabs(measured_s - predicted_s - difference_s) < 1e-9);
    cJSON_ArrayForEach(node, operations) {
        sum_s += number_at(node, "contribution_s");
    }
    assert_true(fabs(sum_s - difference_s) < 1e-9);
    assert_true(cJSON_GetArraySize(item_at(explanation, "largest")) <= 10);
    cJSON_ArrayForEach(node, item_at(explanation, "largest")) {
        const cJSON *operation = cJSON_GetArrayItem(operations, node->valueint);
        double contribution_s = fabs(number_at(operation, "contribution_s"));
        assert_true(contribution_s > 0 && contribution_s <= before_s);
        before_s = contribution_s;
    }
}

/* Two processes, with the same operations on the streams of two workers. */
static void check_both_timelines(const char *folder, const char *name, int operations) {
    cJSON *trace = NULL;
    char *text = read_text(folder, name);
    int spans[2] = {0};
    trace = cJSON_Parse(text);
    assert_string_equal(text_at(trace, "otherData.schema"), "gradweave/timeline@1");
    const cJSON *event = NULL;
    cJSON_ArrayForEach(event, item_at(trace, "traceEvents")) {
        if (strcmp(text_at(event, "ph"), "X") == 0) {
            int process = item_at(event, "pid")->valueint;
            const char *own = process == 0 ? "args.predicted_s" : "args.measured_s";
            assert_true(process == 0 || process == 1);
            assert_true(fabs(1e-6 * number_at(event, "dur") - number_at(event, own)) < 1e-9);
            spans[process]++;
        }
    }
    assert_int_equal(spans[0], 2 * operations);
    assert_int_equal(spans[1], 2 * operations);
    cJSON_Delete(trace);
}

TEST(explains_an_error) {
    need_mpi();
    cJSON *alone = ask_for(*state, "gradweave/validation@1",
                           "gradweave validate " TINY " --nodes 2 --iterations 3 --explain mgs "
                           "--trace both.json --out why.json --json");
    const cJSON *result = cJSON_GetArrayItem(item_at(alone, "results"), 0);
    assert_int_equal(cJSON_GetArraySize(item_at(alone, "results")), 1);
    assert_string_equal(text_at(result, "algorithm"), "mgs");
    check_explanation(result);
    const cJSON *explanation = item_at(result, "explanation");
    int operations = cJSON_GetArraySize(item_at(explanation, "operations"));
    check_both_timelines(*state, "both.json", operations);
    if (have_program("gnuplot")) {
        check_says(*state, "gradweave plot difference why.json --out why.svg --strict", NULL);
    }

    cJSON *both = ask_for(*state, "gradweave/validation@1",
                          "gradweave validate " TINY " --nodes 2 --iterations 3 --algo topk,sidco "
                          "--settle 5 --explain sidco --json");
    const cJSON *first = cJSON_GetArrayItem(item_at(both, "results"), 0);
    assert_false(is_there(first, "explanation"));
    check_explanation(cJSON_GetArrayItem(item_at(both, "results"), 1));
    check_says(*state, "gradweave validate " TINY " --nodes 2 --iterations 2 --explain omgs",
               "omgs explained: measured ", "hangs on\n", "\ntogether ", "100%", NULL);
}

/* Percentiles of measured iterations only, since no noise was recorded; too few for a 99th. */
TEST(says_percentiles_of_enough_iterations) {
    need_mpi();
    static const char command[] =
        "gradweave validate " TINY " --nodes 2 --algo dense --iterations ";
    cJSON *validation =
        ask_for(*state, "gradweave/validation@1", "%s59 --json --out enough.json", command);
    const cJSON *result = cJSON_GetArrayItem(item_at(validation, "results"), 0);
    const cJSON *percentiles = item_at(result, "measured.iteration_percentiles_s");
    assert_int_equal(cJSON_GetArraySize(percentiles), 2);
    assert_true(number_at(percentiles, "50") > 0);
    assert_true(number_at(percentiles, "95") >= number_at(percentiles, "50"));
    assert_null(
        cJSON_GetObjectItem(cJSON_GetObjectItem(result, "predicted"), "iteration_percentiles_s"));
    validation = ask_for(*state, "gradweave/validation@1", "%s4 --json", command);
    result = cJSON_GetArrayItem(item_at(validation, "results"), 0);
    assert_null(
        cJSON_GetObjectItem(cJSON_GetObjectItem(result, "measured"), "iteration_percentiles_s"));
}

/* ---- counts and choices -------------------------------------------------------------------- */

/* The one result of a validation of one algorithm, which the caller has in *validation. */
static const cJSON *validate_one(const char *folder, const char *arguments, cJSON **validation) {
    *validation =
        ask_for(folder, "gradweave/validation@1",
                "gradweave validate " TINY " --density 0.01 --warm-up 1 --iterations 4 --json "
                "%s",
                arguments);
    assert_int_equal(cJSON_GetArraySize(item_at(*validation, "results")), 1);
    return cJSON_GetArrayItem(item_at(*validation, "results"), 0);
}

/* Bytes follow from counts: a list of entries padded to the longest, whose length travels too. */
static double padded_bytes(const cJSON *counts) {
    double bytes = 0;
    int iterations = 0;
    const cJSON *iteration = NULL;
    cJSON_ArrayForEach(iteration, item_at(counts, "iterations")) {
        const cJSON *group = NULL;
        cJSON_ArrayForEach(group, item_at(iteration, "selected")) {
            double most = 0;
            const cJSON *selected = NULL;
            cJSON_ArrayForEach(selected, group) {
                most = fmax(most, selected->valuedouble);
            }
            bytes += 4 + 8 * most;
        }
        iterations++;
    }
    return bytes / iterations;
}

/* The executed counts are predicted, also by a simulation of the recorded counts. */
TEST(predicts_with_recorded_counts) {
    need_mpi();
    static const char *const algorithms[] = {"gaussiank", "hard-threshold", "exdyna", "sidco"};
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        cJSON *validation = NULL;
        char text[256];
        (void)snprintf(text, sizeof text,
                       "--nodes 2 --algo %s --settle 20 --counts-out counts.json", algorithms[i]);
        const cJSON *result = validate_one(*state, text, &validation);
        check_result(result, algorithms[i]);
        assert_true(number_at(result, "settling.iterations") == 20);
        assert_true(number_at(result, "measured.selected_ratio") > 0);
        assert_true(near(number_at(result, "predicted.bytes_per_worker"),
                         number_at(result, "measured.bytes_per_worker"), 1e-12));
        cJSON *simulated =
            ask_result(*state,
                       "gradweave simulate " TINY " --workers 2 --density 0.01 --algo %s "
                       "--iterations 4 --counts counts.json --json",
                       algorithms[i]);
        assert_true(number_at(simulated, "iteration_s") ==
                    number_at(result, "predicted.iteration_s"));
        char *written = read_text(*state, "counts.json");
        cJSON *counts = parse_document(written, "gradweave/counts@1");
        if (strcmp(algorithms[i], "exdyna") != 0) {
            assert_true(
                near(padded_bytes(counts), number_at(result, "measured.bytes_per_worker"), 1e-12));
        }
    }
}

TEST(predicts_with_other_counts) {
    need_mpi();
    cJSON *validation = NULL;
    cJSON *simulated = NULL;
    const cJSON *result =
        validate_one(*state, "--nodes 2 --algo sidco --settle 0 --counts asked", &validation);
    assert_string_equal(counts_of(result), "as asked");
    assert_true(number_at(result, "settling.iterations") == 0);
    assert_true(number_at(result, "predicted.bytes_per_worker") == 4 + 8 * 731);
    result = validate_one(*state, "--nodes 2 --algo sidco --counts trained", &validation);
    assert_string_equal(counts_of(result), "trained at 1/1 size over 4 iterations");
    simulated =
        ask_result(*state, "gradweave simulate " TINY " --workers 2 --density 0.01 --algo sidco "
                           "--iterations 4 --counts trained --counts-out found.json --json");
    assert_true(number_at(simulated, "iteration_s") == number_at(result, "predicted.iteration_s"));
    result = validate_one(*state, "--nodes 2 --algo sidco --counts found.json", &validation);
    assert_string_equal(counts_of(result), "recorded in found.json");
    assert_true(number_at(simulated, "iteration_s") == number_at(result, "predicted.iteration_s"));
}

TEST(runs_changed_choices) {
    need_mpi();
    cJSON *validation = NULL;
    const cJSON *result = validate_one(
        *state, "--nodes 2 --algo dense --policy per-tensor --compressor gaussiank", &validation);
    assert_string_equal(text_at(result, "changed.policy"), "per-tensor");
    assert_string_equal(text_at(result, "changed.compressor"), "gaussiank");
    assert_string_equal(text_at(result, "changed.exchange"), "allgather-padded");
    assert_true(number_at(result, "groups") == 4);
    result = validate_one(*state,
                          "--nodes 3 --workers 2 --algo topk --compressor none --exchange server",
                          &validation);
    assert_string_equal(text_at(result, "changed.exchange"), "server");
    assert_true(number_at(result, "measured.bytes_per_worker") == 2 * 4 * 73100);
    check_says(*state,
               "gradweave validate " TINY " --nodes 2 --iterations 2 "
               "--algo omgs --compressor sidco --policy single",
               "\nomgs with policy single, compressor sidco",
               "\nomgs: predicted with counts recorded in the measured",
               "iterations of compression alone", NULL);
}

/* Groups of a plan travel as it says, are predicted as by simulate, and send what is predicted,
 * also where gradients decide how much. */
TEST(runs_a_mixed_plan) {
    need_mpi();
    write_text(*state, "mixed.json",
               "{\"schema\": \"gradweave/plan@1\", \"model\": \"tiny\", \"policy\": \"given\", "
               "\"compressor\": \"mixed\", \"density\": 0.5, \"workers\": 2, "
               "\"groups\": [[3], [2, 1], [0]], \"ways\": ["
               "{\"choice\": \"dense\", \"compressor\": \"none\", \"exchange\": \"allreduce\", "
               "\"density\": 1}, "
               "{\"choice\": \"topk:0.1\", \"compressor\": \"topk\", "
               "\"exchange\": \"allgather\", \"density\": 0.1}, "
               "{\"choice\": \"gaussiank:0.1\", \"compressor\": \"gaussiank\", "
               "\"exchange\": \"allgather-padded\", \"density\": 0.1}], "
               "\"iteration_s\": 1, \"lower_bound_s\": 1}");
    cJSON *simulated = ask_result(*state, "gradweave simulate " TINY " --plan mixed.json --json");
    const char *const commands[] = {"--counts asked --algo dense,topk --density 0.02",
                                    "--explain mixed"};
    for (size_t i = 0; i < 2; i++) {
        cJSON *validation =
            ask_for(*state, "gradweave/validation@1",
                    "gradweave validate " TINY " --nodes 2 --plan mixed.json --settle 20 "
                    "--iterations 3 --json %s",
                    commands[i]);
        const cJSON *results = item_at(validation, "results");
        const cJSON *mixed = cJSON_GetArrayItem(results, 0);
        assert_int_equal(cJSON_GetArraySize(results), i == 0 ? 3 : 1);
        assert_string_equal(text_at(mixed, "algorithm"), "mixed");
        assert_true(number_at(mixed, "groups") == 3);
        assert_true(number_at(mixed, "settling.iterations") == 20);
        if (i == 0) {
            assert_true(number_at(mixed, "predicted.iteration_s") ==
                        number_at(simulated, "iteration_s"));
            const cJSON *topk = cJSON_GetArrayItem(results, 2);
            assert_true(number_at(topk, "measured.bytes_per_worker") == 8 * 1462);
        } else {
            assert_true(near(number_at(mixed, "predicted.bytes_per_worker"),
                             number_at(mixed, "measured.bytes_per_worker"), 1e-12));
            assert_true(is_there(mixed, "explanation"));
        }
    }
}

FIXTURES(make_inputs, remove_folder)
