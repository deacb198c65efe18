/* simulate --network messages as a user runs it: what its options do, and what it refuses. */
#include "tests/cli/program_inputs.h"
#include "tests/cli/refusals.h"
#include "tests/test.h"

#define TINY "tiny.json --cluster small.json"
#define DENSE "gradweave simulate " TINY " --algo dense --json"
#define MESSAGES DENSE " --network messages"
#define DOUBLING " --collective allreduce=recursive-doubling"

static double ask_iteration(const char *folder, const char *command) {
    cJSON *result = ask_result(folder, command);
    double iteration_s = number_at(result, "iteration_s");
    check_times(result);
    return iteration_s;
}

#define OMGS "simulate " TINY " --algo omgs"
#define MESSAGED OMGS " --network messages"

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
