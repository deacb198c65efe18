/* Common parts of tests of MPI jobs: the ranks, and the end of a job; after program.h. */
#ifndef GW_TESTS_JOB_SUPPORT_H
#define GW_TESTS_JOB_SUPPORT_H

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support.h"

/* Skips the test where the program cannot start MPI jobs. */
static inline void need_mpi(void) {
    static bool known;
    static bool have_mpi;
    if (!known) {
        struct answer version = ask("/", "gradweave --version");
        have_mpi = strstr(version.out, "MPI:  Open MPI") != NULL && have_program("mpirun");
        known = true;
    }
    if (!have_mpi) {
        print_message("skipped: this build has no Open MPI, or there is no mpirun in PATH\n");
        skip();
    }
}

/* The rank of a process in its job; -1 if it is none. */
static inline int rank_of(pid_t process) {
    static const char name[] = "OMPI_COMM_WORLD_RANK=";
    char path[64];
    char text[65536];
    (void)snprintf(path, sizeof path, "/proc/%ld/environ", (long)process);
    FILE *stream = fopen(path, "re");
    assert_non_null(stream);
    size_t length = fread(text, 1, sizeof text - 1, stream);
    (void)fclose(stream);
    text[length] = '\0';
    for (const char *entry = text; entry < text + length; entry += strlen(entry) + 1) {
        if (strncmp(entry, name, sizeof name - 1) == 0) {
            return atoi(entry + sizeof name - 1);
        }
    }
    return -1;
}

/* Whether the process is there and is no zombie: those have no command line. */
static inline bool is_running(pid_t process) {
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)process);
    FILE *stream = fopen(path, "re");
    bool running = stream != NULL && fgetc(stream) != EOF;
    if (stream != NULL) {
        (void)fclose(stream);
    }
    return running;
}

/* Seconds that all threads of a process had a processor for; 0 of one that ended. */
static inline double used_s(pid_t process) {
    char path[64];
    char text[1024];
    unsigned long user = 0;
    unsigned long system = 0;
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)process);
    FILE *stream = fopen(path, "re");
    if (stream == NULL) {
        return 0;
    }
    size_t length = fread(text, 1, sizeof text - 1, stream);
    (void)fclose(stream);
    text[length] = '\0';
    const char *behind_name = strrchr(text, ')');
    assert_non_null(behind_name);
    assert_int_equal(sscanf(behind_name, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                            &user, &system),
                     2);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

/*
 * Waits until each of a job's ranks has worked for so long, on however busy a machine. A rank that
 * waits for one that starts late works as well, so that all are known to have begun after the last.
 */
static inline void wait_for_work(const pid_t *ranks, size_t count, double work_s) {
    for (size_t i = 0; i < count; i++) {
        for (int tries = 0; used_s(ranks[i]) < work_s && tries < 6000; tries++) {
            (void)usleep(10000);
        }
    }
}

/* Whether all of them end within some seconds; ends those that do not. */
static inline bool end_soon(const pid_t *processes, size_t count) {
    size_t left = count;
    for (int tries = 0; left > 0 && tries < 500; tries++) {
        left = 0;
        for (size_t i = 0; i < count; i++) {
            left += is_running(processes[i]);
        }
        (void)usleep(10000);
    }
    for (size_t i = 0; i < count && left > 0; i++) {
        (void)kill(processes[i], SIGKILL);
    }
    return left == 0;
}

/* A job that gave no result, and says why. */
static inline void check_failed(const struct answer *answer, int status, const char *message) {
    if (answer->status != status || answer->out[0] != '\0' ||
        strstr(answer->err, message) == NULL) {
        print_error("expected status %d, nothing on stdout and \"%s\"\n  got status %d, \"%s\" and "
                    "\"%s\"\n",
                    status, message, answer->status, answer->out, answer->err);
        fail();
    }
}

struct job_refusal {
    const char *command, *message; /* all that stderr says */
    int status;
};

/* In a job of two ranks one of them complains, once, and no file is left. */
static inline void check_refused_in_job(const char *folder, const struct job_refusal *cases,
                                        size_t count) {
    char *before = list_files(folder);
    for (size_t i = 0; i < count; i++) {
        struct answer answer = ask(folder,
                                   "mpirun %s -q --oversubscribe --mca "
                                   "odls_base_sigkill_timeout 0 -n 2 %s",
                                   geteuid() == 0 ? "--allow-run-as-root" : "", cases[i].command);
        assert_string_equal(answer.err, cases[i].message);
        assert_string_equal(answer.out, "");
        assert_int_equal(answer.status, cases[i].status);
    }
    assert_string_equal(before, list_files(folder));
}

#endif
