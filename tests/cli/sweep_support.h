/* Common parts of tests of `sweep`; after program_inputs.h and support.h. */
#ifndef GW_TESTS_SWEEP_SUPPORT_H
#define GW_TESTS_SWEEP_SUPPORT_H

#include "tests/support.h"

#define TINY "gradweave sweep --model tiny.json --cluster small.json"
#define RESULT "gradweave/sweep-result@1"

/* Has no allreduce: pipelines without compression have no answer on it. */
static const char sparse_cluster[] =
    "{'schema': 'gradweave/cluster@1', 'name': 'sparse', 'workers': 4, 'collectives': {"
    "'allgather': [{'workers': 4, 'alpha_s': 0.0005, 'beta_s_per_byte': 3e-8}]},"
    "'compressors': {'topk': {'fixed_s': 1e-5, 'per_element_s': 1e-9}}}";

static inline void check_same_file(const char *folder, const char *one, const char *other) {
    char *a = read_text(folder, one);
    char *b = read_text(folder, other);
    assert_string_equal(a, b);
}

static inline void check_done(const char *folder, const char *command) {
    (void)check_says(folder, command, NULL);
}

static inline size_t count_lines(const char *text) {
    size_t count = 0;
    for (const char *c = text; *c != '\0'; c++) {
        count += *c == '\n';
    }
    return count;
}

#endif
