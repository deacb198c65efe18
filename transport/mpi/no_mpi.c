/* What a build without MPI answers. */
#include "transport/gpu_base.h"

static enum gw_status refuse(struct gw_error *error) {
    return gw_fail(error, GW_BAD_INPUT,
                   "this gradweave was built without MPI: expected a build with it "
                   "(gradweave --version says what is in)");
}

enum gw_status gw_communicator_open_mpi(struct gw_communicator *out, struct gw_error *error) {
    *out = (struct gw_communicator){0};
    return refuse(error);
}

enum gw_status gw_launch_mpi(const struct gw_launch *launch, int *exit_status,
                             struct gw_error *error) {
    (void)launch;
    *exit_status = GW_BAD_INPUT;
    return refuse(error);
}

bool gw_mpi_is_inside_job(void) {
    return false;
}

int gw_mpi_job_rank(void) {
    return 0;
}

int gw_mpi_exit_status(int status) {
    return status;
}

const char *gw_mpi_version(void) {
    return NULL;
}

bool gw_mpi_takes_gpu_memory(void) {
    return false;
}
