#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

_Noreturn void bench_give_up(const char *what, const char *why) {
    (void)fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
    exit(GW_FAILED);
}

double bench_median(double *values, size_t count) {
    struct gw_summary summary;
    gw_summarise(values, count, &summary);
    return summary.median;
}

/* ---- options ------------------------------------------------------------------------------- */

static const char *shown_usage = "";

_Noreturn void bench_refuse(const char *expected, const char *got) {
    (void)fprintf(stderr, "%s: expected %s; got \"%s\"\n\n%s", program_invocation_short_name,
                  expected, got, shown_usage);
    exit(GW_BAD_INPUT);
}

size_t bench_count(const char *text, size_t least, size_t most, const char *expected) {
    char *end = NULL;
    errno = 0;
    unsigned long long count = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || count < least ||
        count > most) {
        bench_refuse(expected, text);
    }
    return (size_t)count;
}

int bench_options(int argc, char **argv, const struct bench_option *options, const char *text) {
    enum { MAX_OPTIONS = 16, HELP = 1000 };
    struct option known[MAX_OPTIONS + 2] = {{"help", no_argument, NULL, HELP}};
    shown_usage = text;
    for (int i = 0; i < MAX_OPTIONS && options[i].name != NULL; i++) {
        known[i + 1] = (struct option){options[i].name, required_argument, NULL, i};
    }
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (option == HELP || option == '?') {
            (void)fprintf(option == HELP ? stdout : stderr, "%s%s", option == HELP ? "" : "\n",
                          shown_usage);
            exit(option == HELP ? GW_OK : GW_BAD_INPUT);
        }
        char *end = NULL;
        if (options[option].text != NULL) {
            *options[option].text = optarg;
        } else if (options[option].count != NULL) {
            *options[option].count = bench_count(optarg, options[option].least,
                                                 options[option].most, options[option].expected);
        } else {
            *options[option].number = strtod(optarg, &end);
            if (end == optarg || *end != '\0' ||
                !(*options[option].number >= 0 && isfinite(*options[option].number))) {
                bench_refuse(options[option].expected, optarg);
            }
        }
    }
    return optind;
}

/* ---- in the child -------------------------------------------------------------------------- */

static _Noreturn void work_and_exit(bench_work *work, const void *context, void *result,
                                    size_t size, int pipe_end) {
    struct gw_error error = {0};
    enum gw_status status = work(context, result, &error);
    if (status != GW_OK) {
        (void)fprintf(stderr, "%s: %s\n", program_invocation_short_name, error.message);
    } else if (write(pipe_end, result, size) != (ssize_t)size) {
        status = GW_FAILED;
    }
    _exit((int)status);
}

static _Noreturn void execute_and_exit(const char *const *arguments, const char *output) {
    int file = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file >= 0 && dup2(file, STDOUT_FILENO) >= 0) {
        /* execv promises to leave its arguments as they are; its type is older than const. */
        char *vector[16] = {0};
        for (size_t i = 0; arguments[i] != NULL && i + 1 < sizeof vector / sizeof *vector; i++) {
            memcpy(&vector[i], &arguments[i], sizeof vector[i]);
        }
        /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): it has a program at least */
        (void)execv(arguments[0], vector);
    }
    (void)fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, arguments[0],
                  strerror(errno));
    _exit((int)GW_FAILED);
}

/* ---- in the parent ------------------------------------------------------------------------- */

static pid_t start_child(void) {
    (void)fflush(stdout);
    pid_t child = fork();
    if (child < 0) {
        bench_give_up("starting a process", strerror(errno));
    }
    return child;
}

/* The limit is held against ticks of the clock, so by this measure a bit less may have been used.
 */
static bool was_stopped(int status, const struct rusage *usage, size_t limit_s) {
    return limit_s > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
           (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
                   1e-6 * (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) >=
               0.9 * (double)limit_s;
}

/* Waits for the process that was started at `start_s`. */
static void wait_for_child(pid_t child, double start_s, size_t limit_s, const char *what,
                           struct bench_process *out) {
    struct rusage usage;
    int status = 0;
    if (wait4(child, &status, 0, &usage) != child) {
        bench_give_up(what, strerror(errno));
    }
    out->wall_s = gw_clock_now_s() - start_s;
    out->peak_bytes = 1024 * (double)usage.ru_maxrss;
    out->within = WIFEXITED(status) && WEXITSTATUS(status) == GW_OK;
    if (!out->within && !was_stopped(status, &usage, limit_s)) {
        bench_give_up(what, "the process failed");
    }
}

void bench_work_apart(bench_work *work, const void *context, void *result, size_t size,
                      size_t limit_s, struct bench_process *out) {
    int ends[2];
    if (pipe(ends) != 0) {
        bench_give_up("starting a process", strerror(errno));
    }
    double start_s = gw_clock_now_s();
    pid_t child = start_child();
    if (child == 0) {
        if (limit_s > 0) {
            (void)setrlimit(RLIMIT_CPU, &(struct rlimit){.rlim_cur = limit_s, .rlim_max = limit_s});
        }
        work_and_exit(work, context, result, size, ends[1]);
    }
    (void)close(ends[1]);
    wait_for_child(child, start_s, limit_s, "measuring", out);
    if (out->within && read(ends[0], result, size) != (ssize_t)size) {
        bench_give_up("measuring", "no result came back");
    }
    (void)close(ends[0]);
}

void bench_execute(const char *const *arguments, const char *output, struct bench_process *out) {
    double start_s = gw_clock_now_s();
    pid_t child = start_child();
    if (child == 0) {
        execute_and_exit(arguments, output);
    }
    wait_for_child(child, start_s, 0, arguments[0], out);
}
