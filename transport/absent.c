/* The transports of a build without MPI, or without NCCL: opening one fails. */
#include "transport/gpu_base.h"

#ifndef GW_HAVE_MPI

static enum gw_status refuse_mpi(struct gw_error *error) {
    return gw_fail(error, GW_BAD_INPUT,
                   "this gradweave was built without MPI: expected a build with it "
                   "(gradweave --version says what is in)");
}

enum gw_status gw_communicator_open_mpi(struct gw_communicator *out, struct gw_error *error) {
    *out = (struct gw_communicator){0};
    return refuse_mpi(error);
}

enum gw_status gw_launch_mpi(const struct gw_launch *launch, int *exit_status,
                             struct gw_error *error) {
    (void)launch;
    *exit_status = GW_BAD_INPUT;
    return refuse_mpi(error);
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

void gw_mpi_rank_begins(void) {
}

void gw_mpi_job_ends(void) {
}

const char *gw_mpi_version(void) {
    return NULL;
}

#endif

#ifndef GW_HAVE_NCCL

const char *gw_nccl_version(void) {
    return NULL;
}

enum gw_status gw_nccl_need(struct gw_error *error) {
    return gw_fail(error, GW_BAD_INPUT,
                   "this gradweave was built without NCCL: expected a build with it, or MPI as the "
                   "transport (gradweave --version says what is in)");
}

static enum gw_status refuse_nccl(struct gw_communicator *communicator, struct gw_error *error) {
    (void)communicator;
    return gw_nccl_need(error);
}

const struct gw_gpu_kind gw_gpu_nccl = {.state_bytes = sizeof(struct gw_gpu_base),
                                        .open = refuse_nccl};

#endif
