/* Simulations of heterogeneous clusters: options, spread, document. */
#include <math.h>

#include "tests/cli/program_inputs.h"
#include "tests/test.h"

#define DENSE "gradweave simulate tiny.json --cluster small.json --algo dense"
#define OMGS "gradweave simulate tiny.json --cluster small.json --algo omgs"

static double ask_number(const char *folder, const char *command, const char *path) {
    return number_at(ask_result(folder, command), path);
}

/*
 * Each group is compressed in 4 ms and exchanged in 2 ms. The first one's exchange and the second
 * one's compression begin at 5 ms, after a backward pass of 1 ms. Three times slower, the exchange
 * ends at 11 ms; by then 3 ms of the compression, at half its pace, are done, and it ends at 12 ms.
 */
TEST(concurrent_operations_are_slowed) {
    write_text(*state, "two.json",
               "{'schema': 'gradweave/model@1', 'name': 'two', 'forward_s': 0, 'tensors': ["
               "{'name': 'a', 'elements': 100, 'backward_s': 0},"
               "{'name': 'b', 'elements': 100, 'backward_s': 0.001}]}");
    write_text(*state, "shared.json",
               "{'schema': 'gradweave/cluster@1', 'name': 'shared', 'workers': 4, 'collectives': {"
               "'allgather': [{'workers': 4, 'alpha_s': 0.002, 'beta_s_per_byte': 0}]},"
               "'compressors': {'topk': {'fixed_s': 0.004}}, 'overlap': {'workers': 2, 'factors': "
               "{'allgather': {'hard-threshold': [{'bytes': 1, 'compute': {'factor': 2}, "
               "'communication': {'factor': 3}}]}}}}");
#define TWO " two.json --cluster shared.json --algo lags"
    assert_true(
        near(ask_number(*state, "gradweave simulate" TWO " --json", "iteration_s"), 0.014, 1e-12));
    assert_true(near(
        ask_number(*state, "gradweave simulate" TWO " --no-interference --json", "iteration_s"),
        0.011, 1e-12));
    cJSON *ranking =
        ask_document(*state, "gradweave compare" TWO " --json", "gradweave/comparison@1");
    const cJSON *first = cJSON_GetArrayItem(item_at(ranking, "results"), 0);
    assert_true(near(number_at(first, "iteration_s"), 0.014, 1e-12));
    /* Also what a trainer's sessions add, in every verb. */
    write_text(*state, "session.json",
               "{'schema': 'gradweave/cluster@1', 'name': 'shared', 'workers': 4, 'collectives': {"
               "'allgather': [{'workers': 4, 'alpha_s': 0.002, 'beta_s_per_byte': 0}]},"
               "'compressors': {'topk': {'fixed_s': 0.004}}, 'overlap': {'workers': 4, "
               "'session_s': 0.5, 'factors': {'allgather': {'topk': [{'bytes': 1, 'compute': "
               "{'factor': 2}, 'communication': {'factor': 3}}]}}}}");
    static const struct {
        const char *command;
        double iteration_s;
    } sweeps[] = {{"", 0.514}, {" --no-interference", 0.511}};
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) {
        char command[256];
        (void)snprintf(command, sizeof command,
                       "gradweave sweep --model two.json --cluster session.json --algo lags%s "
                       "--json",
                       sweeps[i].command);
        cJSON *sweep = ask_document(*state, command, "gradweave/sweep-result@1");
        const cJSON *point = cJSON_GetArrayItem(item_at(sweep, "points"), 0);
        assert_true(near(number_at(point, "iteration_s"), sweeps[i].iteration_s, 1e-12));
    }
    check_says(*state, "gradweave simulate" TWO,
               "note: overlap of topk and allgather not measured; taken to be as of "
               "hard-threshold",
               NULL);
    check_says(*state, "gradweave simulate" TWO,
               "note: overlap of 4 workers not measured; taken to be as of 2", NULL);
}

TEST(noise_is_named) {
    write_text(*state, "sample.txt", "1\n2\n3\n");
    static const char *const alike[] = {
        OMGS " --json --iterations 7 --noise none --network-noise none",
        OMGS " --json --iterations 7 --noise 0 --network-noise normal:0"};
    static const char *const unlike[] = {
        OMGS " --json --iterations 7 --noise 0.1",
        OMGS " --json --iterations 7 --noise normal:0.1",
        OMGS " --json --iterations 7 --noise sample:sample.txt",
        OMGS " --json --iterations 7 --network-noise 0.1",
        OMGS " --json --iterations 7 --network-noise sample:sample.txt",
        OMGS " --json --iterations 7 --noise 0.1 --seed 2",
    };
    enum { unlike_count = sizeof unlike / sizeof *unlike };
    double quiet = ask_number(*state, OMGS " --json --iterations 7", "iteration_s");
    double seen[unlike_count];
    for (size_t i = 0; i < 2; i++) {
        assert_true(ask_number(*state, alike[i], "iteration_s") == quiet);
    }
    for (size_t i = 0; i < unlike_count; i++) {
        seen[i] = ask_number(*state, unlike[i], "iteration_s");
        assert_true(seen[i] != quiet);
        for (size_t before = 0; before < i; before++) {
            assert_true(seen[i] != seen[before]);
        }
    }
    assert_true(ask_number(*state, OMGS " --json --iterations 7 --noise lognormal:0.1",
                           "iteration_s") == seen[0]);
}

/* Without compute noise and overlap only the exchange varies: by thirds of what it takes. */
TEST(a_sample_is_what_is_drawn) {
    write_text(*state, "sample.json", "[10, 20, 30]");
    cJSON *result =
        ask_result(*state, DENSE " --iterations 400 --network-noise sample:sample.json --json");
    const double exchange_s = 0.0005 + 0.005848;
    assert_true(near(number_at(result, "iteration_min_s"), 0.0056 + 0.5 * exchange_s, 1e-12));
    assert_true(near(number_at(result, "iteration_max_s"), 0.0056 + 1.5 * exchange_s, 1e-12));
    assert_true(near(number_at(result, "iteration_percentiles_s.50"), 0.0056 + exchange_s, 1e-12));
    assert_true(fabs(number_at(result, "iteration_s") - 0.0056 - exchange_s) <
                5 * 0.41 * exchange_s / 20);
}

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

static void pair_straggling(size_t i, double out[2]) {
    (void)i;
    out[0] = 1;
    out[1] = 1.5;
}

/* The compute times as recorded: the model's compute is that of the slowest. */
static void pair_half(size_t i, double out[2]) {
    (void)i;
    out[0] = 0.5;
    out[1] = 1;
}

TEST(a_rank_that_is_always_slower_is_a_straggler) {
    write_pairs(*state, "straggler.json", 3, pair_straggling);
    double recorded =
        ask_number(*state, OMGS " --json --workers 2 --noise sample:straggler.json", "iteration_s");
    double named = ask_number(*state, OMGS " --json --workers 2 --straggler 1:1.5", "iteration_s");
    assert_true(near(recorded, named, 1e-12));
    check_says(*state, OMGS " --iterations 9 --workers 2 --noise sample:straggler.json",
               "note: noise was recorded in 3 iterations: of these a 95th percentile wants 59, a "
               "99th 299",
               NULL);
    write_pairs(*state, "half.json", 3, pair_half);
    struct answer answer = ask(*state, "gradweave check half.json");
    assert_int_equal(answer.status, 1);
    assert_non_null(strstr(answer.out, "odd: factors: rank 1 takes 1.33 times as long"));
    assert_null(strstr(answer.out, "odd: factors: rank 0"));
}

TEST(the_spread_is_in_order) {
    cJSON *result = ask_result(*state, OMGS " --iterations 50 --noise 0.1 --json");
    static const char *const ascending[] = {"iteration_min_s",
                                            "iteration_percentiles_s.5",
                                            "iteration_percentiles_s.25",
                                            "iteration_percentiles_s.50",
                                            "iteration_percentiles_s.75",
                                            "iteration_percentiles_s.95",
                                            "iteration_percentiles_s.99",
                                            "iteration_max_s"};
    for (size_t i = 1; i < sizeof ascending / sizeof *ascending; i++) {
        assert_true(number_at(result, ascending[i - 1]) < number_at(result, ascending[i]));
    }
    const cJSON *interval = item_at(result, "iteration_mean_ci95_s");
    assert_int_equal(cJSON_GetArraySize(interval), 2);
    double low = cJSON_GetArrayItem(interval, 0)->valuedouble;
    double high = cJSON_GetArrayItem(interval, 1)->valuedouble;
    double mean = number_at(result, "iteration_s");
    double reach = 2.009575234 * number_at(result, "iteration_sd_s") / sqrt(50); /* 49 degrees */
    assert_true(near(mean - low, reach, 1e-8) && near(high - mean, reach, 1e-8));
    check_says(*state, OMGS " --iterations 50 --noise 0.1", "95% interval of the mean", NULL);
    check_says(*state, OMGS " --iterations 50 --noise 0.1", "99%", NULL);
    result = ask_result(*state, OMGS " --noise 0.1 --json");
    assert_null(cJSON_GetObjectItem(result, "iteration_percentiles_s"));
    assert_null(cJSON_GetObjectItem(result, "iteration_sd_s"));
}

/* Whatever does the work, and whether it is written down. */
TEST(answers_do_not_depend_on_threads) {
    static const char *const commands[] = {
        OMGS " --iterations 20 --noise 0.1 --network-noise 0.1 --json",
        OMGS " --iterations 20 --noise 0.1 --network-noise 0.1 --json --threads 1",
        OMGS " --iterations 20 --noise 0.1 --network-noise 0.1 --json --threads 2",
        OMGS " --iterations 20 --noise 0.1 --network-noise 0.1 --json --threads 5",
        OMGS " --iterations 20 --noise 0.1 --network-noise 0.1 --json --trace trace.json",
    };
    struct answer first = ask(*state, commands[0]);
    assert_int_equal(first.status, 0);
    for (size_t i = 1; i < sizeof commands / sizeof *commands; i++) {
        struct answer again = ask(*state, commands[i]);
        assert_string_equal(again.out, first.out);
    }
    check_trace(*state, "trace.json", 4);
    struct answer collapsed = ask(*state, OMGS " --straggler 1:1.3 --straggler 2:1.3 --json");
    struct answer apart =
        ask(*state, OMGS " --straggler 1:1.3 --straggler 2:1.3 --json --trace trace.json");
    assert_string_equal(collapsed.out, apart.out);
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
