/* What launchers say about jobs, before and after; private to transport/. */
#ifndef GW_TRANSPORT_MPI_LAUNCH_H
#define GW_TRANSPORT_MPI_LAUNCH_H

#include "transport/transport.h"

/* Fails if this process is one of several that no MPI library can make a job of. */
enum gw_status gw_mpi_check_launcher(struct gw_error *error);

/* The size of the job that a launcher has announced to this process; 0: none has. */
int gw_mpi_announced_size(void);

enum {
    GW_FIRST_STATUS = 100, /* ranks of a launched job exit with this and their status */
    GW_REPORT_SIZE = 8192  /* of what mpirun itself says; more is cut */
};

/* What ranks of a launched job write to stderr, a byte each, for gw_launch_mpi alone. */
enum gw_sign { GW_RANKS_BEGIN = 0x06, GW_JOB_ENDS = 0x18 };

/*
 * mpirun's stderr carries what the ranks write, which goes on to this process's at once but for
 * their signs, and what mpirun has to say itself, between two lines of dashes, which is kept.
 */
struct gw_launch_report {
    int pipe;         /* not to be waited for; -1 after its end */
    bool begun, ends; /* the signs that came */
    size_t dashes;    /* read last, and not yet dealt with */
    bool inside;      /* between two lines */
    size_t length;
    char text[GW_REPORT_SIZE]; /* of mpirun, ended by 0 */
};

/* Reads what is there. */
void gw_launch_report_read(struct gw_launch_report *report);

/* The same for so many bytes, which goes on to the file descriptor `out`. */
void gw_launch_report_take(struct gw_launch_report *report, const char *bytes, size_t count,
                           int out);

/*
 * What it means that mpirun exited with `status`: the status that the job's ranks agreed on, or a
 * failure, which names the rank that died and its host if mpirun does.
 */
enum gw_status gw_launch_report_end(const struct gw_launch_report *report, int status,
                                    int *exit_status, struct gw_error *error);

#endif
