/* Launchers' variables about a process's job, and mpirun's messages at the job's end, separated
 * from the ranks' output. */
#include <fcntl.h>

#include "tests/test.h"
#include "transport/mpi/launch.h"
#include "transport/mpi/launch_report.h"

#define BEGIN "\x06"
#define ENDS "\x18"
#define LINE "--------------------------------------------------------------------------\n"

/* ---- what mpirun says ---------------------------------------------------------------------- */

/*
 * Pieces of a stderr: what ranks write goes through, what stands between two lines is kept, and
 * signs are taken out of both.
 */
static const struct {
    const char *text;
    const char *passed, *kept;
} pieces[] = {
    {"gradweave: rank 0: no such file\n", "gradweave: rank 0: no such file\n", ""},
    {"\rcalibrate [####........] 40%", "\rcalibrate [####........] 40%", ""},
    {"- a list\n-- of dashes\n----------\n", "- a list\n-- of dashes\n----------\n", ""},
    {"-----------------------------------------------------------------------------------"
     " and more\n",
     "-----------------------------------------------------------------------------------"
     " and more\n",
     ""},
    {LINE "mpirun noticed - well - something.\n" LINE, "",
     LINE "mpirun noticed - well - something.\n" LINE},
    {LINE LINE, "", LINE LINE},
    {LINE "  1 -- one\n  2 -- two\n\n-----\n" LINE, "",
     LINE "  1 -- one\n  2 -- two\n\n-----\n" LINE},
    {BEGIN, "", ""},
    {ENDS LINE "MPI_" ENDS "ABORT was invoked\n" LINE, "", LINE "MPI_ABORT was invoked\n" LINE},
};
enum { PIECES = sizeof pieces / sizeof *pieces };

/* The report of a job whose stderr goes on to `out`; mpirun writes to *end. */
static struct gw_launch_report open_report(int out, int *end) {
    int ends[2];
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    *end = ends[1];
    return (struct gw_launch_report){.pipe = ends[0], .out = out};
}

static void say(struct gw_launch_report *report, int end, const char *text, size_t length) {
    assert_int_equal(write(end, text, length), length);
    gw_launch_report_read(report);
}

static void close_report(struct gw_launch_report *report, int end) {
    (void)close(end);
    gw_launch_report_read(report);
    assert_int_equal(report->pipe, -1);
}

/* Bytes of a stream in pieces of random lengths. */
static void say_in_pieces(struct gw_launch_report *report, int end, struct gw_random *random,
                          const char *text) {
    for (size_t left = strlen(text); left > 0;) {
        size_t count = 1 + gw_random_below(random, left < 100 ? left : 100);
        say(report, end, text, count);
        text += count;
        left -= count;
    }
}

TEST(ranks_are_heard_and_mpirun_is_kept) {
    struct gw_random *random = random_stream(1);
    for (int round = 0; round < 300; round++) {
        char all[8192] = "";
        char passed[8192] = "";
        char kept[8192] = "";
        char got[8192] = "";
        FILE *out = tmpfile();
        int end = -1;
        struct gw_launch_report report = open_report(fileno(out), &end);
        bool begun = false;
        bool ends = false;
        for (uint64_t i = gw_random_below(random, 20); i > 0; i--) {
            size_t p = gw_random_below(random, PIECES);
            strcat(all, pieces[p].text);
            strcat(passed, pieces[p].passed);
            strcat(kept, pieces[p].kept);
            begun = begun || strstr(pieces[p].text, BEGIN) != NULL;
            ends = ends || strstr(pieces[p].text, ENDS) != NULL;
        }
        strcat(all, "\n"); /* what may be a line is held back until it ends */
        strcat(passed, "\n");
        say_in_pieces(&report, end, random, all);
        close_report(&report, end);
        rewind(out);
        got[fread(got, 1, sizeof got - 1, out)] = '\0';
        (void)fclose(out);
        assert_string_equal(got, passed);
        assert_string_equal(report.text, kept);
        assert_int_equal(report.begun, begun);
        assert_int_equal(report.ends, ends);
    }
}

TEST(more_than_is_kept_is_cut) {
    int end = -1;
    struct gw_launch_report report = open_report(STDERR_FILENO, &end);
    say(&report, end, LINE, strlen(LINE));
    for (int i = 0; i < 3 * GW_REPORT_SIZE; i++) {
        say(&report, end, "x ", 2);
    }
    close_report(&report, end);
    assert_int_equal(strlen(report.text), GW_REPORT_SIZE - 1);
    struct gw_error error;
    int exit_status = 0;
    assert_int_equal(gw_launch_report_end(&report, 1, &exit_status, &error), GW_FAILED);
}

TEST(ends_are_understood) {
#define PRIMARY                                                                                    \
    LINE "Primary job  terminated normally, but 1 process returned\n"                              \
         "a non-zero exit code. Per user-direction, the job has been aborted.\n" LINE
    static const struct {
        const char *said;
        int status, exit_status; /* -1: a failure */
        const char *message;
    } cases[] = {
        {BEGIN, 0, 0, NULL},
        {"", 0, -1,
         "mpirun: expected Open MPI's, which starts the job's ranks; the one in PATH ended "
         "without"},
        {"", 101, 1, NULL},
        {PRIMARY LINE "mpirun detected that one or more processes\n" LINE, 102, 2, NULL},
        {"", 103, 3, NULL},
        {PRIMARY LINE "mpirun noticed that process rank 2 with PID 0 on node node-c exited on "
                      "signal 9 (Killed).\n" LINE,
         137, -1, "the MPI job failed: rank 2 on node-c was killed by signal 9 (Killed)"},
        {PRIMARY LINE "mpirun noticed that process rank 12 with PID 4711 on node a.b.c exited\n"
                      "on signal 11 (Segmentation fault).\n" LINE,
         139, -1,
         "the MPI job failed: rank 12 on a.b.c was killed by signal 11 (Segmentation "
         "fault)"},
        {"", 137, -1,
         "the MPI job failed: expected every rank to end by itself, but a rank was killed by "
         "signal 9 (Killed)"},
        {PRIMARY, 7, -1, "mpirun: expected to start the job's ranks, but it ended with status 7"},
        {PRIMARY LINE "There are not\nenough  slots.\n\n  Use fewer.\n" LINE LINE "What?\n" LINE, 1,
         -1,
         "mpirun: expected to start the job's ranks, but it ended with status 1 and says: There "
         "are not enough slots. Use fewer."},
        {LINE "cut short", 104, -1,
         "mpirun: expected to start the job's ranks, but it ended with status 104 and says: cut "
         "short"},
        {LINE
         "ORTE was unable to reliably start one or more daemons.\nThis usually is caused by:\n\n* "
         "not finding the required libraries\n" LINE,
         255, -1,
         "mpirun: cannot reach all hosts: expected that ssh gets to each of them without a "
         "password and finds Open MPI there"},
        {LINE "An ORTE daemon has unexpectedly failed after launch and before\ncommunicating back "
              "to mpirun.\n" LINE,
         1, -1,
         "mpirun: cannot reach all hosts: expected that ssh gets to each of them without a "
         "password and finds Open MPI there"},
        {LINE "Out of luck.\n" LINE, 255, -1,
         "mpirun: expected to start the job's ranks, but it ended with status 255 and says: Out of "
         "luck."},
        {"", 127, -1, "mpirun: cannot be started: expected Open MPI's mpirun in PATH"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int end = -1;
        struct gw_launch_report report = open_report(STDERR_FILENO, &end);
        struct gw_error error = {0};
        int exit_status = -1;
        say(&report, end, cases[c].said, strlen(cases[c].said));
        close_report(&report, end);
        enum gw_status status =
            gw_launch_report_end(&report, cases[c].status, &exit_status, &error);
        assert_int_equal(status, cases[c].message == NULL ? GW_OK : GW_FAILED);
        assert_int_equal(exit_status, cases[c].exit_status);
        assert_string_equal(error.message, cases[c].message == NULL ? "" : cases[c].message);
    }
}

/* ---- what launchers tell ------------------------------------------------------------------- */

static const char *const told[] = {
    "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_SIZE", "PMI_RANK",
    "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"};
enum { TOLD = sizeof told / sizeof *told };

/* Variables as Open MPI 4.1.4, Slurm 22.05 and MPICH's mpiexec set them. */
TEST(launchers_are_told_apart) {
    static const struct {
        const char *values[TOLD];
        bool inside, refused;
        int rank, size;
    } cases[] = {
        {{NULL}, false, false, 0, 0},
        {{"4", "3", "3"}, true, false, 3, 4},
        /* mpirun in an allocation of two nodes: Slurm's are those of the daemon */
        {{"4", "3", "3", NULL, NULL, "2", "1"}, true, false, 3, 4},
        {{"1", "0", "0", NULL, NULL, "1", "0"}, true, false, 0, 1},
        /* mpiexec.hydra, alone and in an allocation */
        {{NULL, NULL, NULL, "2", "1"}, true, false, 1, 2},
        {{NULL, NULL, NULL, "1", "0"}, true, false, 0, 1},
        {{NULL, NULL, NULL, "4", "3", "1", "0"}, true, false, 3, 4},
        /* srun --mpi=pmix, pmi2, none */
        {{NULL, NULL, "1", NULL, NULL, "2", "1"}, true, false, 1, 2},
        {{NULL, NULL, NULL, "2", "1", "2", "1"}, true, false, 1, 2},
        {{NULL, NULL, NULL, NULL, NULL, "2", "1"}, true, true, 1, 2},
        /* one task: the shell of an allocation, with and without PMIx */
        {{NULL, NULL, NULL, NULL, NULL, "1", "0"}, false, false, 0, 1},
        {{NULL, NULL, "0", NULL, NULL, "1", "0"}, false, false, 0, 1},
        /* a batch script */
        {{NULL, NULL, NULL, NULL, NULL, NULL, "0"}, false, false, 0, 0},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct gw_error error = {0};
        for (size_t i = 0; i < TOLD; i++) {
            const char *value = cases[c].values[i];
            (void)(value == NULL ? unsetenv(told[i]) : setenv(told[i], value, 1));
        }
        assert_int_equal(gw_mpi_is_inside_job(), cases[c].inside);
        assert_int_equal(gw_mpi_job_rank(), cases[c].rank);
        assert_int_equal(gw_mpi_announced_size(), cases[c].size);
        assert_int_equal(gw_mpi_check_launcher(&error), cases[c].refused ? GW_BAD_INPUT : GW_OK);
    }
}
