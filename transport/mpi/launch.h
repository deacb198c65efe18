/* The interface to MPI launchers; private to transport/. */
#ifndef GW_TRANSPORT_MPI_LAUNCH_H
#define GW_TRANSPORT_MPI_LAUNCH_H

#include "transport/transport.h"

/* Fails if this process is one of several tasks of which no MPI library can make a job. */
enum gw_status gw_mpi_check_launcher(struct gw_error *error);

/* The size of the job that a launcher has announced to this process; 0: no launcher. */
int gw_mpi_announced_size(void);

enum { GW_FIRST_STATUS = 100 }; /* ranks of a launched job exit with this plus their status */

/* Signs of a launched job's ranks: single bytes on stderr, for gw_launch_mpi only. */
enum gw_sign { GW_RANKS_BEGIN = 0x06, GW_JOB_ENDS = 0x18 };

#endif
