/*
 * `gradweave compare`: a ranking with what cannot be predicted, why the first is the fastest, and
 * crossovers where straight curves are known to cross.
 */
#include "tests/cli/program_inputs.h"
#include "tests/test.h"

/*
 * A large tensor whose gradient is there first, then a small one. Top-k takes 10 ms of a group of
 * any size; of both tensors it keeps 10,001 elements at density 0.01, of the large one 10,000 and
 * of the small one 1. Compute is 26 ms.
 */
static const char pair_model[] =
    "{'schema': 'gradweave/model@1', 'name': 'pair', 'forward_s': 0.002, 'tensors': ["
    "{'name': 'small', 'elements': 100, 'backward_s': 0.02},"
    "{'name': 'large', 'elements': 1000000, 'backward_s': 0.004}]}";
static const char straight_cluster[] =
    "{'schema': 'gradweave/cluster@1', 'name': 'straight', 'workers': 4, 'collectives': {"
    "'allgather': [{'workers': 4, 'alpha_s': 0.0005, 'beta_s_per_byte': 3e-8}],"
    "'allreduce': [{'workers': 4, 'alpha_s': 0.001, 'beta_s_per_byte': 1e-8}]},"
    "'compressors': {'topk': {'fixed_s': 0.01}}}";
static const char dense_cluster[] =
    "{'schema': 'gradweave/cluster@1', 'name': 'dense only', 'workers': 4, 'collectives': {"
    "'allreduce': [{'workers': 4, 'alpha_s': 0.001, 'beta_s_per_byte': 1e-8}]},"
    "'compressors': {}}";
#define PAIR "pair.json --cluster straight.json --density 0.01"

static int make_cases(void **state) {
    if (make_inputs(state) != 0) {
        return -1;
    }
    write_text(*state, "pair.json", pair_model);
    write_text(*state, "straight.json", straight_cluster);
    write_text(*state, "dense-only.json", dense_cluster);
    return 0;
}

/* Seconds that a pipeline takes when bytes move `factor` times as fast; lags hides its first. */
static double dense_s(double factor) {
    return 0.026 + 0.001 + 4 * 1000100 * 1e-8 / factor;
}
static double topk_s(double factor) {
    return 0.026 + 0.01 + 0.0005 + 8 * 10001 * 3e-8 / factor;
}
static double lags_s(double factor) {
    return 0.026 + 0.02 + 0.0005 + 8 * 3e-8 / factor;
}

static const cJSON *nth(const cJSON *document, const char *list, int index) {
    const cJSON *item = cJSON_GetArrayItem(item_at(document, list), index);
    assert_non_null(item);
    return item;
}

/* ---- rankings ------------------------------------------------------------------------------ */

/* `simulate` refuses it with the same words. */
static void check_reason(const char *folder, const cJSON *entry) {
    char expected[1024];
    struct answer alone =
        ask(folder, "gradweave simulate tiny.json --cluster dense-only.json --algo %s",
            text_at(entry, "algorithm"));
    assert_int_equal(alone.status, 2);
    (void)snprintf(expected, sizeof expected, "gradweave: %s\n", text_at(entry, "reason"));
    assert_string_equal(alone.err, expected);
}

TEST_WITH(lists_what_cannot_be_predicted, make_cases, remove_folder) {
    cJSON *list = ask_document(*state, "gradweave list algorithms --json", "gradweave/list@1");
    cJSON *ranking =
        ask_document(*state, "gradweave compare tiny.json --cluster dense-only.json --json",
                     "gradweave/comparison@1");
    int ranked = cJSON_GetArraySize(item_at(ranking, "results"));
    int infeasible = cJSON_GetArraySize(item_at(ranking, "infeasible"));
    assert_int_equal(ranked + infeasible, cJSON_GetArraySize(item_at(list, "algorithms")));
    assert_true(ranked >= 4); /* dense, p-sgd, ddp and mg-wfbp at least */
    assert_true(infeasible >= 5);
    double last_s = 0;
    const cJSON *entry = NULL;
    cJSON_ArrayForEach(entry, item_at(ranking, "results")) {
        assert_true(number_at(entry, "iteration_s") >= last_s);
        last_s = number_at(entry, "iteration_s");
    }
    cJSON_ArrayForEach(entry, item_at(ranking, "infeasible")) {
        check_reason(*state, entry);
    }
    check_says(*state,
               "gradweave compare tiny.json --cluster dense-only.json --algo dense,lags,topk",
               "\ninfeasible: lags, topk: dense-only.json: collectives.allgather: expected", NULL);
}

/* At the measured bandwidth topk takes 38.90024 ms, lags 46.50024 ms, dense 67.004 ms. */
TEST_WITH(says_why_the_first_is_fastest, make_cases, remove_folder) {
    cJSON *ranking =
        ask_document(*state, "gradweave compare " PAIR " --algo dense,lags,topk --json",
                     "gradweave/comparison@1");
    const char *const order[] = {"topk", "lags", "dense"};
    const double times_s[] = {topk_s(1), lags_s(1), dense_s(1)};
    for (int i = 0; i < 3; i++) {
        const cJSON *result = nth(ranking, "results", i);
        assert_string_equal(text_at(result, "algorithm"), order[i]);
        assert_true(near(number_at(result, "iteration_s"), times_s[i], 1e-12));
    }
    assert_string_equal(text_at(ranking, "best"), "topk");
    assert_true(near(number_at(ranking, "single_worker_s"), 0.026, 1e-12));
    assert_string_equal(
        text_at(ranking, "why"),
        "topk is fastest: lags, the next, takes 7.600 ms (19.5%) longer. It has 10.00 ms more "
        "compression, but 2.400 ms less exposed communication: it exposes 500.2 us of its "
        "3.400 ms of exchanges, topk 2.900 ms of 2.900 ms.");
    check_says(
        *state, "gradweave compare " PAIR " --algo dense,topk",
        "\ntopk is fastest: dense, the next, takes 28.10 ms (72.2%) longer. It has 38.10 ms\n"
        "more exposed communication, but 10.00 ms less compression: it exposes 41.00 ms\n"
        "of its 41.00 ms of exchanges, topk 2.900 ms of 2.900 ms.\n",
        NULL);
    check_says(*state, "gradweave compare " PAIR " --algo dense,topk", "\n*  topk ", NULL);
    check_says(*state, "gradweave compare " PAIR " --algo dense,topk", "\n   dense ", NULL);
}

/* ---- training to a goal ---------------------------------------------------------------------- */

/* Keeps trainings to 90%, judged after every iteration. */
static void write_trainings(const char *folder, const char *model, const char *trainings) {
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "{'schema': 'gradweave/accuracy@1', 'model': '%s', 'goal': 0.9, 'trainings': "
                   "[%s]}",
                   model, trainings);
    write_text(folder, "learnt.json", text);
}

static const cJSON *ask_trainings(const char *folder, const char *algorithms) {
    char command[256];
    (void)snprintf(command, sizeof command,
                   "gradweave compare " PAIR " --algo %s --accuracy learnt.json --json",
                   algorithms);
    return ask_document(folder, command, "gradweave/comparison@1");
}

#define DENSE_40 "{'algorithm': 'ddp', 'workers': 4, 'iterations': [41, 40, 40]}"
#define LAGS_60 "{'algorithm': 'lags', 'density': 0.01, 'workers': 4, 'iterations': [60, 60, 60]}"

/* topk leads by the time of an iteration, dense by the time to learn: 40 to 90 iterations. */
TEST_WITH(ranks_by_the_time_to_a_goal, make_cases, remove_folder) {
    write_trainings(*state, "pair",
                    DENSE_40 "," LAGS_60
                             ",{'algorithm': 'topk', 'density': 0.01, 'workers': 8, 'iterations': "
                             "[80, 90, 100, 90]}, {'algorithm': 'topk', 'density': 0.001, "
                             "'workers': 4, 'iterations': [1]}");
    const cJSON *ranking = ask_trainings(*state, "topk,dense,omgs,lags");
    const char *const order[] = {"dense", "lags", "topk", "omgs"};
    const double seconds[] = {40 * dense_s(1), 60 * lags_s(1), 90 * topk_s(1)};
    const double low_s[] = {39 * dense_s(1), 59 * lags_s(1), 79 * topk_s(1)};
    const double high_s[] = {41 * dense_s(1), 60 * lags_s(1), 100 * topk_s(1)};
    for (int i = 0; i < 4; i++) {
        const cJSON *result = nth(ranking, "results", i);
        assert_string_equal(text_at(result, "algorithm"), order[i]);
        if (i < 3) {
            assert_true(near(number_at(result, "to_goal.seconds"), seconds[i], 1e-12));
            assert_true(near(number_at(result, "to_goal.low_s"), low_s[i], 1e-12));
            assert_true(near(number_at(result, "to_goal.high_s"), high_s[i], 1e-12));
        }
    }
    assert_true(cJSON_IsNull(item_at(nth(ranking, "results", 3), "to_goal.seconds")));
    assert_null(cJSON_GetObjectItem(ranking, "not_told_apart"));
    assert_string_equal(text_at(ranking, "best"), "dense");
    assert_string_equal(
        text_at(ranking, "why"),
        "dense is fastest: lags, the next, takes 109.9 ms (4.1%) longer. It takes 60 iterations "
        "of 46.50 ms, dense 40 of 67.00 ms.");
    check_says(*state, "gradweave compare " PAIR " --algo dense,topk --accuracy learnt.json",
               "90% right", "those without trainings of their own", "those of 8 workers: 4 may",
               NULL);
}

/* A pipeline with which half of all trainings never reach the goal ranks last, whatever its
 * iteration time. */
TEST_WITH(ranks_last_what_never_learns, make_cases, remove_folder) {
    write_trainings(
        *state, "other",
        DENSE_40 ",{'algorithm': 'topk', 'density': 0.01, 'workers': 4, 'iterations': [1, null]},"
                 "{'algorithm': 'lags', 'density': 0.01, 'workers': 4, 'iterations': [50, null, "
                 "50]}");
    const cJSON *ranking = ask_trainings(*state, "topk,lags,dense");
    assert_string_equal(text_at(nth(ranking, "results", 0), "algorithm"), "lags");
    assert_true(cJSON_IsNull(item_at(nth(ranking, "results", 0), "to_goal.high_s")));
    assert_string_equal(text_at(nth(ranking, "not_told_apart", 0), ""), "dense");
    assert_string_equal(text_at(nth(ranking, "results", 2), "algorithm"), "topk");
    assert_true(cJSON_IsNull(item_at(nth(ranking, "results", 2), "to_goal.iterations")));
    assert_int_equal(number_at(nth(ranking, "results", 2), "to_goal.reached"), 1);
    check_says(*state, "gradweave compare " PAIR " --algo lags,topk --accuracy learnt.json",
               "never  1 of 2 reach it", "those of model other: pair may", NULL);
}

/* The difference of 109.9 ms is less than the 2.68 s that one of dense's trainings took longer. */
TEST_WITH(doubts_winners_whose_trainings_differ, make_cases, remove_folder) {
    write_trainings(*state, "pair",
                    LAGS_60 ",{'algorithm': 'dense', 'workers': 4, 'iterations': [40, 40, 80]}");
    const cJSON *ranking = ask_trainings(*state, "lags,dense");
    assert_string_equal(text_at(ranking, "best"), "dense");
    assert_string_equal(text_at(nth(ranking, "not_told_apart", 0), ""), "lags");
    ranking = ask_trainings(*state, "dense,p-sgd"); /* the same trainings, other iterations */
    assert_true(number_at(nth(ranking, "results", 1), "to_goal.seconds") >
                number_at(nth(ranking, "results", 0), "to_goal.seconds"));
    assert_null(cJSON_GetObjectItem(ranking, "not_told_apart"));
}

/* ---- crossovers ---------------------------------------------------------------------------- */

static void check_crossing(const cJSON *document, int index, const char *before, const char *after,
                           double at, double iteration_s) {
    const cJSON *crossing = nth(document, "crossovers", index);
    assert_string_equal(text_at(crossing, "fastest_at_from"), before);
    assert_string_equal(text_at(crossing, "fastest_at_to"), after);
    assert_true(near(number_at(crossing, "from"), at, 1e-7));
    assert_true(near(number_at(crossing, "to"), at, 1e-7));
    assert_true(number_at(crossing, "from") < number_at(crossing, "to"));
    assert_true(near(number_at(crossing, "iteration_s"), iteration_s, 1e-6));
}

/*
 * lags and topk cross where 80,000 bytes take 10 ms, topk and dense where 9.5 ms are what the bytes
 * of dense take longer. Between the two points that are asked for topk is never seen to win.
 */
static const double lags_to_topk = 0.24;
static const double topk_to_dense = (4 * 1000100 * 1e-8 - 8 * 10001 * 3e-8) / 0.0095;

TEST_WITH(finds_where_straight_curves_cross, make_cases, remove_folder) {
    cJSON *found = ask_document(
        *state, "gradweave compare " PAIR " --algo dense,lags,topk --bandwidth 0.1x,10x --json",
        "gradweave/crossovers@1");
    assert_string_equal(text_at(found, "parameter"), "bandwidth");
    assert_true(number_at(found, "workers") == 4);
    assert_int_equal(cJSON_GetArraySize(item_at(found, "crossovers")), 2);
    check_crossing(found, 0, "lags", "topk", lags_to_topk, topk_s(lags_to_topk));
    check_crossing(found, 1, "topk", "dense", topk_to_dense, dense_s(topk_to_dense));
    const cJSON *first = nth(found, "rows", 0);
    assert_string_equal(text_at(first, "fastest"), "lags");
    assert_string_equal(text_at(first, "next"), "topk");
    assert_true(near(number_at(first, "iteration_s.lags"), lags_s(0.1), 1e-12));
    assert_true(near(number_at(first, "iteration_s.topk"), topk_s(0.1), 1e-12));
    assert_true(near(number_at(first, "iteration_s.dense"), dense_s(0.1), 1e-12));
    const cJSON *last = nth(found, "rows", 1);
    assert_string_equal(text_at(last, "fastest"), "dense");
    assert_true(near(number_at(last, "iteration_s.dense"), dense_s(10), 1e-12));
    check_says(*state, "gradweave compare " PAIR " --algo dense,lags,topk --bandwidth 0.1x:10x",
               "lags is fastest up to 0.24x, then topk, which takes 46.50 ms there\n"
               "topk is fastest up to 3.958x, then dense, which takes 37.11 ms there\n",
               NULL);
}

/*
 * Among 4 workers an allreduce moves a byte 2 * 3 / 4 times, in 1e-8 s: the network's bytes take
 * 6.667e-9 s, which are 1.2 Gb/s.
 */
TEST_WITH(measures_bandwidth_by_the_cluster, make_cases, remove_folder) {
    cJSON *found = ask_document(
        *state, "gradweave compare " PAIR " --algo dense,topk --bandwidth 1gbit:10gbit --json",
        "gradweave/crossovers@1");
    assert_true(near(number_at(found, "own_bandwidth_bit_per_s"), 1.2e9, 1e-12));
    assert_int_equal(cJSON_GetArraySize(item_at(found, "rows")), 6);
    assert_true(number_at(nth(found, "rows", 0), "value") == 1e9);
    assert_true(near(number_at(nth(found, "rows", 1), "value"), 1e9 * pow(10, 0.2), 1e-12));
    assert_true(number_at(nth(found, "rows", 5), "value") == 1e10);
    check_crossing(found, 0, "topk", "dense", 1.2e9 * topk_to_dense, dense_s(topk_to_dense));
    check_says(*state, "gradweave compare " PAIR " --algo dense,topk --bandwidth 600mbit,1.2Gbit",
               "\n 600 mbit  topk ", NULL);
    cJSON *ranking =
        ask_document(*state, "gradweave compare " PAIR " --algo dense --bandwidth 2.4gbit --json",
                     "gradweave/comparison@1");
    assert_true(near(number_at(nth(ranking, "results", 0), "iteration_s"), dense_s(2), 1e-12));
    assert_non_null(strstr(text_at(nth(ranking, "notes", 0), ""), "bandwidth 2.4 gbit"));
}

/* The ring's law from 4 workers: an allgather grows as P - 1; an allreduce's startups as P - 1 and
 * its bytes as (P - 1) / P. */
static double grown_s(bool dense, double workers) {
    double rounds = (workers - 1) / 3;
    return dense ? 0.026 + 0.001 * rounds + 4 * 1000100 * 1e-8 * rounds * 4 / workers
                 : 0.026 + 0.01 + (0.0005 + 8 * 10001 * 3e-8) * rounds;
}

TEST_WITH(finds_the_number_of_workers, make_cases, remove_folder) {
    double last = 2;
    while (grown_s(false, last + 1) <= grown_s(true, last + 1)) {
        last++;
    }
    assert_true(last > 32 && last < 128);
    cJSON *found =
        ask_document(*state, "gradweave compare " PAIR " --algo dense,topk --workers 2:256 --json",
                     "gradweave/crossovers@1");
    assert_int_equal(cJSON_GetArraySize(item_at(found, "rows")), 8);
    assert_int_equal(cJSON_GetArraySize(item_at(found, "crossovers")), 1);
    for (int i = 0; i < 8; i++) {
        const cJSON *row = nth(found, "rows", i);
        double workers = 2 << i;
        assert_true(number_at(row, "value") == workers);
        assert_true(near(number_at(row, "iteration_s.dense"), grown_s(true, workers), 1e-9));
        assert_true(near(number_at(row, "iteration_s.topk"), grown_s(false, workers), 1e-9));
        assert_string_equal(text_at(row, "fastest"), workers <= last ? "topk" : "dense");
    }
    const cJSON *crossing = nth(found, "crossovers", 0);
    assert_true(number_at(crossing, "from") == last);
    assert_true(number_at(crossing, "to") == last + 1);
    assert_true(near(number_at(crossing, "iteration_s"), grown_s(true, last + 1), 1e-9));
}

/* However many exchanges were derived, among however many workers, they are one note. */
TEST_IN_FOLDER(says_the_same_of_all_once) {
    static const char *const workers[] = {"64", "2:256"};
    for (size_t i = 0; i < sizeof workers / sizeof *workers; i++) {
        struct answer answer = ask(
            *state, "gradweave compare resnet50 --cluster box-4x1gbit --workers %s", workers[i]);
        size_t notes = 0;
        for (const char *at = answer.out; (at = strstr(at, "\nnote")) != NULL; at++) {
            notes++;
        }
        assert_int_equal(notes, 5);
        assert_non_null(strstr(answer.out, "allreduce within a factor of "));
        assert_non_null(strstr(answer.out, "\nnote: exchanges that were not measured among so"));
    }
    cJSON *document = ask_for(*state, "gradweave/crossovers@1",
                              "gradweave compare resnet50 --cluster box-4x1gbit --workers 2:256 "
                              "--json");
    assert_true(cJSON_GetArraySize(item_at(document, "notes")) > 10);
}

TEST_WITH(keeps_the_times, make_cases, remove_folder) {
    (void)ask_document(*state,
                       "gradweave compare " PAIR " --algo dense,lags,topk --bandwidth "
                       "0.1x,1x,10x --data times.csv --json",
                       "gradweave/crossovers@1");
    char *text = read_text(*state, "times.csv");
    char expected[512];
    (void)snprintf(expected, sizeof expected,
                   "#bandwidth,fastest,dense,lags,topk\n"
                   "0.1,lags,%.9g,%.9g,%.9g\n1,topk,%.9g,%.9g,%.9g\n10,dense,%.9g,%.9g,%.9g\n",
                   dense_s(0.1), lags_s(0.1), topk_s(0.1), dense_s(1), lags_s(1), topk_s(1),
                   dense_s(10), lags_s(10), topk_s(10));
    assert_string_equal(text, expected);
}

/* ---- workers that share processors --------------------------------------------------------- */

/* Without turns: that there are some. With them: the second half of the workers is later. */
TEST_WITH(says_that_workers_share_processors, make_inputs, remove_folder) {
    static const struct {
        int ranks, processors;
        bool shared;
    } cases[] = {{4, 2, true}, {4, 4, false}, {2, 1, true}, {1, 1, false}};
    const char *const name = strstr(small_cluster, "'name'");
    const char *const compressors = strstr(small_cluster, "'compressors'");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[8192];
        (void)snprintf(
            text, sizeof text,
            "{'schema': 'gradweave/cluster@1', 'sharing': {'ranks': %d, 'processors': %d}, %.*s"
            "'compressors': {'topk': {'per_element_s': 1e-6, 'together': {'per_element_s': %s}}}}",
            cases[i].ranks, cases[i].processors, (int)(compressors - name), name,
            cases[i].shared ? "2e-6" : "1e-6");
        write_text(*state, "shared.json", text);
        const char *command = "gradweave simulate tiny.json --cluster shared.json --algo ";
        struct answer plain = ask(*state, "%stopk --no-interference", command);
        bool says = strstr(plain.out, "processors: compression takes longer") != NULL;
        assert_int_equal(says, cases[i].shared);
        assert_null(strstr(ask(*state, "%sdense", command).out, "processors"));
        double alone_s = number_at(ask_result(*state, "%stopk --no-interference --json", command),
                                   "iteration_s");
        struct answer required = ask(*state, "%stopk --interference", command);
        assert_int_equal(required.status, cases[i].ranks == 1 ? 2 : 0);
        double turns_s = number_at(ask_result(*state, "%stopk --json", command), "iteration_s");
        assert_true(cases[i].shared ? turns_s > alone_s : near(turns_s, alone_s, 1e-12));
        assert_true(cases[i].ranks == 1 || strstr(required.out, "compress on its") != NULL);
    }
}
