/* MPI for libgradweave, which is loaded where there is MPI. */
#include "library/ranks.h"

/* The exported name contains the version. */
GRADWEAVE_API gw_open_ranks gradweave_open_mpi __asm__(GW_MPI_PLUGIN_OPEN);

enum gw_status gradweave_open_mpi(struct gw_communicator *out, struct gw_error *error) {
    return gw_communicator_open_mpi(out, error);
}
