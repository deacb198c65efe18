/* simulate --network messages as a user runs it: what its options do, and what it refuses. */
#include "tests/cli/program_inputs.h"
#include "tests/cli/refusals.h"
#include "tests/test.h"

#define TINY "tiny.json --cluster small.json"
#define DENSE "gradweave simulate " TINY " --algo dense --json"
#define MESSAGES DENSE " --network messages"
#define DOUBLING " --collective allreduce=recursive-doubling"

/* The model's compute time, and the one group of a dense exchange. */
static const double compute_s = 0.0056;
static const double bytes = 292400;

static double ask_iteration(const char *folder, const char *command) {
    cJSON *result = ask_result(folder, command);
    double iteration_s = number_at(result, "iteration_s");
    check_times(result);
    return iteration_s;
}

/* small.json with a network: other parameters within a node, and switches. */
static void write_wired(const char *folder) {
    char *text = read_text(folder, "small.json");
    char wired[2048];
    (void)snprintf(wired, sizeof wired,
                   "%.*s, 'network': {'within': {'latency_s': 1e-6, 'overhead_s': 0, 'gap_s': 0, "
                   "'gap_s_per_byte': 1e-10, 'overhead_s_per_byte': 0}, 'between': {'latency_s': "
                   "1e-5, 'overhead_s': 0, 'gap_s': 0, 'gap_s_per_byte': 1e-8, "
                   "'overhead_s_per_byte': 0}, 'nodes_per_switch': 2, 'oversubscription': 4}}",
                   (int)strlen(text) - 1, text);
    write_text(folder, "wired.json", wired);
}

#define OMGS "simulate " TINY " --algo omgs"
#define MESSAGED OMGS " --network messages"

/* ---- what it says -------------------------------------------------------------------------- */

/* A step of a ring of 4: 2 o + L, and a quarter of the bytes, each G and, at its sender, O. */
TEST(parameters_make_the_time) {
    static const struct {
        const char *command;
        double exchange_s;
    } table[] = {
        {MESSAGES " --loggp L=5000", 6 * 5e-6},
        {MESSAGES " --loggp G=10", 6 * bytes / 4 * 1e-8},
        {MESSAGES " --loggp o=1500", 6 * 2 * 1.5e-6},
        {MESSAGES " --loggp O=0.25", 6 * bytes / 4 * 0.25e-9},
        {MESSAGES " --loggp g=1e6", 6 * 1e-3},
        {MESSAGES " --loggp G=10,L=5000,o=1500,S=7,g=3",
         6 * (5e-6 + 2 * 1.5e-6 + bytes / 4 * 1e-8)},
        {MESSAGES " --loggp L=5000,G=1 --workers 2", 2 * (5e-6 + bytes / 2 * 1e-9)},
        {MESSAGES " --loggp L=5000,G=1" DOUBLING, 2 * (5e-6 + bytes * 1e-9)},
        {MESSAGES " --loggp L=5000,G=1 --collective allgather=bruck --collective "
                  "allreduce=recursive-doubling",
         2 * (5e-6 + bytes * 1e-9)},
        {MESSAGES " --loggp L=0 --workers 1", 0},
    };
    for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
        if (!near(ask_iteration(*state, table[t].command), compute_s + table[t].exchange_s, 1e-9)) {
            fail_msg("%s", table[t].command);
        }
    }
}

/* Recursive doubling: worker w exchanges all with w ^ 1, then with w ^ 2. */
TEST(places_make_the_time) {
    static const struct {
        const char *options;
        double shares; /* of an interface, that all the bytes take */
    } table[] = {
        {"", 2},
        {" --workers-per-node 2", 3}, /* both workers of a node have the other node's for partner */
        {" --workers-per-node 4", 2},
        {" --nodes-per-switch 2", 2},
        {" --nodes-per-switch 2 --oversubscription 4", 5},
        {" --nodes-per-switch 4 --oversubscription 4", 2},
        {" --nodes-per-switch 1 --oversubscription 2", 4},
    };
    for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
        char command[256];
        (void)snprintf(command, sizeof command, MESSAGES DOUBLING " --loggp G=10%s",
                       table[t].options);
        if (!near(ask_iteration(*state, command), compute_s + table[t].shares * bytes * 1e-8,
                  1e-9)) {
            fail_msg("%s", command);
        }
    }
}

/* Without a network, one is derived from a curve, and the answer says so. */
TEST(a_network_is_derived) {
    check_says(*state, "gradweave " MESSAGED, "note: network not measured: derived from all", NULL);
    check_says(*state, "gradweave " MESSAGED " --nodes-per-switch 2",
               "note: network not measured: derived from all", NULL);
}

/* The cluster's network counts as far as no option overrules it. */
TEST(a_cluster_brings_its_network) {
    static const char command[] =
        "gradweave simulate tiny.json --cluster wired.json --algo dense --json --network messages "
        "--collective allreduce=recursive-doubling";
    char with[512];
    write_wired(*state);
    assert_true(near(ask_iteration(*state, command), compute_s + 2e-5 + 5 * bytes * 1e-8, 1e-9));
    (void)snprintf(with, sizeof with, "%s --oversubscription 1", command);
    assert_true(near(ask_iteration(*state, with), compute_s + 2e-5 + 2 * bytes * 1e-8, 1e-9));
    (void)snprintf(with, sizeof with, "%s --workers-per-node 4", command);
    assert_true(near(ask_iteration(*state, with), compute_s + 2e-6 + 2 * bytes * 1e-10, 1e-9));
    (void)snprintf(with, sizeof with, "%s --loggp G=1 --nodes-per-switch 4", command);
    assert_true(near(ask_iteration(*state, with), compute_s + 2 * bytes * 1e-9, 1e-9));
}

TEST(curves_are_the_default) {
    double curves_s = compute_s + 0.0005 + 2e-8 * bytes;
    assert_true(near(ask_iteration(*state, DENSE), curves_s, 1e-9));
    assert_true(near(ask_iteration(*state, DENSE " --network curves"), curves_s, 1e-9));
    assert_true(near(ask_iteration(*state, DENSE " --workers-per-node 2"), curves_s, 1e-9));
    /* The last one counts. */
    assert_true(
        near(ask_iteration(*state, MESSAGES " --network curves --network messages --loggp L=1000"),
             compute_s + 6e-6, 1e-9));
}

TEST(text_says_the_same) {
    /* 5.6 + 6 * 0.731 */
    check_says(*state, "gradweave simulate " TINY " --algo dense --network messages --loggp G=10",
               "4.386 ms", "9.986 ms", "285.5 KiB from each worker", NULL);
}

/* ---- statistics ---------------------------------------------------------------------------- */

TEST(iterations_have_a_spread) {
    cJSON *result = ask_result(
        *state, MESSAGES " --loggp L=5000,G=10 --iterations 40 --noise 0.1 --network-noise 0.1");
    double least = number_at(result, "iteration_min_s");
    double middle = number_at(result, "iteration_percentiles_s.50");
    double most = number_at(result, "iteration_max_s");
    assert_true(least < middle && middle < most);
    assert_true(number_at(result, "iteration_sd_s") > 0);
    assert_true(number_at(result, "iterations") == 40);
    assert_true(least > 0.8 * 0.010016 && most < 1.3 * 0.010016);
    check_times(result);
    double quiet = ask_iteration(*state, MESSAGES " --loggp G=10");
    assert_true(ask_iteration(*state, MESSAGES " --loggp G=10 --iterations 5") == quiet);
}

TEST(answers_do_not_depend_on_threads) {
    static const char command[] =
        MESSAGES " --loggp L=5000,G=10 --iterations 30 --noise 0.1 --network-noise 0.1 --seed 7";
    static const char *const more[] = {" --threads 1", " --threads 2", " --threads 3",
                                       " --trace trace.json", ""};
    struct answer first = ask(*state, command);
    assert_int_equal(first.status, 0);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        struct answer again = ask(*state, "%s%s", command, more[i]);
        assert_string_equal(again.out, first.out);
    }
    struct answer other = ask(*state, MESSAGES " --loggp L=5000,G=10 --iterations 30 --noise 0.1 "
                                               "--network-noise 0.1 --seed 8");
    assert_int_equal(other.status, 0);
    assert_true(strcmp(other.out, first.out) != 0);
    check_trace(*state, "trace.json", 4);
}

/* ---- refusals ------------------------------------------------------------------------------ */

/* 16 choices are enough. */
TEST(refuses_too_many_choices) {
    char command[1024] = MESSAGED " --loggp L=5";
    struct refusal refusal = {command, "--collective: expected at most 16 of them"};
    for (int i = 0; i < 17; i++) {
        (void)strcat(command, " --collective allgather=ring");
    }
    assert_true(is_refused(*state, "gradweave", &refusal, 2));
}

FIXTURES(make_inputs, remove_folder)
