/* `gradweave check`: what is odd in files, and what is bad input. */
#include "tests/cli/program_inputs.h"
#include "tests/test.h"

#define TINY "tiny.json --cluster small.json"

static void check_found(const char *folder, const char *command, int status, const char *text) {
    struct answer answer = ask(folder, "%s", command);
    if (answer.status != status || strstr(answer.out, text) == NULL || answer.err[0] != '\0') {
        fail_msg("%s: status %d, stdout: %s, stderr: %s, expected %d and %s", command,
                 answer.status, answer.out, answer.err, status, text);
    }
}

/* ---- bad ------------------------------------------------------------------------------------ */

static const char misspelt[] =
    "{'schema': 'gradweave/cluster@1', 'name': 'c', 'workers': 2, 'collectives': {}, "
    "'compressors': {'topk': {'per_elements_s': 5}}}";

TEST(says_why_files_are_bad) {
    static const struct {
        const char *command, *message;
    } cases[] = {
        {"check tiny.json bad.json --strict", "bad.json: compressors.topk: expected a known key"},
        {"check tiny.json half.json", "half.json: line 2, column 1: expected valid JSON"},
        {"check resnt50 tiny.json", "neither\nDid you mean \"resnet50\"?\n"},
        {"check nowhere.json", "nowhere.json: cannot be read: No such file or directory"}};
    write_text(*state, "bad.json", misspelt);
    write_text(*state, "half.json", "{'schema':\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct answer answer = ask(*state, "gradweave %s", cases[i].command);
        assert_int_equal(answer.status, 2);
        assert_non_null(strstr(answer.err, cases[i].message));
        assert_null(strstr(answer.out, "half.json: line"));
    }
}

/* The job is read with all files that it names, as sweep reads it. */
TEST(says_what_is_bad_in_a_sweep_job) {
#define SWEEP_JOB                                                                                  \
    "{'schema': 'gradweave/sweep-job@1', 'models': 'tiny.json', 'clusters': 'small.json'"
    static const char *const bad[][2] = {
        {"'algorithms': ['dens']", "bad: algorithms: algorithm: expected one of dense, p-sgd"},
        {"'workers': {'a': 1}", "bad: workers: expected a number, or text"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, SWEEP_JOB ", %s}", bad[i][0]);
        write_text(*state, "job.json", text);
        struct answer answer = ask(*state, "gradweave check job.json");
        assert_int_equal(answer.status, 2);
        assert_non_null(strstr(answer.out, bad[i][1]));
    }
    write_text(*state, "job.json", SWEEP_JOB ", 'algorithms': 'dense', 'workers': [2, 4]}");
    check_found(*state, "gradweave check job.json", 0, "note: 2 points");
    write_text(*state, "job.json", "{'schema': 'gradweave/sweep-job@1', 'density': 0.5}");
    check_found(*state, "gradweave check job.json", 0, "only its keys were checked");
}

/* A file that is bad input takes nothing away from what is said of it and of others. */
TEST(says_all_of_every_file) {
    write_text(*state, "odd.json", "{'schema': 'gradweave/modl@1'}");
    write_text(*state, "bad.json", misspelt);
    struct answer answer = ask(*state, "gradweave check nosuch.json bad.json odd.json tiny.json");
    assert_int_equal(answer.status, 2);
    assert_non_null(strstr(answer.out, "nosuch.json\n  bad: "));
    assert_non_null(strstr(answer.out, "bad.json (gradweave/cluster@1)\n  bad: compressors.topk"));
    assert_non_null(strstr(answer.out, "unknown key \"per_elements_s\" is ignored"));
    assert_non_null(strstr(answer.out, "odd.json (gradweave/modl@1)\n  odd: schema: nothing"));
    assert_non_null(strstr(answer.out, "tiny.json (gradweave/model@1)\n  nothing odd\n"));
    assert_non_null(strstr(answer.err, "gradweave: bad.json: compressors.topk: expected"));
    assert_non_null(strstr(answer.err, "nosuch.json"));
    answer = ask(*state, "gradweave check bad.json tiny.json --json");
    assert_int_equal(answer.status, 2);
    const cJSON *files = item_at(parse_document(answer.out, "gradweave/check@1"), "files");
    assert_int_equal(cJSON_GetArraySize(files), 2);
    const cJSON *bad = item_at(cJSON_GetArrayItem(files, 0), "bad");
    assert_int_equal(cJSON_GetArraySize(bad), 1);
    assert_non_null(strstr(text_at(cJSON_GetArrayItem(bad, 0), ""), "compressors.topk: expected"));
    assert_int_equal(cJSON_GetArraySize(item_at(cJSON_GetArrayItem(files, 1), "bad")), 0);
}

/* Each fault of a file that is bad input, not only the first. */
TEST(says_all_that_is_bad_in_a_file) {
    enum { MOST = 7 };
    static const struct {
        const char *text;
        const char *bad[MOST];
    } files[] = {
        {"{'schema': 'gradweave/cluster@1', 'workers': 0, 'collectives': {"
         "'allreduce': [{'workers': 2, 'points': [[1, 1], [2, 0.1]]}], 'allgather': ["
         "{'workers': 2, 'points': [[1, 1], [2, 2]]}, {'workers': 4, 'points': [[9, 1], "
         "[5, 2]]}]}, 'compressors': {'topk': {}, 'randk': {'fixed_s': 1}}, "
         "'sharing': {'ranks': -1}}",
         {"workers: expected a positive integer", "name: expected",
          "collectives.allreduce[0].points[1][1]: expected no less time than for the smaller sizes",
          "collectives.allgather[1].points[1][0]: expected sizes in ascending order, got 5",
          "compressors.topk: expected points, or one of fixed_s",
          "sharing.ranks: expected a positive integer",
          "sharing.processors: expected a positive integer"}},
        {"{'schema': 'gradweave/model@1', 'name': 'm', 'forward_s': -1, 'bytes_per_element': 0, "
         "'tensors': [{'name': 1, 'elements': 0.5, 'backward_s': 1}, 7, {'name': 'a', "
         "'elements': 1, 'backward_s': 'x'}]}",
         {"bytes_per_element: expected", "forward_s: expected", "tensors[0].name: expected",
          "tensors[0].elements: expected", "tensors[1]: expected",
          "tensors[2].backward_s: expected"}},
        {"{'schema': 'gradweave/validation@1', 'model': 'm', 'workers': 2, 'results': [{"
         "'algorithm': 3, 'predicted': {'iteration_s': 1, 'breakdown': {'forward_s': 1, "
         "'backward_s': 'x', 'compress_s': 0, 'exposed_comm_s': 0}}, 'measured': {"
         "'iteration_s': -1}}, 5]}",
         {"results[0].algorithm: expected", "results[0].predicted.breakdown.backward_s: expected",
          "results[0].measured.iteration_s: expected", "results[0].measured.breakdown: expected",
          "results[1]: expected"}},
    };
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        write_text(*state, "bad.json", files[f].text);
        struct answer answer = ask(*state, "gradweave check bad.json --json");
        const cJSON *all = item_at(parse_document(answer.out, "gradweave/check@1"), "files");
        const cJSON *found = item_at(cJSON_GetArrayItem(all, 0), "bad");
        int count = 0;
        assert_int_equal(answer.status, 2);
        for (; count < MOST && files[f].bad[count] != NULL; count++) {
            const char *expected = files[f].bad[count];
            assert_non_null(strstr(text_at(cJSON_GetArrayItem(found, count), ""), expected));
            assert_non_null(strstr(answer.err, expected));
        }
        assert_int_equal(cJSON_GetArraySize(found), count);
    }
}

FIXTURES(make_inputs, remove_folder)
