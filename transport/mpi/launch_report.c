#include "transport/mpi/launch_report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "transport/transport.h"

/* Open MPI draws 74. */
enum { FEWEST_DASHES = 60, QUOTED = 320 };

/* ---- taking it apart ----------------------------------------------------------------------- */

static void pass_on(const char *bytes, size_t count, int out) {
    while (count > 0) {
        ssize_t written = write(out, bytes, count);
        if (written < 0 && errno != EINTR) {
            return;
        }
        bytes += written > 0 ? written : 0;
        count -= written > 0 ? (size_t)written : 0;
    }
}

static void keep(struct gw_launch_report *report, const char *bytes, size_t count) {
    size_t room = sizeof report->text - 1 - report->length;
    size_t kept = count < room ? count : room;
    memcpy(report->text + report->length, bytes, kept);
    report->length += kept;
    report->text[report->length] = '\0';
}

static void keep_or_pass_on(struct gw_launch_report *report, const char *bytes, size_t count,
                            int out) {
    if (report->inside) {
        keep(report, bytes, count);
    } else {
        pass_on(bytes, count, out);
    }
}

/* What follows dashes shows what they were: a line by itself, or part of what was written. */
static bool ends_line(struct gw_launch_report *report, char next, int out) {
    bool line = report->dashes >= FEWEST_DASHES && next == '\n';
    for (; report->dashes > 0; report->dashes--) {
        if (line) {
            keep(report, "-", 1);
        } else {
            keep_or_pass_on(report, "-", 1, out);
        }
    }
    if (line) {
        keep(report, "\n", 1);
        report->inside = !report->inside;
    }
    return line;
}

void gw_launch_report_take(struct gw_launch_report *report, const char *bytes, size_t count,
                           int out) {
    size_t first = 0; /* of what is not yet dealt with */
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == '-') {
            keep_or_pass_on(report, bytes + first, i - first, out);
            report->dashes++;
            first = i + 1;
        } else if (report->dashes > 0 && ends_line(report, bytes[i], out)) {
            first = i + 1;
        }
    }
    keep_or_pass_on(report, bytes + first, count - first, out);
}

void gw_launch_report_read(struct gw_launch_report *report) {
    char bytes[4096];
    ssize_t count = 0;
    while (report->pipe >= 0 && (count = read(report->pipe, bytes, sizeof bytes)) != 0) {
        if (count < 0 && errno != EINTR) {
            return;
        }
        gw_launch_report_take(report, bytes, count > 0 ? (size_t)count : 0, STDERR_FILENO);
    }
    if (report->pipe >= 0) {
        (void)close(report->pipe);
        report->pipe = -1;
    }
}

/* ---- the end ------------------------------------------------------------------------------- */

/* The first thing that mpirun says, beyond that the job has ended, in one line; "" if nothing. */
static void quote(const struct gw_launch_report *report, char out[QUOTED]) {
    static const char nothing_new[] = "Primary job ";
    char text[GW_REPORT_SIZE];
    char *rest = NULL;
    size_t length = 0;
    memcpy(text, report->text, sizeof text);
    out[0] = '\0';
    for (char *word = strtok_r(text, " \n", &rest); word != NULL;
         word = strtok_r(NULL, " \n", &rest)) {
        if (strspn(word, "-") < FEWEST_DASHES) {
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

enum gw_status gw_launch_report_end(const struct gw_launch_report *report, int status,
                                    int *exit_status, struct gw_error *error) {
    char said[QUOTED];
    if (status == 0 || (status > GW_FIRST_STATUS && status <= GW_FIRST_STATUS + GW_FAILED)) {
        *exit_status = status == 0 ? 0 : status - GW_FIRST_STATUS;
        return GW_OK;
    }
    if (status == 127) {
        return gw_fail(error, GW_FAILED,
                       "mpirun: cannot be started: expected Open MPI's mpirun in PATH");
    }
    if (status > 128) {
        return fail_signal(report, status - 128, error);
    }
    quote(report, said);
    return gw_fail(error, GW_FAILED,
                   "mpirun: expected to start the job's ranks, but it ended with status %d%s%s",
                   status, said[0] != '\0' ? " and says: " : "", said);
}
