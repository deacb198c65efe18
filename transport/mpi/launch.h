/* What launchers say about jobs, before and after; private to transport/. */
#ifndef GW_TRANSPORT_MPI_LAUNCH_H
#define GW_TRANSPORT_MPI_LAUNCH_H

#include "transport/transport.h"

/* Fails if this process is one of several that no MPI library can make a job of. */
enum gw_status gw_mpi_check_launcher(struct gw_error *error);

/* The size of the job that a launcher has announced to this process; 0: none has. */
int gw_mpi_announced_size(void);

enum { GW_FIRST_STATUS = 100 }; /* ranks of a launched job exit with this and their status */

/* What ranks of a launched job write to stderr, a byte each, for gw_launch_mpi alone. */
enum gw_sign { GW_RANKS_BEGIN = 0x06, GW_JOB_ENDS = 0x18 };

#endif
