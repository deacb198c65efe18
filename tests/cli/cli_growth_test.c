/* Predictions for numbers of workers that were not measured, from several that were. */
#include "tests/cli/program_inputs.h"
#include "tests/test.h"

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
    return ask_result(folder,
                      "gradweave simulate tiny.json --cluster grown.json --algo dense --workers %d "
                      "--json",
                      workers);
}

/* Dense gradients in one group are exchanged after all else: how far off they are shows in full. */
TEST_WITH(the_iteration_is_as_uncertain_as_its_exchange, make_grown, remove_folder) {
    cJSON *result = simulate(*state, 8);
    double uncertain = number_at(result, "uncertainty.allreduce");
    double iteration_s = number_at(result, "iteration_s");
    double off_s = uncertain * number_at(result, "comm_s");
    assert_true(uncertain > 0.001 && uncertain < 0.5);
    assert_true(near(number_at(result, "iteration_high_s"), iteration_s + off_s, 1e-9));
    assert_true(
        near(number_at(result, "iteration_low_s"), iteration_s - off_s / (1 + uncertain), 1e-9));
    check_says(*state, "gradweave simulate tiny.json --cluster grown.json --algo dense --workers 8",
               ", as uncertain as allreduce +-",
               "note: allreduce: 8 workers not measured; from 2, 4 by growth laws ",
               "; 2x beyond the largest measured: +-", NULL);
}

static void check_ends(const cJSON *row, const char *algorithm, double low_s, double high_s) {
    assert_true(near(number_at(item_at(row, "iteration_low_s"), algorithm), low_s, 1e-9));
    assert_true(near(number_at(item_at(row, "iteration_high_s"), algorithm), high_s, 1e-9));
}

static void check_noted(const cJSON *document, const char *start) {
    bool noted = false;
    const cJSON *note = NULL;
    cJSON_ArrayForEach(note, item_at(document, "notes")) {
        noted = noted || strncmp(cJSON_GetStringValue(note), start, strlen(start)) == 0;
    }
    assert_true(noted);
}

/* The ranking is of ranges where they meet: but not where both are wrong by the same. */
TEST_WITH(a_ranking_is_as_uncertain_as_its_exchanges, make_grown, remove_folder) {
    write_text(*state, "ranges.json",
               "{'schema': 'gradweave/cluster@1', 'name': 'ranges', 'workers': 4, 'collectives': {"
               "'allgather': [{'workers': 2, 'alpha_s': 0.0150, 'beta_s_per_byte': 0},"
               "{'workers': 4, 'alpha_s': 0.0150, 'beta_s_per_byte': 0},"
               "{'workers': 8, 'alpha_s': 0.0150, 'beta_s_per_byte': 0}],"
               "'allreduce': [{'workers': 2, 'alpha_s': 0.0005, 'beta_s_per_byte': 1e-8},"
               "{'workers': 3, 'alpha_s': 0.0040, 'beta_s_per_byte': 1e-8},"
               "{'workers': 4, 'alpha_s': 0.0015, 'beta_s_per_byte': 1.5e-8}]},"
               "'compressors': {'topk': {'fixed_s': 0}}}");
    static const char command[] = "gradweave compare tiny.json --cluster ranges.json --workers 8";
    cJSON *both =
        ask_for(*state, "gradweave/comparison@1", "%s --algo dense,p-sgd,topk --json", command);
    const cJSON *results = item_at(both, "results");
    const cJSON *dense = cJSON_GetArrayItem(results, 0);
    const cJSON *rivals = cJSON_GetObjectItem(both, "not_told_apart");
    assert_string_equal(text_at(dense, "algorithm"), "dense");
    const cJSON *result = NULL;
    int count = 0;
    cJSON_ArrayForEach(result, results) {
        if (strcmp(text_at(result, "algorithm"), "topk") == 0) { /* which was measured */
            bool meets = number_at(result, "iteration_s") <= number_at(dense, "iteration_high_s");
            assert_null(cJSON_GetObjectItem(result, "iteration_high_s"));
            assert_true(meets);
            count++;
        }
    }
    assert_int_equal(count, 1);
    assert_int_equal(cJSON_GetArraySize(rivals), 1);
    assert_string_equal(cJSON_GetStringValue(rivals->child), "topk");
    check_says(*state,
               "gradweave compare tiny.json --cluster ranges.json --workers 8 --algo dense,topk",
               "?  dense", "?  topk",
               "dense can't be told apart from topk, marked with ?: allreduce", NULL);
    check_says(*state,
               "gradweave compare tiny.json --cluster ranges.json --workers 8 --algo dense,p-sgd",
               "*  dense", "dense is fastest: p-sgd, the next, takes", NULL);
    check_says(*state,
               "gradweave compare tiny.json --cluster ranges.json --workers 2:8 --algo dense,topk",
               "95% interval", "      4  dense  ", "not known", "      8  dense ?", " ms to ",
               "at 1 of 3 values, marked with ?, the fastest can't be told apart", NULL);
    cJSON *values = ask_document(*state,
                                 "gradweave compare tiny.json --cluster ranges.json --workers 2:8 "
                                 "--algo dense,topk --json",
                                 "gradweave/crossovers@1");
    const cJSON *last = cJSON_GetArrayItem(item_at(values, "rows"), 2);
    assert_int_equal(cJSON_GetArraySize(item_at(last, "not_told_apart")), 1);
    check_ends(last, "dense", number_at(dense, "iteration_low_s"),
               number_at(dense, "iteration_high_s"));
    assert_null(cJSON_GetObjectItem(item_at(last, "iteration_low_s"), "topk"));
    const cJSON *measured = cJSON_GetArrayItem(item_at(values, "rows"), 1);
    assert_int_equal(cJSON_GetArraySize(item_at(measured, "iteration_low_s")), 0);
    check_noted(values, "at 8 workers: allreduce: 8 workers not measured");
}

/* The crossover of curves that were not measured depends on their errors. */
TEST_WITH(a_crossover_is_as_uncertain_as_its_exchanges, make_grown, remove_folder) {
    write_text(
        *state, "crossing.json",
        "{'schema': 'gradweave/cluster@1', 'name': 'crossing', 'workers': 4, 'collectives': {"
        "'allgather': [{'workers': 2, 'alpha_s': 0.0200, 'beta_s_per_byte': 0},"
        "{'workers': 64, 'alpha_s': 0.0200, 'beta_s_per_byte': 0}],"
        "'allreduce': [{'workers': 2, 'alpha_s': 0.0005, 'beta_s_per_byte': 1e-8},"
        "{'workers': 3, 'alpha_s': 0.0040, 'beta_s_per_byte': 1e-8},"
        "{'workers': 4, 'alpha_s': 0.0015, 'beta_s_per_byte': 1.5e-8}]},"
        "'compressors': {'topk': {'fixed_s': 1e-9}}}");
    static const char *const axes[][2] = {{"--workers 4:64", "true"},
                                          {"--workers 2 --bandwidth 1e-3x:10x", "false"}};
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        bool doubted = axes[i][1][0] == 't';
        static const char command[] =
            "gradweave compare tiny.json --cluster crossing.json --algo dense,topk";
        cJSON *found =
            ask_for(*state, "gradweave/crossovers@1", "%s %s --json", command, axes[i][0]);
        const cJSON *crossing = cJSON_GetArrayItem(item_at(found, "crossovers"), 0);
        assert_non_null(crossing);
        assert_true(cJSON_IsTrue(item_at(crossing, "told_apart")) == !doubted);
        struct answer answer = ask(*state, "%s %s", command, axes[i][0]);
        assert_int_equal(strstr(answer.out, " there; they can't be told apart there\n") != NULL,
                         doubted);
    }
}

static void check_unknown(const cJSON *result, const char *collective) {
    assert_true(cJSON_IsNull(item_at(item_at(result, "uncertainty"), collective)));
    assert_null(cJSON_GetObjectItem(result, "iteration_low_s"));
    assert_null(cJSON_GetObjectItem(result, "iteration_high_s"));
}

/* One number of workers says nothing of how far off others are, whatever else is known. */
TEST_WITH(one_measured_number_of_workers_has_unknown_growth, make_grown, remove_folder) {
    write_text(*state, "once.json",
               "{'schema': 'gradweave/cluster@1', 'name': 'once', 'workers': 4, 'collectives': {"
               "'allgather': [{'workers': 8, 'alpha_s': 0.0150, 'beta_s_per_byte': 0}],"
               "'broadcast': [{'workers': 4, 'alpha_s': 0.0001, 'beta_s_per_byte': 1e-8}],"
               "'allreduce': [{'workers': 2, 'alpha_s': 0.0005, 'beta_s_per_byte': 1e-8},"
               "{'workers': 3, 'alpha_s': 0.0040, 'beta_s_per_byte': 1e-8},"
               "{'workers': 4, 'alpha_s': 0.0015, 'beta_s_per_byte': 1.5e-8}]},"
               "'compressors': {'topk': {'fixed_s': 1e-9}}}");
    static const char command[] = "gradweave compare tiny.json --cluster once.json --algo "
                                  "topk,clt-k --workers";
    cJSON *both = ask_for(*state, "gradweave/comparison@1", "%s 8 --json", command);
    const cJSON *first = cJSON_GetArrayItem(item_at(both, "results"), 0);
    assert_string_equal(text_at(first, "algorithm"), "clt-k");
    check_unknown(first, "broadcast");
    assert_true(number_at(item_at(first, "uncertainty"), "allreduce") > 0);
    assert_int_equal(cJSON_GetArraySize(item_at(both, "not_told_apart")), 1);
    struct answer answer = ask(*state, "%s 8", command);
    assert_non_null(strstr(answer.out, "?  clt-k"));
    assert_non_null(strstr(answer.out, "?  topk"));
    assert_non_null(strstr(answer.out, "  not known\n"));
    assert_non_null(strstr(answer.out, "were not measured, and how far off they are is not known"));
    cJSON *values = ask_for(*state, "gradweave/crossovers@1", "%s 4,8 --json", command);
    const cJSON *last = cJSON_GetArrayItem(item_at(values, "rows"), 1);
    assert_int_equal(cJSON_GetArraySize(item_at(last, "not_told_apart")), 1);
    assert_int_equal(cJSON_GetArraySize(item_at(last, "iteration_low_s")), 0);
    check_says(*state, "gradweave simulate tiny.json --cluster once.json --algo clt-k --workers 8",
               "how far off the iteration is, is not known, as of ", "broadcast", NULL);
}
