/* The report of a launched job: mpirun's own messages on stderr; private to transport/. */
#ifndef GW_TRANSPORT_MPI_LAUNCH_REPORT_H
#define GW_TRANSPORT_MPI_LAUNCH_REPORT_H

#include "core/core.h"

enum {
    GW_REPORT_SIZE = 8192
}; /* mpirun's stderr. Ranks' output goes on to `out` at once, without
    * their signs; mpirun's own messages, between two lines of dashes,
    * are kept. */

/*
 * mpirun's stderr carries what the ranks write, which goes on to `out` at once but for their signs,
 * and what mpirun has to say itself, between two lines of dashes, which is kept.
 */
struct gw_launch_report {
    int pipe;         /* non-blocking; -1 after its end */
    int out;          /* a file descriptor */
    bool begun, ends; /* the signs received */
    size_t dashes;    /* read last, and not yet handled */
    bool inside;      /* between two lines of dashes */
    size_t length;
    char text[GW_REPORT_SIZE]; /* mpirun's, ended by 0 */
};

/* Reads the available bytes. */
void gw_launch_report_read(struct gw_launch_report *report);

/* Interprets mpirun's exit status: the status that the job's ranks agreed on, or a failure, which
 * names the rank that died and its host if mpirun does. */
enum gw_status gw_launch_report_end(const struct gw_launch_report *report, int status,
                                    int *exit_status, struct gw_error *error);

#endif
