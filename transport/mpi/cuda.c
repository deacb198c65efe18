#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include "transport/gpu_base.h"

bool gw_mpi_takes_gpu_memory(void) {
#ifdef MPIX_CUDA_AWARE_SUPPORT
    return MPIX_Query_cuda_support() == 1;
#else
    return false;
#endif
}
