/*
 * Requests for GPUs that are missing, or too few: bench, calibrate and validate end with status 2
 * and one message that says what is missing. GPUs are hidden from the program, so that it finds as
 * many of them on any machine; tests that need one are skipped without one.
 */
#include "tests/cli/program_inputs.h"
#include "tests/cli/refusals.h"
#include "tests/test.h"

#include "tests/cli/job_support.h"

#define BENCH "bench compressors -n 100 -r 1 --device "
#define CALIBRATE "calibrate --nodes 2 --out new.json --only allgather --device "
#define VALIDATE                                                                                   \
    "validate tiny.json --cluster small.json --nodes 2 --algo dense --out new.json --device "

/* From a build with CUDA the NVIDIA driver hides the GPUs; those that are emulated are counted. */
static void show_gpus(const char *visible, const char *emulated) {
    assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", visible, 1), 0);
    assert_int_equal(setenv("GW_EMULATED_GPUS", emulated, 1), 0);
}

/* Whether what --version says of CUDA, NCCL or another has these words in it. */
static bool version_says(const char *line, const char *words) {
    struct answer version = ask("/", "gradweave --version");
    char *found = strstr(version.out, line);
    assert_non_null(found);
    found[strcspn(found, "\n")] = '\0';
    bool says = strstr(found, words) != NULL;
    return says;
}

static bool build_has(const char *line) {
    return !version_says(line, "not in this build");
}

static void need_one_gpu(const char *folder) {
    show_gpus("0", "1");
    struct answer answer = ask(folder, "gradweave " BENCH "cuda -c hard-threshold");
    int status = answer.status;
    if (status != 0) {
        assert_non_null(strstr(answer.err, "expected a GPU"));
        print_message("skipped: %s", answer.err);
    }
    if (status != 0) {
        skip();
    }
}

/* ---- no GPU -------------------------------------------------------------------------------- */

TEST(a_gpu_that_is_not_there_is_missed) {
    const char *folder = *state;
    bool cuda = build_has("CUDA: ");
    const char *why = cuda ? "expected a GPU on this machine: " : "this build has no CUDA in it";
    const struct refusal benches[] = {{BENCH "cuda", why}, {BENCH "cuda:7", why}};
    show_gpus("", "0");
    check_refusals(folder, benches, 2, 2);
    need_mpi();
    const char *missed = cuda ? "--device cuda: expected a GPU on this machine"
                              : "--device cuda: expected a build with CUDA";
    const struct refusal jobs[] = {
        {CALIBRATE "cuda", why},
        {CALIBRATE "cuda:7", why},
        {VALIDATE "cuda", missed},
        {VALIDATE "cuda:7", missed},
    };
    check_refusals(folder, jobs, sizeof jobs / sizeof *jobs, 2);
}

TEST(builds_without_mpi_start_no_job) {
    if (build_has("MPI:  ")) {
        skip();
    }
    const struct refusal jobs[] = {
        {CALIBRATE "cuda", "this gradweave was built without MPI"},
        {CALIBRATE "cpu", "this gradweave was built without MPI"},
        {VALIDATE "cpu", "this gradweave was built without MPI"},
    };
    show_gpus("", "0");
    check_refusals(*state, jobs, sizeof jobs / sizeof *jobs, 2);
}

/* ---- fewer than asked for ------------------------------------------------------------------ */

TEST(a_wrong_index_is_refused) {
    static const char why[] = "GPU 7: expected one of the 1 here, from 0 on";
    const char *folder = *state;
    need_one_gpu(folder);
    check_refusals(folder, &(struct refusal){BENCH "cuda:7", why}, 1, 2);
    need_mpi();
    const struct refusal jobs[] = {{CALIBRATE "cuda:7", why}, {VALIDATE "cuda:7", why}};
    check_refusals(folder, jobs, 2, 2);
}

TEST(nccl_is_refused_to_ranks_that_share) {
    const char *folder = *state;
    bool nccl = build_has("NCCL: ");
    bool elsewhere = version_says("NCCL: ", "not on this machine");
    need_mpi();
    need_one_gpu(folder);
    const struct refusal jobs[] = {
        {CALIBRATE "cuda --transport nccl", elsewhere ? "on this machine, or MPI as the transport"
                                            : nccl    ? "expected a GPU for each rank over NCCL"
                                                      : "built without NCCL"},
        {VALIDATE "cuda --transport nccl",
         nccl ? "expected a GPU for each rank, got 2 ranks on one" : "expected a build with NCCL"},
    };
    check_refusals(folder, jobs, 2, 2);
}

/* ---- no NCCL ------------------------------------------------------------------------------- */

TEST(nccl_that_is_not_there_is_missed) {
    bool cuda = build_has("CUDA: ");
    need_mpi();
    if (build_has("NCCL: ")) {
        skip();
    }
    const struct refusal job = {VALIDATE "cuda --transport nccl",
                                cuda ? "expected a build with NCCL" : "expected a build with CUDA"};
    show_gpus("", "0");
    check_refusals(*state, &job, 1, 2);
}

FIXTURES(make_inputs, remove_folder)
