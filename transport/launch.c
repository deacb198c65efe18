/*
 * Starting an MPI job of this program, for users who start
 * `gradweave calibrate --nodes N` alone.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/transport.h"

enum { MAXIMUM_OPTIONS = 24, FIRST_STATUS = 100 };

static const char *const launched = "GRADWEAVE_LAUNCHED";

int gw_mpi_exit_status(int status) {
    return status != 0 && getenv(launched) != NULL ? FIRST_STATUS + status : status;
}

static int usable_cores(void) {
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

/*
 * On this host each rank gets its own share of the cores, as long as there is one for each: a rank
 * that yields while it waits may otherwise share a core with the one it waits for, and lose whole
 * time slices to it (3 ms instead of 0.1 ms for an allgather of 512 KiB on 2 cores). On other hosts
 * nothing is known.
 */
static size_t put_placement(const struct gw_launch *launch, char mapping[32], const char **out) {
    size_t count = 0;
    int share = usable_cores() / launch->ranks;
    if (launch->hostfile != NULL) {
        out[count++] = "--hostfile";
        out[count++] = launch->hostfile;
    } else if (share == 0) {
        out[count++] = "--oversubscribe";
    }
    if (launch->hostfile == NULL && share > 0) {
        snprintf(mapping, 32, "slot:PE=%d", share);
        out[count++] = "--use-hwthread-cpus"; /* they are what usable_cores() counts */
        out[count++] = "--map-by";
        out[count++] = mapping;
    }
    out[count++] = "--bind-to";
    out[count++] = launch->hostfile == NULL && share > 0 ? "hwthread" : "none";
    return count;
}

static size_t put_options(const struct gw_launch *launch, const char *ranks, char mapping[32],
                          const char *out[MAXIMUM_OPTIONS]) {
    size_t count = 0;
    out[count++] = "mpirun";
    out[count++] = "-q";
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

/* What mpirun's exit status says about the job. */
static enum gw_status translate(int status, int *exit_status, struct gw_error *error) {
    if (status == 0 || (status > FIRST_STATUS && status <= FIRST_STATUS + GW_FAILED)) {
        *exit_status = status == 0 ? 0 : status - FIRST_STATUS;
        return GW_OK;
    }
    if (status == 127) {
        return gw_fail(error, GW_FAILED,
                       "mpirun: cannot be started: expected Open MPI's mpirun in PATH");
    }
    if (status > 128) {
        return gw_fail(error, GW_FAILED,
                       "the MPI job failed: expected every rank to end by itself, but mpirun says "
                       "%d, a rank killed by signal %s",
                       status, strsignal(status - 128));
    }
    return gw_fail(error, GW_FAILED,
                   "mpirun: expected to start the job's ranks, but it ended with status %d "
                   "(mpirun -n N with the same --hostfile and another program says why)",
                   status);
}

/*
 * mpirun is in a process group of its own and so gets one signal, from here, whether Ctrl-C or a
 * kill interrupted this process. A second one would make it leave its ranks behind, at work.
 */
static enum gw_status wait_for(pid_t child, const sigset_t *unblocked, int *exit_status,
                               struct gw_error *error) {
    int wait_status = 0;
    pid_t ended = 0;
    bool passed_on = false;
    while ((ended = waitpid(child, &wait_status, WNOHANG)) == 0) {
        if (interrupted && !passed_on) {
            (void)kill(child, SIGTERM);
            passed_on = true;
        }
        (void)sigsuspend(unblocked);
    }
    if (ended < 0) {
        return gw_fail(error, GW_FAILED, "mpirun: cannot be waited for: %s", strerror(errno));
    }
    bool done = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
    if (interrupted && !done) {
        return gw_fail(error, GW_FAILED, "the MPI job was interrupted");
    }
    if (WIFEXITED(wait_status)) {
        return translate(WEXITSTATUS(wait_status), exit_status, error);
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
static pid_t start(const char *const *command, const struct signals *before) {
    pid_t child = fork();
    if (child == 0) {
        give_back_signals(before);
        (void)setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        execvp(command[0], (char *const *)command);
        _exit(127);
    }
    return child;
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
    struct signals before;
    take_signals(&before);
    pid_t child = start(command, &before);
    free(command);
    enum gw_status status =
        child < 0 ? gw_fail(error, GW_FAILED, "mpirun: cannot be started: %s", strerror(errno))
                  : wait_for(child, &before.mask, exit_status, error);
    give_back_signals(&before);
    return status;
}
