#include "cli/job.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct gw_option gw_job_table[] = {
    {"nodes", 0, "N", GW_COUNT, offsetof(struct gw_job_options, nodes),
     .help = "Start an MPI job of N ranks (not needed inside one)", .maximum = 65536},
    {"hostfile", 0, "FILE", GW_TEXT, offsetof(struct gw_job_options, hostfile),
     .help = "Hosts for --nodes, passed to mpirun",
     .otherwise = "the Slurm allocation's, or this one", .names = GW_NAMES_FILES},
    {0},
};

void gw_job_require(struct gw_communicator *communicator, enum gw_status status,
                    const struct gw_error *error) {
    if (status != GW_OK) {
        char host[GW_HOST_SIZE] = "";
        (void)gethostname(host, sizeof host - 1);
        (void)fprintf(stderr, "gradweave: rank %d on %s: %s\n", communicator->rank, host,
                      error->message);
        (void)fflush(stderr);
        communicator->transport->abort(communicator, (int)status);
    }
}

static int run_rank(const struct gw_job_options *options, gw_job_body *body, void *context) {
    struct gw_error error = {0};
    struct gw_communicator communicator;
    int verdict = GW_OK;
    enum gw_status status = gw_communicator_open_mpi(&communicator, &error);
    if (status != GW_OK) {
        return gw_mpi_exit_status(gw_mpi_job_rank() == 0 ? gw_cli_fail(&error) : (int)status);
    }
    if (options->nodes > 0 && options->nodes != (size_t)communicator.size) {
        status = gw_fail(&error, GW_BAD_INPUT,
                         "--nodes: expected %d, the size of the MPI job it was started in, got %zu",
                         communicator.size, options->nodes);
    }
    if (status == GW_OK) {
        status = body(&communicator, context, &verdict, &error);
    }
    /* Rank 0 speaks for all: launchers kill the other ranks as soon as one says anything but 0. */
    bool speaks = communicator.rank == 0;
    if (status != GW_OK && speaks) {
        verdict = gw_cli_fail(&error);
    }
    communicator.transport->close(&communicator);
    return speaks ? gw_mpi_exit_status(verdict) : GW_OK;
}

int gw_job_run(const struct gw_job_options *options, char **argv, gw_job_body *body,
               void *context) {
    if (gw_mpi_is_inside_job()) {
        return run_rank(options, body, context);
    }
    struct gw_error error = {0};
    struct gw_launch launch = {
        .ranks = (int)options->nodes, .hostfile = options->hostfile, .arguments = argv};
    int exit_status = GW_OK;
    if (gw_launch_mpi(&launch, &exit_status, &error) != GW_OK) {
        return gw_cli_fail(&error);
    }
    return exit_status;
}
