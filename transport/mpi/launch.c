/* MPI jobs: the launcher's variables in the environment of a rank, and the start of a job of this
 * program for users who run `gradweave calibrate --nodes N`. */
#include "transport/mpi/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/system.h"
#include "transport/mpi/launch_report.h"

enum { MAX_OPTIONS = 24 };

/* ---- the job of this process --------------------------------------------------------------- */

/* The launchers are Open MPI's mpirun; srun and others that speak PMIx; MPICH's Hydra and srun
 * --mpi=pmi2; and srun without any of these, whose tasks do not find each other. */

/* The number in the first variable that is set, or `otherwise`. */
static int read_variable(const char *const names[], int otherwise) {
    for (; *names != NULL; names++) {
        const char *text = getenv(*names);
        if (text != NULL) {
            return (int)strtol(text, NULL, 10);
        }
    }
    return otherwise;
}

/* The number of tasks that srun started together with this process; 0: srun did not start it. */
static int slurm_tasks(void) {
    static const char *const names[] = {"SLURM_STEP_NUM_TASKS", NULL};
    return read_variable(names, 0);
}

/* In a job of mpirun's, Slurm's variables describe its daemons. */
int gw_mpi_announced_size(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS",
                                        NULL};
    return read_variable(names, 0);
}

int gw_mpi_job_rank(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID", NULL};
    return read_variable(names, 0);
}

static bool has_launcher(void) {
    return getenv("OMPI_COMM_WORLD_SIZE") != NULL || getenv("PMIX_RANK") != NULL ||
           getenv("PMI_RANK") != NULL;
}

/* A single task of srun's can start jobs itself, such as the shell of an allocation. */
bool gw_mpi_is_inside_job(void) {
    bool starts_jobs = slurm_tasks() == 1 && gw_mpi_announced_size() == 1 &&
                       getenv("OMPI_COMM_WORLD_SIZE") == NULL;
    return slurm_tasks() > 1 || (has_launcher() && !starts_jobs);
}

enum gw_status gw_mpi_check_launcher(struct gw_error *error) {
    return has_launcher() || slurm_tasks() <= 1
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "srun started %d tasks that cannot find each other: expected "
                         "srun --mpi=pmix, or mpirun in its place",
                         slurm_tasks());
}

static bool is_launched(void) {
    return getenv("GRADWEAVE_LAUNCHED") != NULL;
}

int gw_mpi_exit_status(int status) {
    return status != 0 && is_launched() ? GW_FIRST_STATUS + status : status;
}

static void send_sign(enum gw_sign sign) {
    const char byte = (char)sign;
    if (is_launched()) {
        (void)!write(STDERR_FILENO, &byte, 1);
    }
}

void gw_mpi_rank_begins(void) {
    if (is_launched()) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    if (gw_mpi_job_rank() == 0) {
        send_sign(GW_RANKS_BEGIN);
    }
}

void gw_mpi_job_ends(void) {
    send_sign(GW_JOB_ENDS);
}

/* ---- the command --------------------------------------------------------------------------- */

/* Appends options, ended by NULL; returns their number. */
static size_t append_options(const char **out, const char *const *options) {
    size_t count = 0;
    for (; options[count] != NULL; count++) {
        out[count] = options[count];
    }
    return count;
}

/* odls_base_sigkill_timeout 0: ranks that are told to end do so at once. */
static size_t append_mpirun_options(const struct gw_launch *launch, const char *ranks,
                                    char mapping[32], const char *out[MAX_OPTIONS]) {
    size_t count = append_options(out, (const char *const[]){"mpirun", "-n", ranks, "--mca",
                                                             "mpi_yield_when_idle", "1", "--mca",
                                                             "odls_base_sigkill_timeout", "0", "-x",
                                                             "GRADWEAVE_LAUNCHED=1", NULL});
    if (geteuid() == 0) {
        out[count++] = "--allow-run-as-root";
    }
    if (isatty(STDERR_FILENO)) {
        count +=
            append_options(out + count, (const char *const[]){"-x", "GRADWEAVE_TERMINAL=1", NULL});
    }
    if (launch->hostfile != NULL) {
        count += append_options(out + count,
                                (const char *const[]){"--hostfile", launch->hostfile, NULL});
    }
    /*
     * Assigns ranks to the hosts in turn: the first ranks, which measure fewer workers, are then as
     * far apart as all ranks are. The number of cores of other hosts, and of those left to this
     * job, is unknown here; hosts place the ranks.
     */
    const char *const in_turn[] = {"--map-by", "node", "--bind-to", "none", NULL};
    if (launch->hostfile != NULL || getenv("SLURM_JOB_ID") != NULL) {
        return count + append_options(out + count, in_turn);
    }
    /*
     * On this host each rank gets its own share of the cores, of hardware threads, if there is a
     * core for each: otherwise a rank that yields while it waits may share a core with the rank
     * that it waits for, and lose whole time slices to it (3 ms instead of 0.1 ms for an allgather
     * of 512 KiB on 2 cores).
     */
    int share = (int)gw_cores() / launch->ranks;
    const char *const crowded[] = {"--oversubscribe", "--bind-to", "none", NULL};
    const char *const shares[] = {"--use-hwthread-cpus", "--map-by", mapping,
                                  "--bind-to",           "hwthread", NULL};
    snprintf(mapping, 32, "slot:PE=%d", share);
    return count + append_options(out + count, share == 0 ? crowded : shares);
}

/* ---- the end of a job ---------------------------------------------------------------------- */

static const double end_s = 10; /* that mpirun may take */

static volatile sig_atomic_t interrupted;

static void handle_interrupt(int number) {
    interrupted = number;
}

/* A job that is waited for. */
struct wait {
    pid_t child; /* mpirun */
    struct gw_launch_report report;
    double start_s;    /* maximum time until a rank begins */
    double deadline_s; /* deadline of the next event; infinite while ranks work */
    bool is_ending;
};

/* Sets the deadline by which a rank has to begin, or mpirun has to end the job. */
static void set_deadline(struct wait *wait) {
    const struct gw_launch_report *report = &wait->report;
    bool ends = interrupted || report->ends;
    if (interrupted && !wait->is_ending) {
        (void)kill(wait->child, SIGTERM);
    }
    if (ends && !wait->is_ending) {
        wait->deadline_s = gw_clock_now_s() + end_s;
        wait->is_ending = true;
    } else if (report->begun && !ends) {
        wait->deadline_s = INFINITY;
    }
}

/* Kills mpirun. Its ranks on this host end with it, those on others when their daemons miss it. */
static enum gw_status kill_job(const struct wait *wait, struct gw_error *error) {
    (void)kill(-wait->child, SIGKILL);
    (void)waitpid(wait->child, NULL, 0);
    if (interrupted) {
        return gw_fail(error, GW_FAILED,
                       "the MPI job was interrupted, but mpirun did not end within %g s: expected "
                       "hosts that can be reached; ranks may be left there",
                       end_s);
    }
    if (wait->is_ending) {
        return gw_fail(error, GW_FAILED,
                       "the MPI job failed, and mpirun did not end it within %g s: expected hosts "
                       "that can be reached; ranks may be left there",
                       end_s);
    }
    return gw_fail(error, GW_FAILED,
                   "mpirun: expected that it starts the job's ranks within %g s (--timeout), and "
                   "that ssh gets to all hosts without a password",
                   wait->start_s);
}

/*
 * Waits for mpirun, which is in a process group of its own and gets one signal, from here, whether
 * Ctrl-C or a kill interrupted this process. A second signal would make it leave its ranks behind,
 * running.
 */
static enum gw_status wait_for_job(struct wait *wait, const sigset_t *unblocked, int *exit_status,
                                   struct gw_error *error) {
    int wait_status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(wait->child, &wait_status, WNOHANG)) == 0) {
        set_deadline(wait);
        if (gw_clock_now_s() > wait->deadline_s) {
            return kill_job(wait, error);
        }
        /* Wait for output of mpirun or a rank, a signal, or the deadline. */
        double left_s = fmax(wait->deadline_s - gw_clock_now_s(), 0);
        struct timespec left = {0};
        struct pollfd pipe = {.fd = wait->report.pipe, .events = POLLIN};
        if (isfinite(left_s)) {
            left.tv_sec = (time_t)left_s;
            left.tv_nsec = (long)(1e9 * (left_s - floor(left_s)));
        }
        (void)ppoll(&pipe, 1, isfinite(left_s) ? &left : NULL, unblocked);
        gw_launch_report_read(&wait->report);
    }
    if (ended < 0) {
        return gw_fail(error, GW_FAILED, "mpirun: cannot be waited for: %s", strerror(errno));
    }
    gw_launch_report_read(&wait->report);
    bool done = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
    if (interrupted && !done) {
        return gw_fail(error, GW_FAILED, "the MPI job was interrupted");
    }
    if (WIFEXITED(wait_status)) {
        return gw_launch_report_end(&wait->report, WEXITSTATUS(wait_status), exit_status, error);
    }
    return gw_fail(error, GW_FAILED, "the MPI job failed: mpirun was killed by signal %s",
                   strsignal(WTERMSIG(wait_status)));
}

/* ---- the start of a job -------------------------------------------------------------------- */

/* The signal mask and handlers before the job. */
struct signals {
    sigset_t mask;
    struct sigaction interrupt, child;
};

static void handle_child(int number) {
    (void)number; /* only wakes sigsuspend */
}

/* Blocks both signals except while waiting, so that none is lost between a check and the wait. */
static void block_signals(struct signals *before) {
    struct sigaction note = {.sa_handler = handle_interrupt};
    struct sigaction wake = {.sa_handler = handle_child};
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGCHLD);
    interrupted = 0;
    sigprocmask(SIG_BLOCK, &both, &before->mask);
    sigaction(SIGINT, &note, &before->interrupt);
    sigaction(SIGCHLD, &wake, &before->child);
}

static void restore_signals(const struct signals *before) {
    sigaction(SIGINT, &before->interrupt, NULL);
    sigaction(SIGCHLD, &before->child, NULL);
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

/* Starts mpirun, which gets SIGTERM, to end the job, if this process is killed. */
static pid_t start_mpirun(const char *const *command, int out, int err,
                          const struct signals *before) {
    pid_t child = fork();
    if (child == 0) {
        restore_signals(before);
        (void)setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        (void)dup2(out, STDOUT_FILENO);
        (void)dup2(err, STDERR_FILENO);
        execvp(command[0], (char *const *)command);
        _exit(127);
    }
    return child;
}

/* Runs mpirun from its start to its end. */
static enum gw_status run_mpirun(const char *const *command, const struct gw_launch *launch,
                                 int *exit_status, struct gw_error *error) {
    struct signals before;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
        return gw_fail(error, GW_FAILED, "mpirun: cannot be listened to: %s", strerror(errno));
    }
    struct wait wait = {.report = {.pipe = ends[0], .out = STDERR_FILENO},
                        .start_s = launch->start_s,
                        .deadline_s = gw_clock_now_s() + launch->start_s};
    block_signals(&before);
    wait.child = start_mpirun(command, launch->answer, ends[1], &before);
    (void)close(ends[1]);
    enum gw_status status =
        wait.child < 0 ? gw_fail(error, GW_FAILED, "mpirun: cannot be started: %s", strerror(errno))
                       : wait_for_job(&wait, &before.mask, exit_status, error);
    restore_signals(&before);
    if (wait.report.pipe >= 0) {
        (void)close(wait.report.pipe);
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
    const char *options[MAX_OPTIONS];
    char mapping[32];
    size_t option_count = append_mpirun_options(launch, ranks, mapping, options);
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
    enum gw_status status = run_mpirun(command, launch, exit_status, error);
    free(command);
    return status;
}
