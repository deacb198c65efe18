/* The report of a launched job: what mpirun itself says on stderr; private to transport/. */
#ifndef GW_TRANSPORT_MPI_LAUNCH_REPORT_H
#define GW_TRANSPORT_MPI_LAUNCH_REPORT_H

#include "core/core.h"

enum { GW_REPORT_SIZE = 8192 }; /* of what mpirun itself says; more is cut */

/*
 * mpirun's stderr carries what the ranks write, which goes on to `out` at once but for their signs,
 * and what mpirun has to say itself, between two lines of dashes, which is kept.
 */
struct gw_launch_report {
    int pipe;         /* not to be waited for; -1 after its end */
    int out;          /* a file descriptor */
    bool begun, ends; /* the signs that came */
    size_t dashes;    /* read last, and not yet dealt with */
    bool inside;      /* between two lines */
    size_t length;
    char text[GW_REPORT_SIZE]; /* of mpirun, ended by 0 */
};

/* Reads what the pipe holds. */
void gw_launch_report_read(struct gw_launch_report *report);

/*
 * The exit status that the job's ranks agreed on, if mpirun exited with `status`; or a failure,
 * which names the rank that died and its host if mpirun does.
 */
enum gw_status gw_launch_report_end(const struct gw_launch_report *report, int status,
                                    int *exit_status, struct gw_error *error);

#endif
