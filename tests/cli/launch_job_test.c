/* Starting jobs, with an mpirun that records its arguments, and messages about a lost rank. Skipped
 * without MPI. */
#include <signal.h>
#include <sys/stat.h>

#include "tests/cli/program_inputs.h"
#include "tests/test.h"

#include "tests/cli/job_support.h"

#define ENDLESS "calibrate --nodes 2 --out lost.json --max-time 100000 --precision 1e-9"
#define VALIDATE "validate tiny.json --cluster small.json"

/* ---- how jobs are started ------------------------------------------------------------------ */

/* Puts a script in mpirun's place: for those who have . in PATH. */
static void fake_mpirun(const char *folder, const char *script) {
    write_text(folder, "mpirun", script);
    assert_int_equal(chmod(path_in(folder, "mpirun"), 0700), 0);
}

/* mpirun's arguments, on one line. */
static char *arguments_of(const char *folder, const char *command) {
    fake_mpirun(folder, "#!/bin/sh\nprintf '\\006' >&2\necho ' $* ' > arguments\n");
    check_says(folder, command, NULL);
    return read_text(folder, "arguments");
}

static void expect_argument(const char *arguments, const char *expected) {
    if (strstr(arguments, expected) == NULL) {
        fail_msg("expected \"%s\" in: %s", expected, arguments);
    }
}

#define FAKE "/usr/bin/env PATH=.:/usr/bin:/bin "

TEST(ranks_share_this_host_or_are_dealt_out) {
    need_mpi();
    char *here = arguments_of(*state, FAKE "gradweave " VALIDATE " --nodes 1");
    expect_argument(here, " -n 1 ");
    expect_argument(here, " --bind-to hwthread ");
    expect_argument(here, " --map-by slot:PE=");
    char *many = arguments_of(*state, FAKE "gradweave " VALIDATE " --nodes 4000");
    expect_argument(many, " --oversubscribe --bind-to none ");
    write_text(*state, "hosts", "localhost slots=3\n");
    char *hosts = arguments_of(*state, FAKE "gradweave " VALIDATE " --nodes 3 --hostfile hosts");
    expect_argument(hosts, " -n 3 ");
    expect_argument(hosts, " --hostfile hosts --map-by node --bind-to none ");
    char *slurm =
        arguments_of(*state, FAKE "SLURM_JOB_ID=7 gradweave " VALIDATE " --nodes 3 --seed 5");
    expect_argument(slurm, " -n 3 ");
    expect_argument(slurm, " --map-by node --bind-to none ");
    expect_argument(slurm,
                    "gradweave validate tiny.json --cluster small.json --nodes 3 --seed 5 \n");
    assert_null(strstr(slurm, "--hostfile"));
    assert_null(strstr(slurm, "--oversubscribe"));
}

/* A host that is lost is named by mpirun; so is what else it stumbles over. */
TEST(mpirun_is_quoted) {
    need_mpi();
    fake_mpirun(*state,
                "#!/bin/sh\n"
                "line=--------------------------------------------------------------------------\n"
                "printf 'half a line' >&2\n"
                "printf '%s\\n' $line 'ORTE has lost communication with a remote daemon.' "
                "'  Remote daemon: [[1,0],2] on node node-c' $line '[a rank] writes on' >&2\n"
                "exit 1\n");
    struct answer answer = ask(*state, FAKE "gradweave " VALIDATE " --nodes 2");
    assert_int_equal(answer.status, 3);
    assert_string_equal(
        answer.err,
        "half a line[a rank] writes on\n"
        "gradweave: mpirun: expected to start the job's ranks, but it ended with status 1 and "
        "says: ORTE has lost communication with a remote daemon. Remote daemon: [[1,0],2] on node "
        "node-c\n");
}

/* For example, an mpirun that waits for ssh, or for the daemon of a host whose link was cut. */
TEST(mpirun_is_not_waited_for_without_end) {
    need_mpi();
    static const char *const said[] = {
        "gradweave: mpirun: expected that it starts the job's ranks within 10 s (--timeout), and "
        "that ssh gets to all hosts without a password\n",
        "rank 1 is lost\n"
        "gradweave: the MPI job failed, and mpirun did not end it within 10 s: expected hosts that "
        "can be reached; ranks may be left there\n"};
    struct running jobs[2];
    fake_mpirun(*state, "#!/bin/sh\n"
                        "[ \"$2\" = 2 ] || printf '\\006rank 1 is lost\\n\\030' >&2\n"
                        "sleep 1000\n");
    jobs[0] = start(*state, FAKE "gradweave " VALIDATE " --nodes 2 --timeout 2");
    jobs[1] = start(*state, FAKE "gradweave " VALIDATE " --nodes 3 --timeout 2");
    for (size_t i = 0; i < 2; i++) {
        struct answer answer = finish(&jobs[i], 30);
        assert_int_equal(answer.status, 3);
        assert_string_equal(answer.out, "");
        assert_string_equal(answer.err, said[i]);
    }
    assert_int_equal(unlink(path_in(*state, "mpirun")), 0);
}

/* Processes that were started together and cannot find each other: one of them says so. */
TEST(strangers_are_no_job) {
    need_mpi();
    static const struct {
        const char *environment, *message;
    } cases[] = {
        {"SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0",
         "gradweave: srun started 2 tasks that cannot find each other: expected srun --mpi=pmix, "
         "or mpirun in its place\n"},
        {"SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1", ""},
        {"PMI_SIZE=3 PMI_RANK=0",
         "gradweave: this process was started as one of 3, but MPI finds no other: expected the "
         "launcher of "},
        {"PMI_SIZE=3 PMI_RANK=2", ""},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct answer answer =
            ask(*state, "/usr/bin/env %s gradweave " VALIDATE " --nodes 2", cases[c].environment);
        assert_int_equal(answer.status, 2);
        assert_string_equal(answer.out, "");
        assert_int_equal(strncmp(answer.err, cases[c].message, strlen(cases[c].message)), 0);
        assert_true(cases[c].message[0] != '\0' || answer.err[0] == '\0');
    }
}

/* ---- a rank that dies ---------------------------------------------------------------------- */

/* Kills rank `rank` of two by a signal; all else ends, and the user is told who died and where. */
static void lose(const char *folder, int rank, int number) {
    pid_t ranks[2];
    char host[128] = "";
    char expected[512];
    char *before = list_files(folder);
    struct running calibration = start(folder, "gradweave " ENDLESS);
    find_ranks(calibration.process, 2, ranks);
    (void)usleep(500000);
    assert_int_equal(kill(ranks[rank], number), 0);
    struct answer answer = finish(&calibration, 60);
    (void)gethostname(host, sizeof host - 1);
    host[strcspn(host, ".")] = '\0';
    (void)snprintf(expected, sizeof expected,
                   "gradweave: the MPI job failed: rank %d on %s was killed by signal %d (%s)\n",
                   rank, host, number, strsignal(number));
    assert_int_equal(answer.status, 3);
    assert_string_equal(answer.out, "");
    assert_string_equal(answer.err, expected);
    assert_true(end_soon(ranks, 2));
    char *after = list_files(folder);
    assert_string_equal(before, after);
}

TEST(the_lost_rank_is_named) {
    need_mpi();
    lose(*state, 1, SIGKILL);
    lose(*state, 0, SIGKILL);
    lose(*state, 1, SIGTERM);
}

FIXTURES(make_inputs, remove_folder)

/* The output of ranks is this program's answer: it is printed whole, or the job has failed. */
TEST(an_answer_that_cannot_be_printed_is_a_failure) {
    need_mpi();
    static const char *const verbs[] = {
        VALIDATE " --nodes 2", VALIDATE " --nodes 2 --algo omgs --out v.json --trace t.json",
        "calibrate --nodes 2 --out unprinted.json"};
    static const char *const kept[] = {
        "", "; v.json is written completely; t.json is written completely",
        "; unprinted.json is written completely"};
    char command[256];
    char message[256];
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        fake_mpirun(*state, "#!/bin/sh\nprintf '\\006' >&2\n: > started\necho the answer\n");
        (void)snprintf(command, sizeof command, FAKE "gradweave %s", verbs[i]);
        assert_string_equal(check_says(*state, command, "the answer\n", NULL), "the answer\n");
        struct answer full = ask_into(*state, command, "/dev/full");
        (void)snprintf(message, sizeof message, "gradweave: stdout: cannot be written%s\n",
                       kept[i]);
        check_failed(&full, 3, message);
        assert_int_equal(unlink(path_in(*state, "started")), 0);
        struct answer closed = ask_into(*state, command, "/dev/null");
        assert_int_equal(closed.status, 0);
        assert_int_equal(unlink(path_in(*state, "started")), 0);
        (void)snprintf(command, sizeof command, "PATH=.:/usr/bin:/bin $1 %s >&-\n", verbs[i]);
        write_text(*state, "closed.sh", command);
        closed = ask(*state, "/bin/sh closed.sh gradweave");
        check_failed(&closed, 3, "gradweave: stdout: cannot be written\n");
        assert_int_not_equal(access(path_in(*state, "started"), F_OK), 0);
    }
    assert_int_equal(unlink(path_in(*state, "mpirun")), 0);
}
