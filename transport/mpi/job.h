/* What launchers tell about the job; private to transport/. */
#ifndef GW_TRANSPORT_JOB_H
#define GW_TRANSPORT_JOB_H

#include "transport/transport.h"

/* Fails if this process is one of several that no MPI library can make a job of. */
enum gw_status gw_mpi_check_launcher(struct gw_error *error);

/* How many ranks this process was told that its job has; 0: it was not. */
int gw_mpi_told_size(void);

#endif
