#include "transport/mpi/launch_report.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "transport/mpi/launch.h"

enum {
    MIN_DASHES = 60, /* Open MPI draws 74 */
    QUOTED = 320
};

static void report_append(struct gw_launch_report *report, const char *bytes, size_t count) {
    size_t left = sizeof report->text - 1 - report->length;
    size_t kept = count < left ? count : left;
    memcpy(report->text + report->length, bytes, kept);
    report->length += kept;
    report->text[report->length] = '\0';
}

static void handle_output(struct gw_launch_report *report, const char *bytes, size_t count) {
    if (report->inside) {
        report_append(report, bytes, count);
    } else {
        (void)gw_write_all(report->out, bytes, count);
    }
}

/* Decides by the byte after dashes whether they were a line of their own, or part of a rank's
 * output. */
static bool end_dashes(struct gw_launch_report *report, char next) {
    bool line = report->dashes >= MIN_DASHES && next == '\n';
    for (; report->dashes > 0; report->dashes--) {
        if (line) {
            report_append(report, "-", 1);
        } else {
            handle_output(report, "-", 1);
        }
    }
    if (line) {
        report_append(report, "\n", 1);
        report->inside = !report->inside;
    }
    return line;
}

static void take_bytes(struct gw_launch_report *report, const char *bytes, size_t count) {
    size_t first = 0; /* of the bytes not yet handled */
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == '-' || bytes[i] == GW_RANKS_BEGIN || bytes[i] == GW_JOB_ENDS) {
            handle_output(report, bytes + first, i - first);
            report->dashes += bytes[i] == '-';
            report->begun = report->begun || bytes[i] == GW_RANKS_BEGIN;
            report->ends = report->ends || bytes[i] == GW_JOB_ENDS;
            first = i + 1;
        } else if (report->dashes > 0 && end_dashes(report, bytes[i])) {
            first = i + 1;
        }
    }
    handle_output(report, bytes + first, count - first);
}

void gw_launch_report_read(struct gw_launch_report *report) {
    char bytes[4096];
    ssize_t count = 0;
    while (report->pipe >= 0 && (count = read(report->pipe, bytes, sizeof bytes)) != 0) {
        if (count < 0 && errno != EINTR) {
            return;
        }
        take_bytes(report, bytes, count > 0 ? (size_t)count : 0);
    }
    if (report->pipe >= 0) {
        (void)close(report->pipe);
        report->pipe = -1;
    }
}

/*
 * Copies mpirun's first message, except that the job has ended, in one line; "" if there is none.
 */
static void quote_report(const struct gw_launch_report *report, char out[QUOTED]) {
    static const char nothing_new[] = "Primary job ";
    char text[GW_REPORT_SIZE];
    char *rest = NULL;
    size_t length = 0;
    memcpy(text, report->text, sizeof text);
    out[0] = '\0';
    for (char *word = strtok_r(text, " \n", &rest); word != NULL;
         word = strtok_r(NULL, " \n", &rest)) {
        if (strspn(word, "-") < MIN_DASHES) {
            int written =
                snprintf(out + length, QUOTED - length, "%s%s", length > 0 ? " " : "", word);
            length += (size_t)written < QUOTED - length ? (size_t)written : QUOTED - 1 - length;
        } else if (length > 0 && strncmp(out, nothing_new, strlen(nothing_new)) != 0) {
            return;
        } else {
            length = 0;
            out[0] = '\0';
        }
    }
}

static enum gw_status fail_signal(const struct gw_launch_report *report, int number,
                                  struct gw_error *error) {
    static const char noticed[] = "noticed that process rank";
    const char *found = strstr(report->text, noticed);
    int rank = 0;
    char host[GW_HOST_SIZE] = "";
    if (found != NULL &&
        sscanf(found + strlen(noticed), "%d with PID %*d on node %63s exited on signal %d", &rank,
               host, &number) == 3) {
        return gw_fail(error, GW_FAILED,
                       "the MPI job failed: rank %d on %s was killed by signal %d (%s)", rank, host,
                       number, strsignal(number));
    }
    return gw_fail(error, GW_FAILED,
                   "the MPI job failed: expected every rank to end by itself, but a rank was "
                   "killed by signal %d (%s)",
                   number, strsignal(number));
}

/*
 * True if mpirun did not reach all hosts; ssh (or another starter of its daemons) has printed why.
 */
static bool has_unreached_hosts(const struct gw_launch_report *report) {
    static const char *const said[] = {"unable to reliably start one or more daemons",
                                       "daemon has unexpectedly failed after launch"};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        if (strstr(report->text, said[i]) != NULL) {
            return true;
        }
    }
    return false;
}

enum gw_status gw_launch_report_end(const struct gw_launch_report *report, int status,
                                    int *exit_status, struct gw_error *error) {
    char said[QUOTED];
    bool done = status == 0 && report->begun;
    if (done || (status > GW_FIRST_STATUS && status <= GW_FIRST_STATUS + GW_FAILED)) {
        *exit_status = status == 0 ? 0 : status - GW_FIRST_STATUS;
        return GW_OK;
    }
    if (status == 127) {
        return gw_fail(error, GW_FAILED,
                       "mpirun: cannot be started: expected Open MPI's mpirun in PATH");
    }
    if (status == 0) {
        return gw_fail(error, GW_FAILED,
                       "mpirun: expected Open MPI's, which starts the job's ranks; the one in PATH "
                       "ended without");
    }
    if (has_unreached_hosts(report)) {
        return gw_fail(error, GW_FAILED,
                       "mpirun: cannot reach all hosts: expected that ssh gets to each of them "
                       "without a password and finds Open MPI there");
    }
    if (status > 128 && status - 128 < NSIG) {
        return fail_signal(report, status - 128, error);
    }
    quote_report(report, said);
    return gw_fail(error, GW_FAILED,
                   "mpirun: expected to start the job's ranks, but it ended with status %d%s%s",
                   status, said[0] != '\0' ? " and says: " : "", said);
}
