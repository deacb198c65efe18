/* The ranks of a job, for sessions; private to this room. */
#ifndef GW_LIBRARY_RANKS_H
#define GW_LIBRARY_RANKS_H

#include "library/library.h"
#include "transport/transport.h"

struct gradweave_ranks {
    struct gw_communicator communicator;
    void *plugin; /* that it is of; NULL: this library */
};

/*
 * The function that libgradweave_mpi.so exports, built from the same sources: opens a communicator
 * of the MPI job. The exported name contains the version, so that no other version is loaded.
 */
typedef enum gw_status gw_open_ranks(struct gw_communicator *out, struct gw_error *error);
#define GW_MPI_PLUGIN "libgradweave_mpi.so"
#define GW_MPI_PLUGIN_OPEN "gradweave_open_mpi_" GW_VERSION

#endif
