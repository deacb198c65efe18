/*
 * Starting an MPI job of this program, for users who start
 * `gradweave calibrate --nodes N` alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/mpi/launch_report.h"
#include "transport/transport.h"

enum { MAXIMUM_OPTIONS = 24 };

static int usable_cores(void) {
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

/*
 * On this host each rank gets its own share of the cores, as long as there is one for each: a rank
 * that yields while it waits may otherwise share a core with the one it waits for, and lose whole
 * time slices to it (3 ms instead of 0.1 ms for an allgather of 512 KiB on 2 cores).
 */
static size_t put_shares(const struct gw_launch *launch, char mapping[32], const char **out) {
    size_t count = 0;
    int share = usable_cores() / launch->ranks;
    if (share == 0) {
        out[count++] = "--oversubscribe";
    } else {
        snprintf(mapping, 32, "slot:PE=%d", share);
        out[count++] = "--use-hwthread-cpus"; /* they are what usable_cores() counts */
        out[count++] = "--map-by";
        out[count++] = mapping;
    }
    out[count++] = "--bind-to";
    out[count++] = share == 0 ? "none" : "hwthread";
    return count;
}

/*
 * Ranks are dealt out to the hosts in turn: the first of them, on which fewer workers are measured,
 * are then as far apart as the job's are. How many cores other hosts have, or leave to this job, is
 * not known here; the ranks share them as the hosts see fit.
 */
static size_t put_placement(const struct gw_launch *launch, char mapping[32], const char **out) {
    size_t count = 0;
    if (launch->hostfile == NULL && getenv("SLURM_JOB_ID") == NULL) {
        return put_shares(launch, mapping, out);
    }
    if (launch->hostfile != NULL) {
        out[count++] = "--hostfile";
        out[count++] = launch->hostfile;
    }
    out[count++] = "--map-by";
    out[count++] = "node";
    out[count++] = "--bind-to";
    out[count++] = "none";
    return count;
}

static size_t put_options(const struct gw_launch *launch, const char *ranks, char mapping[32],
                          const char *out[MAXIMUM_OPTIONS]) {
    size_t count = 0;
    out[count++] = "mpirun";
    out[count++] = "-n";
    out[count++] = ranks;
    out[count++] = "--mca";
    out[count++] = "mpi_yield_when_idle";
    out[count++] = "1";
    out[count++] = "--mca";
    out[count++] = "odls_base_sigkill_timeout"; /* ranks that are told to end do so at once */
    out[count++] = "0";
    out[count++] = "-x";
    out[count++] = "GRADWEAVE_LAUNCHED=1";
    if (geteuid() == 0) {
        out[count++] = "--allow-run-as-root";
    }
    if (isatty(STDERR_FILENO)) {
        out[count++] = "-x";
        out[count++] = "GRADWEAVE_TERMINAL=1";
    }
    return count + put_placement(launch, mapping, out + count);
}

/* ---- the end of the job -------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void note_interrupt(int number) {
    interrupted = number;
}

/*
 * mpirun is in a process group of its own and so gets one signal, from here, whether Ctrl-C or a
 * kill interrupted this process. A second one would make it leave its ranks behind, at work.
 */
static enum gw_status wait_for(pid_t child, struct gw_launch_report *report,
                               const sigset_t *unblocked, int *exit_status,
                               struct gw_error *error) {
    int wait_status = 0;
    pid_t ended = 0;
    bool passed_on = false;
    while ((ended = waitpid(child, &wait_status, WNOHANG)) == 0) {
        if (interrupted && !passed_on) {
            (void)kill(child, SIGTERM);
            passed_on = true;
        }
        struct pollfd pipe = {.fd = report->pipe, .events = POLLIN};
        (void)ppoll(&pipe, 1, NULL, unblocked);
        gw_launch_report_read(report);
    }
    if (ended < 0) {
        return gw_fail(error, GW_FAILED, "mpirun: cannot be waited for: %s", strerror(errno));
    }
    gw_launch_report_read(report);
    bool done = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
    if (interrupted && !done) {
        return gw_fail(error, GW_FAILED, "the MPI job was interrupted");
    }
    if (WIFEXITED(wait_status)) {
        return gw_launch_report_end(report, WEXITSTATUS(wait_status), exit_status, error);
    }
    return gw_fail(error, GW_FAILED, "the MPI job failed: mpirun was killed by signal %s",
                   strsignal(WTERMSIG(wait_status)));
}

/* ---- its beginning ------------------------------------------------------------------------- */

/* What this process does with signals while the job runs, and what it did before. */
struct signals {
    sigset_t mask;
    struct sigaction interrupt, child;
};

static void note_child(int number) {
    (void)number; /* only to wake sigsuspend */
}

/* Both are blocked except while waiting, so that none slips by between a look and the wait. */
static void take_signals(struct signals *before) {
    struct sigaction note = {.sa_handler = note_interrupt};
    struct sigaction wake = {.sa_handler = note_child};
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGCHLD);
    interrupted = 0;
    sigprocmask(SIG_BLOCK, &both, &before->mask);
    sigaction(SIGINT, &note, &before->interrupt);
    sigaction(SIGCHLD, &wake, &before->child);
}

static void give_back_signals(const struct signals *before) {
    sigaction(SIGINT, &before->interrupt, NULL);
    sigaction(SIGCHLD, &before->child, NULL);
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

/* If this process is killed, mpirun is told to end the job. */
static pid_t start(const char *const *command, int err, const struct signals *before) {
    pid_t child = fork();
    if (child == 0) {
        give_back_signals(before);
        (void)setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        (void)dup2(err, STDERR_FILENO);
        execvp(command[0], (char *const *)command);
        _exit(127);
    }
    return child;
}

/* From its start to its end. */
static enum gw_status run(const char *const *command, int *exit_status, struct gw_error *error) {
    struct signals before;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
        return gw_fail(error, GW_FAILED, "mpirun: cannot be listened to: %s", strerror(errno));
    }
    struct gw_launch_report report = {.pipe = ends[0]};
    take_signals(&before);
    pid_t child = start(command, ends[1], &before);
    (void)close(ends[1]);
    enum gw_status status =
        child < 0 ? gw_fail(error, GW_FAILED, "mpirun: cannot be started: %s", strerror(errno))
                  : wait_for(child, &report, &before.mask, exit_status, error);
    give_back_signals(&before);
    if (report.pipe >= 0) {
        (void)close(report.pipe);
    }
    return status;
}

enum gw_status gw_launch_mpi(const struct gw_launch *launch, int *exit_status,
                             struct gw_error *error) {
    char program[4096];
    if (launch->hostfile != NULL && access(launch->hostfile, R_OK) != 0) {
        return gw_fail(error, GW_BAD_INPUT, "%s: cannot be read: %s", launch->hostfile,
                       strerror(errno));
    }
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0) {
        return gw_fail(error, GW_FAILED, "/proc/self/exe: cannot be read: %s", strerror(errno));
    }
    program[length] = '\0';
    char ranks[16];
    snprintf(ranks, sizeof ranks, "%d", launch->ranks);
    const char *options[MAXIMUM_OPTIONS];
    char mapping[32];
    size_t option_count = put_options(launch, ranks, mapping, options);
    size_t argument_count = 0;
    while (launch->arguments[argument_count] != NULL) {
        argument_count++;
    }
    const char **command = calloc(option_count + argument_count + 2, sizeof *command);
    if (command == NULL) {
        return gw_fail_memory(error, "starting mpirun");
    }
    memcpy(command, options, option_count * sizeof *command);
    command[option_count] = program;
    memcpy(command + option_count + 1, launch->arguments, argument_count * sizeof *command);
    enum gw_status status = run(command, exit_status, error);
    free(command);
    return status;
}
