/*
 * `validate --device cuda` as a user starts it, on a GPU that ranks share or on one that is
 * emulated. Skipped without MPI or a GPU.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "program_inputs.h"

#include "job_support.h"

#define RUN                                                                                        \
    "gradweave validate tiny.json --cluster small.json --nodes 2 --algo p-sgd --iterations 2 "     \
    "--tolerance 100000 --transport mpi --device cuda --quiet "

static void need_job_with_gpu(const char *folder) {
    need_mpi();
    struct answer answer = ask(folder, "gradweave bench compressors --device cuda -n 100 -r 1");
    int status = answer.status;
    forget(&answer);
    if (status != 0) {
        skip();
    }
}

/* What the document says of the GPU; NULL: it was refused, for want of cuBLAS. */
static cJSON *validate(const char *folder, const char *command) {
    struct answer answer = ask(folder, command);
    cJSON *document = NULL;
    if (answer.status == 2) {
        assert_non_null(strstr(answer.err, "--compute gemm: expected"));
        assert_non_null(strstr(answer.err, "cuBLAS"));
        assert_string_equal(answer.out, "");
    } else {
        assert_int_equal(answer.status, 0);
        document = parse_document(answer.out, "gradweave/validation@1");
    }
    forget(&answer);
    return document;
}

static void computing_is_what_was_asked_for(void **state) {
    const char *folder = *state;
    need_job_with_gpu(folder);
    cJSON *waiting = validate(folder, RUN "--json");
    assert_non_null(waiting);
    assert_string_equal(text_at(waiting, "device.compute"), "wait");
    assert_null(cJSON_GetObjectItemCaseSensitive(item_at(waiting, "device"), "cublas"));
    cJSON_Delete(waiting);
    cJSON *products = validate(folder, RUN "--compute gemm --json");
    if (products != NULL) {
        assert_string_equal(text_at(products, "device.compute"), "gemm");
        assert_non_null(strchr(text_at(products, "device.cublas"), '.'));
        cJSON_Delete(products);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(computing_is_what_was_asked_for, make_inputs,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
