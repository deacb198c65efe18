/* Simulations of heterogeneous clusters: options, spread, document. */
#include <math.h>

#include "tests/cli/program_inputs.h"
#include "tests/test.h"

#define DENSE "gradweave simulate tiny.json --cluster small.json --algo dense"

/* ---- a job's noise ------------------------------------------------------------------------- */

enum { LEVELS = 40 };

/* Factors 1 + 1/40 .. 2 of a rank, each as likely, and those of another one beside them. */
static double level(size_t i) {
    return 1 + (double)(i + 1) / LEVELS;
}

static void write_pairs(const char *folder, const char *name, size_t count,
                        void (*pair)(size_t i, double out[2])) {
    cJSON *document = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(document, "schema", "gradweave/noise@1");
    cJSON *factors = cJSON_AddArrayToObject(document, "factors");
    for (size_t i = 0; i < count; i++) {
        double of_ranks[2];
        pair(i, of_ranks);
        assert_true(cJSON_AddItemToArray(factors, cJSON_CreateDoubleArray(of_ranks, 2)));
    }
    char *text = cJSON_PrintUnformatted(document);
    write_text(folder, name, text);
    free(text);
    cJSON_Delete(document);
}

static void pair_independent(size_t i, double out[2]) {
    out[0] = level(i % LEVELS);
    out[1] = level(i / LEVELS);
}

static void pair_equal(size_t i, double out[2]) {
    out[0] = out[1] = level(i);
}

static void pair_opposite(size_t i, double out[2]) {
    out[0] = level(i);
    out[1] = level(LEVELS - 1 - i);
}

/* The level of the slowest worker at that percentile, by its distribution. */
static double share_independent(double percentile) {
    return sqrt(percentile); /* P(both <= u) = u u */
}

static double share_equal(double percentile) {
    return percentile;
}

static double share_opposite(double percentile) {
    return (1 + percentile) / 2; /* the larger of u and 1 - u */
}

/* The iteration waits for the slowest of what it computes, and then exchanges: 5.6 ms and 6.348. */
static void check_percentiles(const char *folder, const char *name, const char *workers,
                              double (*share)(double)) {
    static const double percentiles[] = {0.5, 0.95, 0.99};
    static const char *const keys[] = {"50", "95", "99"};
    char command[256];
    enum { iterations = 20000 };
    (void)snprintf(command, sizeof command, DENSE " --json --iterations %d --noise sample:%s%s",
                   iterations, name, workers);
    cJSON *result = ask_result(folder, command);
    double exchange_s = number_at(result, "comm_s");
    for (size_t i = 0; i < 3; i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "iteration_percentiles_s.%s", keys[i]);
        double factor = (number_at(result, key) - exchange_s) / 0.0056;
        double p = percentiles[i];
        /* five deviations of the draws, and the distance of two levels */
        double reach = 5 * sqrt(p * (1 - p) / iterations);
        assert_true(factor >= 1 + share(p - reach) - 1e-9);
        assert_true(factor <= 1 + share(fmin(1, p + reach)) + 1.0 / LEVELS + 1e-9);
    }
}

TEST(percentiles_are_those_of_the_slowest_rank) {
    write_pairs(*state, "independent.json", (size_t)LEVELS * LEVELS, pair_independent);
    write_pairs(*state, "equal.json", LEVELS, pair_equal);
    write_pairs(*state, "opposite.json", LEVELS, pair_opposite);
    check_percentiles(*state, "independent.json", " --workers 2", share_independent);
    check_percentiles(*state, "equal.json", " --workers 2", share_equal);
    check_percentiles(*state, "opposite.json", " --workers 2", share_opposite);
    /* four workers are two pairs in two iterations that have nothing to do with each other */
    check_percentiles(*state, "equal.json", "", share_independent);
}

/* libm's variants for processors without fused multiply-add; other C libraries ignore this. */
TEST(answers_do_not_depend_on_the_processor) {
    static const char command[] =
        "gradweave simulate resnet50 --cluster p102-1gbe-16 --algo omgs --iterations 50 "
        "--noise 0.1 --network-noise normal:0.2 --json";
    struct answer usual = ask(*state, command);
    assert_int_equal(usual.status, 0);
    assert_int_equal(setenv("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX2,-FMA", 1), 0);
    struct answer plain = ask(*state, command);
    assert_int_equal(unsetenv("GLIBC_TUNABLES"), 0);
    assert_string_equal(usual.out, plain.out);
}

FIXTURES(make_inputs, remove_folder)
