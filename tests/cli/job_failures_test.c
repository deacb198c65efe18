/*
 * The verbs that run as MPI jobs, calibrate and validate: what is said when they are refused, and
 * that they end, and say why, when they lose a rank. Skipped without MPI.
 */
#include <signal.h>
#include <sys/stat.h>

#include "tests/cli/program_inputs.h"
#include "tests/test.h"

#include "tests/cli/job_support.h"

#define ENDLESS "--max-time 100000 --precision 1e-9"
#define TINY "tiny.json --cluster small.json"

/* ---- refused -------------------------------------------------------------------------------- */

/* Started inside a job, every rank sees the bad input, and one of them says so. */
TEST(refuses_bad_input_inside_a_job) {
    need_mpi();
    static const struct job_refusal cases[] = {
        {"gradweave validate absent.json --cluster small.json",
         "gradweave: absent.json: cannot be read: No such file or directory\n", 2},
        {"gradweave validate " TINY " --workers 3",
         "gradweave: --workers: expected 2, the size of the MPI job, or one less, which leaves a "
         "rank for a server, got 3\n",
         2},
        {"gradweave validate " TINY " --algo dense,ps",
         "gradweave: ps: expected a rank for its server: 2 workers in a job of 3 ranks (--workers "
         "2), got a job of 2\n",
         2},
        {"gradweave validate " TINY " --nodes 3",
         "gradweave: --nodes: expected 2, the size of the MPI job it was started in, got 3\n", 2},
        {"gradweave validate " TINY " --algo omgs --trace absent/trace.json",
         "gradweave: absent/trace.json: cannot be written: No such file or directory\n", 3},
        {"gradweave calibrate --out absent/mine.json",
         "gradweave: absent/mine.json: cannot be written: No such file or directory\n", 3},
    };
    check_refused_in_job(*state, cases, sizeof cases / sizeof *cases);
}

TEST(tells_that_mpirun_failed) {
    need_mpi();
    write_text(*state, "hosts", "localhost slots=1\n");
    struct answer full = ask(*state, "gradweave validate " TINY " --nodes 2 --hostfile hosts");
    check_failed(&full, 3, "mpirun: expected to start the job's ranks");
    struct answer absent = ask(*state, "gradweave validate " TINY " --nodes 2 --hostfile absent");
    assert_int_equal(absent.status, 2);
    assert_string_equal(absent.err,
                        "gradweave: absent: cannot be read: No such file or directory\n");
}

/* ---- ranks that are lost -------------------------------------------------------------------- */

static const char endless_validation[] =
    "gradweave validate " TINY " --nodes 2 --algo omgs --iterations 1000000";

TEST(ends_when_a_rank_dies) {
    need_mpi();
    pid_t ranks[2];
    struct running validation = start(*state, endless_validation);
    find_ranks(validation.process, 2, ranks);
    wait_for_threads(ranks, 2, "gw_exchange");
    assert_int_equal(kill(ranks[1], SIGKILL), 0);
    struct answer answer = finish(&validation, 10);
    check_failed(&answer, 3, "gradweave: the MPI job failed");
    assert_true(end_soon(ranks, 2));
}

/* A process that is stopped does not end by itself, and MPI would wait for it without end. */
TEST(ends_when_a_rank_hangs) {
    need_mpi();
    static const char *const commands[] = {
        "gradweave validate " TINY " --nodes 3 --algo omgs --iterations 1000000 --check-time 0 "
        "--timeout 5",
        "gradweave calibrate --nodes 3 " ENDLESS " --time 1000 --timeout 5 --out hung.json"};
    for (int i = 0; i < 2; i++) {
        pid_t ranks[3];
        char said[32];
        int hung = 1 - i;
        struct running job = start(*state, commands[i]);
        find_ranks(job.process, 3, ranks);
        wait_for_threads(ranks, 3, "gw_watch");
        if (i == 0) {
            wait_for_threads(ranks, 3, "gw_exchange");
        } else { /* it has begun to measure */
            while (access(path_in(*state, "hung.json.partial"), F_OK) != 0) {
                assert_true(is_running(ranks[hung]));
                (void)usleep(10000);
            }
        }
        assert_int_equal(kill(ranks[hung], SIGSTOP), 0);
        struct answer answer = finish(&job, 20);
        (void)snprintf(said, sizeof said, "gradweave: rank %d on ", hung);
        check_failed(&answer, 3, said);
        assert_non_null(strstr(answer.err, "has not answered for "));
        assert_non_null(strstr(answer.err, i == 0 ? ", during validate omgs" : ", during "));
        assert_true(end_soon(ranks, 3));
    }
}

/* One that is stopped before it knows the others has no neighbour that asks it. */
TEST(ends_when_a_rank_never_begins) {
    need_mpi();
    static const char hanging[] = "#!/bin/sh\n"
                                  "[ $OMPI_COMM_WORLD_RANK = 0 ] || kill -STOP $$\n"
                                  "exec \"$@\"\n";
    write_text(*state, "hanging", hanging);
    assert_int_equal(chmod(path_in(*state, "hanging"), 0700), 0);
    struct answer answer = ask(*state,
                               "mpirun %s -q --oversubscribe --mca odls_base_sigkill_timeout 0 -n "
                               "2 ./hanging gradweave validate " TINY " --algo omgs --timeout 1",
                               geteuid() == 0 ? "--allow-run-as-root" : "");
    assert_int_equal(answer.status, 3);
    assert_string_equal(answer.out, "");
    assert_non_null(strstr(answer.err, ": expected all ranks of the job to begin within 10 s"));
}

/* The job is not left behind by a program that is killed. */
TEST(ends_with_the_program) {
    need_mpi();
    pid_t ranks[2];
    struct running validation = start(*state, endless_validation);
    find_ranks(validation.process, 2, ranks);
    assert_int_equal(kill(validation.process, SIGTERM), 0);
    struct answer answer = finish(&validation, 10);
    assert_int_equal(answer.status, 128 + SIGTERM);
    assert_true(end_soon(ranks, 2));
}

FIXTURES(make_inputs, remove_folder)
