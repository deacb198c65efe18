/* `gradweave compare`: a ranking with what cannot be predicted, its notes, and shared processors.
 */
#include "tests/cli/program_inputs.h"
#include "tests/test.h"

static const char dense_cluster[] =
    "{'schema': 'gradweave/cluster@1', 'name': 'dense only', 'workers': 4, 'collectives': {"
    "'allreduce': [{'workers': 4, 'alpha_s': 0.001, 'beta_s_per_byte': 1e-8}]},"
    "'compressors': {}}";

static int make_cases(void **state) {
    if (make_inputs(state) != 0) {
        return -1;
    }
    write_text(*state, "dense-only.json", dense_cluster);
    return 0;
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
}

/* ---- notes --------------------------------------------------------------------------------- */

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
