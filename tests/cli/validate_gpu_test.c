/*
 * `validate --device cuda` as a user starts it, on a GPU that ranks share or on one that is
 * emulated. Skipped without MPI or a GPU.
 */
#include "tests/cli/program_inputs.h"

#include "tests/cli/job_support.h"
#include "tests/test.h"

#define RUN                                                                                        \
    "gradweave validate tiny.json --cluster small.json --algo p-sgd --iterations 2 "               \
    "--tolerance 100000 --device cuda --quiet --json "
#define SHARED RUN "--nodes 2 --transport mpi "
#define ALONE RUN "--nodes 1 --transport "

/* The document that a command prints; NULL: it was refused with these words. */
static cJSON *validate(const char *folder, const char *command, const char *refusal) {
    struct answer answer = ask(folder, command);
    cJSON *document = NULL;
    if (answer.status == 2) {
        assert_non_null(strstr(answer.err, refusal));
        assert_string_equal(answer.out, "");
        print_message("skipped: %s", answer.err);
    } else {
        if (answer.status != 0) {
            print_message("%s", answer.err);
        }
        assert_int_equal(answer.status, 0);
        document = parse_document(answer.out, "gradweave/validation@1");
    }
    return document;
}

TEST_WITH(computing_is_what_was_asked_for, make_inputs, remove_folder) {
    const char *folder = *state;
    need_mpi();
    cJSON *waiting = validate(folder, SHARED, "--device cuda: expected");
    if (waiting == NULL) {
        skip();
    }
    assert_string_equal(text_at(waiting, "device.compute"), "wait");
    assert_null(cJSON_GetObjectItemCaseSensitive(item_at(waiting, "device"), "cublas"));
    cJSON *products = validate(folder, SHARED "--compute gemm", "--compute gemm: expected");
    if (products != NULL) {
        assert_string_equal(text_at(products, "device.compute"), "gemm");
        assert_non_null(strchr(text_at(products, "device.cublas"), '.'));
    }
}

/* Over NCCL with one rank, as that does not share a GPU. */
TEST_WITH(data_travels_by_what_was_asked_for, make_inputs, remove_folder) {
    const char *folder = *state;
    need_mpi();
    cJSON *mpi = validate(folder, ALONE "mpi", "--device cuda: expected");
    if (mpi == NULL) {
        skip();
    }
    assert_string_equal(text_at(mpi, "device.transport"), "mpi");
    cJSON *nccl = validate(folder, ALONE "nccl", "NCCL");
    if (nccl == NULL) {
        skip();
    }
    assert_string_equal(text_at(nccl, "device.transport"), "nccl");
    assert_true(number_at(nccl, "device.ranks_on_one_gpu") == 1);
}
