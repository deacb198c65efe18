/* What the program says about numbers of workers that were not measured, where several were. */
#include "tests/cli/program_inputs.h"
#include "tests/support.h"

/* Twice the workers take a little more than any law says, so that something is uncertain. */
static const char grown_cluster[] =
    "{'schema': 'gradweave/cluster@1', 'name': 'grown', 'workers': 8, 'collectives': {"
    "'allgather': [{'workers': 2, 'alpha_s': 0.0005, 'beta_s_per_byte': 1e-8},"
    "{'workers': 4, 'alpha_s': 0.0011, 'beta_s_per_byte': 3.1e-8}],"
    "'allreduce': [{'workers': 2, 'alpha_s': 0.0005, 'beta_s_per_byte': 1e-8},"
    "{'workers': 4, 'alpha_s': 0.0011, 'beta_s_per_byte': 1.6e-8}]},"
    "'compressors': {}}";

static int make_grown(void **state) {
    if (make_inputs(state) != 0) {
        return -1;
    }
    write_text(*state, "grown.json", grown_cluster);
    return 0;
}

static cJSON *simulate(const char *folder, int workers) {
    char command[128];
    (void)snprintf(command, sizeof command,
                   "gradweave simulate tiny.json --cluster grown.json --algo dense --workers %d "
                   "--json",
                   workers);
    return ask_document(folder, command, "gradweave/result@1");
}

/* Dense gradients in one group are exchanged after all else: how far off they are shows in full. */
static void the_iteration_is_as_uncertain_as_its_exchange(void **state) {
    cJSON *result = simulate(*state, 8);
    double uncertain = number_at(result, "uncertainty.allreduce");
    double iteration_s = number_at(result, "iteration_s");
    double off_s = uncertain * number_at(result, "comm_s");
    assert_true(uncertain > 0.001 && uncertain < 0.5);
    assert_true(near(number_at(result, "iteration_high_s"), iteration_s + off_s, 1e-9));
    assert_true(near(number_at(result, "iteration_low_s"), iteration_s - off_s, 1e-9));
    cJSON_Delete(result);
    struct answer answer =
        ask(*state, "gradweave simulate tiny.json --cluster grown.json --algo dense --workers 8");
    assert_int_equal(answer.status, 0);
    assert_non_null(
        strstr(answer.out, "note: allreduce: 8 workers not measured; from 2, 4 by growth laws "));
    assert_non_null(strstr(answer.out, "; 2x beyond the largest measured: +-"));
    assert_non_null(strstr(answer.out, ", as uncertain as allreduce +-"));
    forget(&answer);
}

/* Two numbers of workers that a law meets exactly do not make it certain. */
static void an_exact_law_is_not_certain(void **state) {
    write_text(*state, "exact.json",
               "{'schema': 'gradweave/cluster@1', 'name': 'exact', 'workers': 4, 'collectives': {"
               "'allreduce': [{'workers': 2, 'alpha_s': 0.0005, 'beta_s_per_byte': 1e-8},"
               "{'workers': 4, 'alpha_s': 0.0015, 'beta_s_per_byte': 1.5e-8}]},"
               "'compressors': {}}");
    static const char *const says[][2] = {
        {"3", "is left out; +-1.0%"},
        {"3", "as uncertain as allreduce +-1.0%\n"},
        {"8", "is left out; 2x beyond the largest measured: +-1.0%"},
        {"16", "4x beyond the largest measured: +-2.0%"}};
    for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
        char command[128];
        (void)snprintf(command, sizeof command,
                       "gradweave simulate tiny.json --cluster exact.json --algo dense --workers "
                       "%s",
                       says[i][0]);
        struct answer answer = ask(*state, command);
        assert_int_equal(answer.status, 0);
        assert_non_null(strstr(answer.out, says[i][1]));
        assert_non_null(strstr(answer.out, "off by 0.0% when each"));
        forget(&answer);
    }
}

static void what_was_measured_is_not_uncertain(void **state) {
    cJSON *result = simulate(*state, 4);
    assert_null(cJSON_GetObjectItem(result, "uncertainty"));
    assert_null(cJSON_GetObjectItem(result, "iteration_low_s"));
    assert_null(cJSON_GetObjectItem(result, "notes"));
    cJSON_Delete(result);
}

static void a_missing_curve_is_named_with_what_measures_it(void **state) {
    struct answer answer = ask(*state, "gradweave simulate tiny.json --cluster grown.json "
                                       "--algo omgs --density 0.01 --workers 8");
    assert_int_equal(answer.status, 2);
    assert_string_equal(answer.out, "");
    assert_non_null(strstr(answer.err,
                           "grown.json: compressors.topk: expected a measured curve, "
                           "got nothing (gradweave calibrate --only topk --add measures it)"));
    forget(&answer);
}

#define WITH_INPUTS(test) cmocka_unit_test_setup_teardown(test, make_grown, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_INPUTS(the_iteration_is_as_uncertain_as_its_exchange),
        WITH_INPUTS(an_exact_law_is_not_certain),
        WITH_INPUTS(what_was_measured_is_not_uncertain),
        WITH_INPUTS(a_missing_curve_is_named_with_what_measures_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
