/*
 * What launchers tell a process about its job: Open MPI's mpirun; srun and others that speak PMIx;
 * MPICH's Hydra and srun --mpi=pmi2; and srun without any of them, whose tasks do not find each
 * other.
 */
#include <stdlib.h>

#include "transport/mpi/job.h"
#include "transport/mpi/launch_report.h"

/* The first that is set, or `otherwise`. */
static int number_of(const char *const names[], int otherwise) {
    for (; *names != NULL; names++) {
        const char *text = getenv(*names);
        if (text != NULL) {
            return (int)strtol(text, NULL, 10);
        }
    }
    return otherwise;
}

/* Tasks that srun started together with this process; 0: it did not. */
static int slurm_tasks(void) {
    static const char *const names[] = {"SLURM_STEP_NUM_TASKS", NULL};
    return number_of(names, 0);
}

/* Inside a job of mpirun's, Slurm's variables are about its daemons. */
int gw_mpi_told_size(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS",
                                        NULL};
    return number_of(names, 0);
}

int gw_mpi_job_rank(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID", NULL};
    return number_of(names, 0);
}

static bool has_launcher(void) {
    return getenv("OMPI_COMM_WORLD_SIZE") != NULL || getenv("PMIX_RANK") != NULL ||
           getenv("PMI_RANK") != NULL;
}

/* A single task of srun's is a place to start jobs from, such as the shell of an allocation. */
bool gw_mpi_is_inside_job(void) {
    bool place =
        slurm_tasks() == 1 && gw_mpi_told_size() == 1 && getenv("OMPI_COMM_WORLD_SIZE") == NULL;
    return slurm_tasks() > 1 || (has_launcher() && !place);
}

enum gw_status gw_mpi_check_launcher(struct gw_error *error) {
    return has_launcher() || slurm_tasks() <= 1
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "srun started %d tasks that cannot find each other: expected "
                         "srun --mpi=pmix, or mpirun in its place",
                         slurm_tasks());
}

int gw_mpi_exit_status(int status) {
    return status != 0 && getenv("GRADWEAVE_LAUNCHED") != NULL ? GW_FIRST_STATUS + status : status;
}
