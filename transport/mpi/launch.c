/*
 * Jobs of several processes: what launchers tell a process about the one that it is in, and how one
 * of this program is started, for users who start `gradweave calibrate --nodes N` alone.
 */
#include "transport/mpi/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "transport/mpi/launch_report.h"

enum { MAXIMUM_OPTIONS = 24 };

/* ---- the job that this process is in ------------------------------------------------------- */

/*
 * By Open MPI's mpirun; srun and others that speak PMIx; MPICH's Hydra and srun --mpi=pmi2; and
 * srun without any of them, whose tasks do not find each other.
 */

/* The first that is set, or `otherwise`. */
static int number_of(const char *const names[], int otherwise) {
    for (; *names != NULL; names++) {
        const char *text = getenv(*names);
        if (text != NULL) {
            return (int)strtol(text, NULL, 10);
        }
    }
    return otherwise;
}

/* Tasks that srun started together with this process; 0: it did not. */
static int slurm_tasks(void) {
    static const char *const names[] = {"SLURM_STEP_NUM_TASKS", NULL};
    return number_of(names, 0);
}

/* Inside a job of mpirun's, Slurm's variables are about its daemons. */
int gw_mpi_announced_size(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS",
                                        NULL};
    return number_of(names, 0);
}

int gw_mpi_job_rank(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID", NULL};
    return number_of(names, 0);
}

static bool has_launcher(void) {
    return getenv("OMPI_COMM_WORLD_SIZE") != NULL || getenv("PMIX_RANK") != NULL ||
           getenv("PMI_RANK") != NULL;
}

/* A single task of srun's is a place to start jobs from, such as the shell of an allocation. */
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

static void say(enum gw_sign sign) {
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
        say(GW_RANKS_BEGIN);
    }
}

void gw_mpi_job_ends(void) {
    say(GW_JOB_ENDS);
}

/* ---- the command --------------------------------------------------------------------------- */

static int usable_cores(void) {
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

/* Puts options there, which are ended by NULL; how many there are. */
static size_t put(const char **out, const char *const *options) {
    size_t count = 0;
    for (; options[count] != NULL; count++) {
        out[count] = options[count];
    }
    return count;
}

/*
 * On this host each rank gets its own share of the cores, as long as there is one for each: a rank
 * that yields while it waits may otherwise share a core with the one it waits for, and lose whole
 * time slices to it (3 ms instead of 0.1 ms for an allgather of 512 KiB on 2 cores).
 */
static size_t put_shares(const struct gw_launch *launch, char mapping[32], const char **out) {
    int share = usable_cores() / launch->ranks;
    if (share == 0) {
        return put(out, (const char *const[]){"--oversubscribe", "--bind-to", "none", NULL});
    }
    snprintf(mapping, 32, "slot:PE=%d", share);
    /* Hardware threads are what usable_cores() counts. */
    return put(out, (const char *const[]){"--use-hwthread-cpus", "--map-by", mapping, "--bind-to",
                                          "hwthread", NULL});
}

/*
 * Ranks are dealt out to the hosts in turn: the first of them, on which fewer workers are measured,
 * are then as far apart as the job's are. How many cores other hosts have, or leave to this job, is
 * not known here; the ranks share them as the hosts see fit.
 */
static size_t put_placement(const struct gw_launch *launch, char mapping[32], const char **out) {
    static const char *const placement[] = {"--map-by", "node", "--bind-to", "none", NULL};
    size_t count = 0;
    if (launch->hostfile == NULL && getenv("SLURM_JOB_ID") == NULL) {
        return put_shares(launch, mapping, out);
    }
    if (launch->hostfile != NULL) {
        count = put(out, (const char *const[]){"--hostfile", launch->hostfile, NULL});
    }
    return count + put(out + count, placement);
}

/* Ranks that are told to end do so at once (odls_base_sigkill_timeout). */
static size_t put_options(const struct gw_launch *launch, const char *ranks, char mapping[32],
                          const char *out[MAXIMUM_OPTIONS]) {
    size_t count =
        put(out, (const char *const[]){"mpirun", "-n", ranks, "--mca", "mpi_yield_when_idle", "1",
                                       "--mca", "odls_base_sigkill_timeout", "0", "-x",
                                       "GRADWEAVE_LAUNCHED=1", NULL});
    if (geteuid() == 0) {
        out[count++] = "--allow-run-as-root";
    }
    if (isatty(STDERR_FILENO)) {
        count += put(out + count, (const char *const[]){"-x", "GRADWEAVE_TERMINAL=1", NULL});
    }
    return count + put_placement(launch, mapping, out + count);
}

/* ---- the end of a job ---------------------------------------------------------------------- */

static const double end_s = 10; /* that mpirun may take */

static volatile sig_atomic_t interrupted;

static void note_interrupt(int number) {
    interrupted = number;
}

/* A job that is waited for. */
struct wait {
    pid_t child; /* mpirun */
    struct gw_launch_report report;
    double start_s;  /* the most until a rank begins */
    double latest_s; /* when the next thing has to have happened; infinite while ranks work */
    bool is_ending;
};

/* When a rank has to have begun, and mpirun to have ended what is to end. */
static void set_latest(struct wait *wait) {
    const struct gw_launch_report *report = &wait->report;
    bool ends = interrupted || report->ends;
    if (interrupted && !wait->is_ending) {
        (void)kill(wait->child, SIGTERM);
    }
    if (ends && !wait->is_ending) {
        wait->latest_s = gw_clock_now_s() + end_s;
        wait->is_ending = true;
    } else if (report->begun && !ends) {
        wait->latest_s = INFINITY;
    }
}

/* Until mpirun or a rank says something, a signal comes, or it is too late. */
static void wait_for_news(struct wait *wait, const sigset_t *unblocked) {
    double left_s = fmax(wait->latest_s - gw_clock_now_s(), 0);
    struct timespec left = {0};
    struct pollfd pipe = {.fd = wait->report.pipe, .events = POLLIN};
    if (isfinite(left_s)) {
        left.tv_sec = (time_t)left_s;
        left.tv_nsec = (long)(1e9 * (left_s - floor(left_s)));
    }
    (void)ppoll(&pipe, 1, isfinite(left_s) ? &left : NULL, unblocked);
    gw_launch_report_read(&wait->report);
}

/* Its ranks on this host end with it, those elsewhere as soon as their daemons miss it. */
static enum gw_status leave(const struct wait *wait, struct gw_error *error) {
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
 * mpirun is in a process group of its own and so gets one signal, from here, whether Ctrl-C or a
 * kill interrupted this process. A second one would make it leave its ranks behind, at work.
 */
static enum gw_status wait_for(struct wait *wait, const sigset_t *unblocked, int *exit_status,
                               struct gw_error *error) {
    int wait_status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(wait->child, &wait_status, WNOHANG)) == 0) {
        set_latest(wait);
        if (gw_clock_now_s() > wait->latest_s) {
            return leave(wait, error);
        }
        wait_for_news(wait, unblocked);
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
static pid_t start(const char *const *command, int out, int err, const struct signals *before) {
    pid_t child = fork();
    if (child == 0) {
        give_back_signals(before);
        (void)setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        (void)dup2(out, STDOUT_FILENO);
        (void)dup2(err, STDERR_FILENO);
        execvp(command[0], (char *const *)command);
        _exit(127);
    }
    return child;
}

/* From its start to its end. */
static enum gw_status run(const char *const *command, const struct gw_launch *launch,
                          int *exit_status, struct gw_error *error) {
    struct signals before;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
        return gw_fail(error, GW_FAILED, "mpirun: cannot be listened to: %s", strerror(errno));
    }
    struct wait wait = {.report = {.pipe = ends[0], .out = STDERR_FILENO},
                        .start_s = launch->start_s,
                        .latest_s = gw_clock_now_s() + launch->start_s};
    take_signals(&before);
    wait.child = start(command, launch->answer, ends[1], &before);
    (void)close(ends[1]);
    enum gw_status status =
        wait.child < 0 ? gw_fail(error, GW_FAILED, "mpirun: cannot be started: %s", strerror(errno))
                       : wait_for(&wait, &before.mask, exit_status, error);
    give_back_signals(&before);
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
    enum gw_status status = run(command, launch, exit_status, error);
    free(command);
    return status;
}
