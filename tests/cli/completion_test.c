/* Completion by the scripts that the program prints. */
#include "tests/cli/program.h"
#include "tests/test.h"

/* The offers of bash for a command line, by the printed script. */
TEST(completes_in_bash) {
    static const struct {
        const char *words, *offered;
    } lines[] = {
        {"gradweave ex", "export "},
        {"gradweave simulate res", "resnet18 resnet34 resnet50 resnet101 resnet152 resnet50-h200 "},
        {"gradweave simulate --pol", "--policy "},
        {"gradweave simulate -a omgs-", "omgs-optimal "},
        {"gradweave compare --algo topk,mg-", "topk,mg-wfbp "},
        {"gradweave simulate --network m", "messages "},
        {"gradweave validate --transport = n", "nccl "},
        {"gradweave validate --counts rec", "recorded "},
        {"gradweave simulate --counts rec", " "},
        {"gradweave check res", "resnet50 resnet50-h200 "},
        {"gradweave bench --device cu", "cuda "},
        {"gradweave calibrate --only allr", "allreduce "},
        {"gradweave calibrate --only topk,n", "topk,network "},
        {"gradweave calibrate --only o", "overlap "},
        {"gradweave calibrate --compressor no", " "},
        {"gradweave bench --compressor no", " "},
        {"gradweave plan --compressor no", "none "},
        {"gradweave compare --compressor no", "none "}};
    struct answer script = ask(*state, "gradweave completion bash");
    assert_int_equal(script.status, 0);
    assert_null(strchr(script.out, '\'')); /* which write_text would change */
    write_text(*state, "complete.bash", script.out);
    write_text(*state, "try.bash",
               "source complete.bash\nCOMP_WORDS=($*)\nCOMP_CWORD=$(($# - 1))\n"
               "_gradweave\nprintf '%s ' ${COMPREPLY[@]}\n");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct answer answer = ask(*state, "bash try.bash %s", lines[i].words);
        assert_string_equal(answer.err, "");
        assert_string_equal(answer.out, lines[i].offered);
    }
}

TEST(describes_options_to_shells) {
    static const struct {
        const char *shell, *part;
    } parts[] = {{"zsh", "#compdef gradweave"},
                 {"zsh", "'--policy=[Merge policy"},
                 {"zsh", "'-p+[Merge policy"},
                 {"zsh", ":_files'"},
                 {"fish", "-n '__fish_seen_subcommand_from plan' -l policy -s p -x -a '"},
                 {"fish", "-a '(__fish_append , "},
                 {"fish", " -F -r "}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct answer answer = ask(*state, "gradweave completion %s", parts[i].shell);
        assert_int_equal(answer.status, 0);
        assert_string_equal(answer.err, "");
        assert_non_null(strstr(answer.out, parts[i].part));
    }
}

FIXTURES(make_folder, remove_folder)
