/* Completion by the scripts that the program prints. */
#include <libgen.h>

#include "tests/cli/program.h"
#include "tests/test.h"

/* The offers of bash for a command line, by the printed script. */
TEST(completes_in_bash) {
    static const struct {
        const char *words, *offered;
    } lines[] = {{"ex", "export "},
                 {"simulate res", "resnet18 resnet34 resnet50 resnet101 resnet152 resnet50-h200 "},
                 {"simulate --pol", "--policy "},
                 {"simulate -a omgs-", "omgs-optimal "},
                 {"compare --algo topk,mg-", "topk,mg-wfbp "},
                 {"simulate --network m", "messages "},
                 {"validate --transport = n", "nccl "},
                 {"validate --counts rec", "recorded "},
                 {"simulate --counts rec", " "},
                 {"check res", "resnet50 resnet50-h200 "},
                 {"bench --device cu", "cuda "},
                 {"calibrate --only allr", "allreduce "},
                 {"calibrate --only topk,n", "topk,network "},
                 {"calibrate --only o", "onebit overlap "},
                 {"calibrate --compressor no", " "},
                 {"bench --compressor no", " "},
                 {"plan --compressor no", "none "},
                 {"compare --compressor no", "none "}};
    char *path = getenv("PATH");
    char *searched = NULL;
    char program[] = GW_TEST_PROGRAM;
    assert_true(asprintf(&searched, "%s:%s", dirname(program), path) > 0);
    assert_int_equal(setenv("PATH", searched, 1), 0);
    write_text(*state, "try.bash",
               "source /dev/stdin <<< $(gradweave completion bash)\nCOMP_WORDS=($*)\n"
               "COMP_CWORD=$(($# - 1))\n_gradweave\nprintf '%s ' ${COMPREPLY[@]}\n");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct answer answer = ask(*state, "bash try.bash gradwave %s", lines[i].words);
        assert_string_equal(answer.err, "");
        assert_string_equal(answer.out, lines[i].offered);
    }
    free(searched);
}

FIXTURES(make_folder, remove_folder)
