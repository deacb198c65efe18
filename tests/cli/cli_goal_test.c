/* simulate --goal and export goal as a user runs them: endless schedules, and exported ones. */
#include <sys/stat.h>

#include "goal/goal.h"
#include "tests/cli/program_inputs.h"
#include "tests/test.h"

/* ---- simulate --goal ----------------------------------------------------------------------- */

/* Endless schedules are refused before they fill the memory. */
TEST(endless_schedules_are_refused) {
    static const struct {
        const char *source, *message;
    } cases[] = {
        {"cat /dev/zero", "/dev/stdin:1: expected num_ranks, got the byte 0x00"},
        {"yes ''", ": expected at most 256 MiB of blanks and comments, got more"},
        {"(echo num_ranks 2; echo 'rank 0 {'; yes '// a comment')",
         ": expected at most 256 MiB of blanks and comments, got more"},
        {"(echo '/*'; yes)", ": expected at most 256 MiB of blanks and comments, got more"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char script[256];
        FILE *stream = fopen(path_in(*state, "endless.sh"), "we");
        (void)snprintf(script, sizeof script, "%s | $1 simulate --goal /dev/stdin\n",
                       cases[i].source);
        assert_true(stream != NULL && fputs(script, stream) >= 0 && fclose(stream) == 0);
        struct answer answer = ask(*state, "/bin/sh endless.sh gradweave");
        assert_int_equal(answer.status, 2);
        assert_non_null(strstr(answer.err, cases[i].message));
    }
    assert_int_equal(truncate(path_in(*state, "endless.sh"), ((off_t)16 << 30) + 1), 0);
    struct answer answer = ask(*state, "gradweave simulate --goal endless.sh");
    assert_int_equal(answer.status, 2);
    assert_non_null(strstr(answer.err, "endless.sh: expected at most 16 GiB, got more"));
    assert_int_equal(unlink(path_in(*state, "endless.sh")), 0);
}

/* ---- export -------------------------------------------------------------------------------- */

/* Every operation of a rank may be rounded by half a nanosecond. */
static void check_round_trip(const char *folder, const char *question) {
    cJSON *messages =
        ask_result(folder, "gradweave simulate %s --network messages --json", question);
    struct answer written =
        ask(folder, "gradweave export goal %s --out round.goal --json", question);
    struct gw_goal goal = {0};
    assert_int_equal(written.status, 0);
    assert_ok(gw_goal_read(path_in(folder, "round.goal"), &goal, NULL));
    double rounding_ns = 1 + 0.5 * goal.ranks[0].count;
    gw_goal_free(&goal);
    cJSON *run = ask_for(folder, "gradweave/goal-result@1", "%s",
                         "gradweave simulate --goal round.goal --json");
    const cJSON *rank = NULL;
    double finish_ns = 0;
    cJSON_ArrayForEach(rank, item_at(run, "finish_ns")) {
        finish_ns = fmax(finish_ns, rank->valuedouble);
    }
    double expected_ns = 1e9 * number_at(messages, "iteration_s");
    if (!(fabs(finish_ns - expected_ns) <= rounding_ns)) {
        fail_msg("%s: %.1f ns by the schedule, %.1f ns by messages, expected at most %g between",
                 question, finish_ns, expected_ns, rounding_ns);
    }
}

static void make_random_model(const char *folder, struct gw_random *random, char *text,
                              size_t size) {
    size_t tensors = 1 + gw_random_below(random, 12);
    size_t used = (size_t)snprintf(
        text, size,
        "{'schema': 'gradweave/model@1', 'name': 'm', 'forward_s': %.9f, "
        "'update_s': %.9f, 'tensors': [",
        1e-3 * gw_random_uniform(random), (double)gw_random_below(random, 2) * 1e-5);
    for (size_t i = 0; i < tensors; i++) {
        used += (size_t)snprintf(
            text + used, size - used, "%s{'name': 't%zu', 'elements': %d, 'backward_s': %.9f}",
            i == 0 ? "" : ", ", i, (int)(100 + gw_random_below(random, 100000)),
            1e-4 * gw_random_uniform(random));
    }
    (void)snprintf(text + used, size - used, "]}");
    write_text(folder, "random.json", text);
}

/*
 * Ranks that are all alike, by any collective that keeps them so; with overheads and gaps too, and
 * bytes of fractions of nanoseconds.
 */
TEST(an_exported_schedule_takes_what_messages_take) {
    static const char *const pipelines[] = {"p-sgd",
                                            "dense",
                                            "mg-wfbp",
                                            "ddp --policy optimal",
                                            "omgs",
                                            "topk --policy threshold:5000",
                                            "dgc --policy per-tensor",
                                            "p-sgd --policy optimal"};
    static const char *const parameters[] = {"", " --loggp L=5000,G=0.008", " --loggp L=700,G=10",
                                             " --loggp L=5000,o=700,g=2500,O=0.125,G=0.8"};
    static const char *const choices[] = {"", " --collective allgather=bruck",
                                          " --collective allreduce=recursive-doubling",
                                          " --collective allreduce=ring"};
    struct gw_random *random = random_stream(0);
    char text[4096];
    for (int trial = gw_trials(60); trial > 0; trial--) {
        char question[256];
        size_t choice = (size_t)gw_random_below(random, 4);
        int workers =
            choice == 2 ? 2 << gw_random_below(random, 3) : (int)(2 + gw_random_below(random, 7));
        make_random_model(*state, random, text, sizeof text);
        (void)snprintf(question, sizeof question,
                       "random.json --cluster small.json --workers %d --algo %s%s%s", workers,
                       pipelines[gw_random_below(random, 8)],
                       parameters[gw_random_below(random, 4)], choices[choice]);
        check_round_trip(*state, question);
    }
}

TEST(an_exported_mixed_plan_takes_what_messages_take) {
    struct gw_random *random = random_stream(1);
    char text[4096];
    for (int trial = gw_trials(10); trial > 0; trial--) {
        make_random_model(*state, random, text, sizeof text);
        struct answer planned =
            ask(*state,
                "gradweave plan random.json --cluster small.json --workers %d --policy "
                "optimal --choices dense,topk:0.1,topk:0.001 --out chosen.json --force",
                (int)(2 + gw_random_below(random, 7)));
        assert_int_equal(planned.status, 0);
        check_round_trip(*state, "random.json --cluster small.json --plan chosen.json");
    }
}

FIXTURES(make_inputs, remove_folder)
