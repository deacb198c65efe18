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

/* Whether a thread of the process has that name. */
static inline bool has_thread(pid_t process, const char *name) {
    char path[64];
    char found[32] = "";
    bool has = false;
    (void)snprintf(path, sizeof path, "/proc/%ld/task", (long)process);
    DIR *threads = opendir(path);
    const struct dirent *entry = NULL;
    while (threads != NULL && !has && (entry = readdir(threads)) != NULL) {
        (void)snprintf(path, sizeof path, "/proc/%ld/task/%.16s/comm", (long)process,
                       entry->d_name);
        FILE *stream = fopen(path, "re");
        has = stream != NULL && fscanf(stream, "%31s", found) == 1 && strcmp(found, name) == 0;
        if (stream != NULL) {
            (void)fclose(stream);
        }
    }
    if (threads != NULL) {
        (void)closedir(threads);
    }
    return has;
}

/* Waits until each of a job's ranks has a thread of that name, on however busy a machine. */
static inline void wait_for_threads(const pid_t *ranks, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++) {
        while (!has_thread(ranks[i], name)) {
            assert_true(is_running(ranks[i]));
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
