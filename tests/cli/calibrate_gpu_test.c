/*
 * `calibrate --device cuda` as a user starts it, on a GPU that ranks share or on one that is
 * emulated: files are whole and say what they are of. Skipped without MPI or a GPU.
 */
#include "tests/cli/program.h"
#include "tests/support.h"

#include "tests/cli/job_support.h"

#define SMALL "--device cuda --max-bytes 8192 --max-elements 4096 --max-time 0.05 --quiet "

static void need_job_with_gpu(const char *folder) {
    need_mpi();
    struct answer answer =
        ask(folder, "gradweave bench compressors --device cuda -n 100 -r 1 -c hard-threshold");
    bool here = answer.status == 0;
    assert_true(here || (answer.status == 2 && strstr(answer.err, "expected a GPU") != NULL));
    if (!here) {
        print_message("skipped: %s", answer.err);
    }
    if (!here) {
        skip();
    }
}

static cJSON *read_cluster(const char *folder, const char *name) {
    char *text = read_text(folder, name);
    cJSON *cluster = parse_document(text, "gradweave/cluster@1");
    return cluster;
}

static void assert_done(const char *folder, const char *command) {
    struct answer answer = ask(folder, command);
    if (answer.status != 0) {
        print_message("%s", answer.err);
    }
    assert_int_equal(answer.status, 0);
}

static void assert_bad_input(const char *folder, const char *command, const char *why) {
    struct answer answer = ask(folder, command);
    assert_int_equal(answer.status, 2);
    assert_non_null(strstr(answer.err, why));
}

static void ranks_that_share_a_gpu_are_calibrated(void **state) {
    const char *folder = *state;
    need_job_with_gpu(folder);
    assert_done(folder, "gradweave calibrate --nodes 2 --out shared.json --transport mpi --time 5 "
                        "--only allgather,sendrecv,hard-threshold " SMALL);
    cJSON *cluster = read_cluster(folder, "shared.json");
    const cJSON *source = item_at(cluster, "source");
    assert_string_equal(text_at(source, "device"), "cuda");
    const char *transport = text_at(source, "gpu_transport");
    assert_true(strcmp(transport, "staged") == 0 || strcmp(transport, "cuda-aware") == 0);
    const cJSON *rank = NULL;
    cJSON_ArrayForEach(rank, item_at(source, "ranks")) {
        assert_non_null(strchr(text_at(rank, "gpu"), ':'));
    }
    assert_int_equal(cJSON_GetArraySize(item_at(cluster, "collectives")), 2);
    assert_int_equal(cJSON_GetArraySize(item_at(cluster, "compressors")), 1);
    const cJSON *point = NULL;
    cJSON_ArrayForEach(point, item_at(cluster, "compressors.hard-threshold.raw")) {
        assert_true(number_at(point, "median_s") > 2e-7); /* no GPU launches anything sooner */
    }
    assert_null(cJSON_GetObjectItemCaseSensitive(cluster, "network"));
    /* Calibrations of GPUs are not checked, or extended, on processors. */
    assert_bad_input(folder, "gradweave calibrate --nodes 2 --check shared.json",
                     "--device: expected cuda");
    assert_bad_input(folder, "gradweave calibrate --nodes 2 --add --only topk --out shared.json",
                     "--device: expected cuda");
    struct answer check = ask(folder, "gradweave calibrate --nodes 2 --check shared.json --time 2 "
                                      "--tolerance 1000 --device cuda --quiet");
    assert_int_equal(check.status, 0);
    assert_non_null(strstr(check.out, "still describes"));
}

/* Each of these numbers below `object` is above 0, or at least 0. */
static void assert_positive(const cJSON *object, const char *const *paths, bool may_be_zero) {
    for (; *paths != NULL; paths++) {
        double number = number_at(object, *paths);
        if (!(may_be_zero ? number >= 0 : number > 0)) {
            fail_msg("%s: %g", *paths, number);
        }
    }
}

/* And the simulator has something to go by. */
static void messages_are_measured(void **state) {
    const char *folder = *state;
    static const char *const positive[] = {"network.within.overhead_s", NULL};
    static const char *const rest[] = {"network.within.latency_s", "network.within.gap_s",
                                       "network.within.gap_s_per_byte",
                                       "network.within.overhead_s_per_byte", NULL};
    need_job_with_gpu(folder);
    assert_done(folder, "gradweave calibrate --nodes 2 --out pairs.json --transport mpi --time 5 "
                        "--only allgather,hard-threshold,network " SMALL);
    cJSON *cluster = read_cluster(folder, "pairs.json");
    assert_positive(cluster, positive, false);
    assert_positive(cluster, rest, true);
    assert_done(folder, "gradweave simulate resnet50 --cluster pairs.json --algo hard-threshold "
                        "--network messages");
    assert_bad_input(folder,
                     "gradweave calibrate --nodes 1 --out one.json --only network,overlap " SMALL,
                     "expected at least 2 ranks");
}

/* A busy machine leaves an emulated GPU no time for any: of the tests that take times. */
static void overlap_is_measured(void **state) {
    const char *folder = *state;
    static const char *const factors[] = {"compute.factor", "communication.factor", NULL};
    need_job_with_gpu(folder);
    assert_done(folder, "gradweave calibrate --nodes 2 --out pairs.json --transport mpi --time 5 "
                        "--only allgather,hard-threshold,network,overlap " SMALL);
    cJSON *cluster = read_cluster(folder, "pairs.json");
    const cJSON *pairs = NULL;
    cJSON_ArrayForEach(pairs, item_at(cluster, "overlap.factors")) {
        const cJSON *point = cJSON_GetArrayItem(item_at(pairs, "topk"), 0);
        assert_true(number_at(point, "bytes") == 1024);
        assert_positive(point, factors, false);
    }
    assert_int_equal(cJSON_GetArraySize(item_at(cluster, "overlap.factors")), 3);
    assert_true(number_at(cluster, "overlap.elements") == 4096);
    assert_done(folder, "gradweave simulate resnet50 --cluster pairs.json --algo hard-threshold "
                        "--interference"); /* which refuses a file without factors */
}

static void one_rank_is_calibrated(void **state) {
    const char *folder = *state;
    need_job_with_gpu(folder);
    assert_done(folder, "gradweave calibrate --nodes 1 --out one.json --time 3 "
                        "--only allgather,sendrecv,hard-threshold " SMALL);
    cJSON *cluster = read_cluster(folder, "one.json");
    const cJSON *curves = NULL;
    assert_int_equal(cJSON_GetArraySize(item_at(cluster, "collectives")), 1); /* no sendrecv */
    cJSON_ArrayForEach(curves, item_at(cluster, "collectives")) {
        assert_true(number_at(cJSON_GetArrayItem(curves, 0), "workers") == 1);
    }
    assert_int_equal(cJSON_GetArraySize(item_at(cluster, "compressors")), 1);
}

static void one_rank_is_calibrated_over_nccl(void **state) {
    const char *folder = *state;
    need_job_with_gpu(folder);
    struct answer answer = ask(folder, "gradweave calibrate --nodes 1 --out nccl.json --time 3 "
                                       "--transport nccl --only allgather,hard-threshold " SMALL);
    bool here = answer.status == 0;
    assert_true(here || (answer.status == 2 && strstr(answer.err, "NCCL") != NULL));
    if (!here) {
        print_message("skipped: %s", answer.err);
    }
    if (!here) {
        skip();
    }
    cJSON *cluster = read_cluster(folder, "nccl.json");
    assert_string_equal(text_at(cluster, "source.gpu_transport"), "nccl");
    assert_int_equal(cJSON_GetArraySize(item_at(cluster, "collectives")), 1);
}

static void what_gpus_have_not_is_refused(void **state) {
    const char *folder = *state;
    need_job_with_gpu(folder);
    assert_bad_input(
        folder, "gradweave calibrate --nodes 2 --out no.json --device cuda:999 --only allgather",
        "GPU 999: expected");
    assert_bad_input(folder,
                     "gradweave calibrate --nodes 2 --out no.json --device cuda:0 --transport nccl "
                     "--only allgather",
                     "expected");
}

/* With the word "measured": what takes times. */
int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ranks_that_share_a_gpu_are_calibrated, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(messages_are_measured, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(one_rank_is_calibrated, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(one_rank_is_calibrated_over_nccl, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(what_gpus_have_not_is_refused, make_folder, remove_folder),
    };
    const struct CMUnitTest measured[] = {
        cmocka_unit_test_setup_teardown(overlap_is_measured, make_folder, remove_folder),
    };
    if (argc > 1 && strcmp(argv[1], "measured") == 0) {
        return cmocka_run_group_tests(measured, NULL, NULL);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
