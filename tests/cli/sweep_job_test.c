/*
 * `sweep` inside MPI jobs: the same bytes as alone, and nothing lost with a rank that dies. Skipped
 * without MPI.
 */
#include <signal.h>

#include "tests/cli/program_inputs.h"
#include "tests/cli/sweep_support.h"
#include "tests/test.h"

#include "tests/cli/job_support.h"

#define GRID                                                                                       \
    "gradweave sweep --model tiny.json --cluster small.json --workers 2:32:log5 "                  \
    "--density 1e-3:1e-1:log5 --straggler 1,2"

/* A second or more on one core, of which the first points take a small part. */
#define SLOW                                                                                       \
    "gradweave sweep --model tiny.json --cluster small.json --workers 4,8 "                        \
    "--noise 0.01:0.1:lin40 --iterations 300"

/* With a process between the test and mpirun, as find_ranks wants it. */
static const char *in_job(int ranks, const char *command) {
    static char text[1024];
    (void)snprintf(text, sizeof text,
                   "timeout 120 mpirun %s -q --oversubscribe --bind-to none --mca "
                   "mpi_yield_when_idle 1 -n %d %s",
                   geteuid() == 0 ? "--allow-run-as-root" : "", ranks, command);
    return text;
}

TEST(ranks_make_no_difference) {
    need_mpi();
    check_done(*state, GRID " --out alone.csv --out alone.jsonl");
    for (int ranks = 1; ranks <= 3; ranks++) {
        check_done(*state, in_job(ranks, GRID " --out job.csv --out job.jsonl"));
        check_same_file(*state, "alone.csv", "job.csv");
        check_same_file(*state, "alone.jsonl", "job.jsonl");
    }
    check_done(*state, in_job(2, GRID " --threads 2 --out job.csv"));
    check_same_file(*state, "alone.csv", "job.csv");
    cJSON *alone = ask_document(*state, GRID " --json", "gradweave/sweep-result@1");
    cJSON *job = ask_document(*state, in_job(2, GRID " --json"), "gradweave/sweep-result@1");
    assert_true(cJSON_Compare(alone, job, 1));
}

/* One rank complains, once, and no file is left. */
TEST(bad_input_is_refused_once) {
    need_mpi();
    static const struct job_refusal cases[] = {
        {"gradweave sweep --model absent.json --cluster small.json --out new.csv",
         "gradweave: absent.json: cannot be read: No such file or directory\n", 2},
        {GRID " --out absent/new.csv",
         "gradweave: absent/new.csv: cannot be written: No such file or directory\n", 3},
        {GRID " --out new.txt",
         "gradweave: new.txt: expected the name of a table (.csv) or of JSON lines (.jsonl)\n", 2},
    };
    check_refused_in_job(*state, cases, sizeof cases / sizeof *cases);
}

/* ---- lost ranks ---------------------------------------------------------------------------- */

/* Waits until the file holds some rows. */
static void wait_for_rows(const char *folder, const char *name) {
    bool begun = false;
    for (int tries = 0; !begun && tries < 3000; tries++) {
        (void)usleep(10000);
        if (access(path_in(folder, name), R_OK) == 0) {
            char *text = read_text(folder, name);
            begun = strstr(text, "\n3,") != NULL;
        }
    }
    assert_true(begun);
}

/* Kills that rank of a job of three in the middle of its work; returns how the job ended. */
static struct answer lose(const char *folder, int rank) {
    pid_t ranks[3];
    struct running job = start(folder, in_job(3, SLOW " --out job.csv"));
    find_ranks(job.process, 3, ranks);
    wait_for_rows(folder, "job.csv.partial");
    (void)kill(ranks[rank], SIGKILL);
    return finish(&job, 100);
}

/*
 * Rows in order, below the title and the heading; returns how many are whole. Of the last one,
 * which was being written when the job was lost, there may be its beginning alone.
 */
static size_t check_beginning(const char *folder, const char *partial, const char *whole) {
    char *text = read_text(folder, partial);
    char *expected = read_text(folder, whole);
    const char *line = strchr(text, '\n') + 1;
    size_t count = 0;
    for (; strchr(line, '\n') != NULL; count++) {
        size_t length = strcspn(line, "\n") + 1;
        assert_true(strlen(expected) > length && memcmp(line, expected, length) == 0);
        expected += length;
        line += length;
    }
    size_t left = strlen(line);
    print_message("%zu bytes of the next row\n", left);
    assert_true(strncmp(line, expected, left) == 0);
    return count - 1;
}

/* A lost rank ends the job, as mpirun does by itself: --resume does the rest. */
TEST(a_job_that_lost_a_rank_is_resumed) {
    need_mpi();
    check_done(*state, SLOW " --out alone.csv");
    for (int rank = 0; rank < 2; rank++) {
        struct answer lost = lose(*state, rank);
        assert_true(lost.status != 0);
        size_t done = check_beginning(*state, "job.csv.partial", "alone.csv");
        cJSON *resumed =
            ask_document(*state, in_job(2, SLOW " --out job.csv --resume --json"), NULL);
        assert_true(number_at(resumed, "resumed_count") == (double)done);
        print_message("rank %d lost with %zu of 560 points\n", rank, done);
        check_same_file(*state, "alone.csv", "job.csv");
    }
}

FIXTURES(make_inputs, remove_folder)
