#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "calibrate/hosts/facts.h"

enum { LONGEST_VALUE = 200 };

/*
 * Beginnings of names. Of Open MPI's parameters those of how it sends, computes and binds; the
 * launcher's own hold addresses and keys of the job, and differ from run to run.
 */
static const char *const wanted[] = {"OMPI_MCA_btl",
                                     "OMPI_MCA_pml",
                                     "OMPI_MCA_mtl",
                                     "OMPI_MCA_coll",
                                     "OMPI_MCA_mpi_",
                                     "OMPI_MCA_bml",
                                     "OMPI_MCA_hwloc",
                                     "OMPI_MCA_rmaps",
                                     "OMPI_MCA_mpool",
                                     "OMPI_MCA_rcache",
                                     "OMPI_MCA_osc",
                                     "OMPI_MCA_op",
                                     "OMP_",
                                     "GOMP_",
                                     "KMP_",
                                     "NCCL_",
                                     "UCX_",
                                     "FI_",
                                     "MPICH_",
                                     "I_MPI_",
                                     "GRADWEAVE_",
                                     "CUDA_VISIBLE_DEVICES",
                                     "CUDA_DEVICE_",
                                     "CUDA_LAUNCH_BLOCKING",
                                     "CUDA_MODULE_LOADING",
                                     "CUDA_MPS_",
                                     "SLURM_JOB_ID",
                                     "SLURM_JOB_NUM_NODES",
                                     "SLURM_JOB_NODELIST",
                                     "SLURM_NTASKS",
                                     "SLURM_CPUS_PER_TASK",
                                     "SLURM_CPU_BIND",
                                     "SLURM_DISTRIBUTION",
                                     "SLURM_JOB_PARTITION",
                                     "MALLOC_",
                                     "GLIBC_TUNABLES",
                                     "LD_PRELOAD"};

/* Parts of names, in any case: whatever else they stand for, their values stay here. */
static const char *const secret[] = {"SECRET", "PASSW", "TOKEN", "CREDENTIAL", "_KEY", "COOKIE"};

static bool is_secret(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof secret / sizeof *secret; i++) {
        size_t part = strlen(secret[i]);
        for (size_t at = 0; at + part <= length; at++) {
            if (strncasecmp(name + at, secret[i], part) == 0) {
                return true;
            }
        }
    }
    return false;
}

static bool is_wanted(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        size_t beginning = strlen(wanted[i]);
        if (beginning <= length && strncmp(name, wanted[i], beginning) == 0) {
            return !is_secret(name, length);
        }
    }
    return false;
}

enum gw_status gw_put_environment(char *const *variables, cJSON *object, struct gw_error *error) {
    for (; *variables != NULL; variables++) {
        char name[64];
        char value[LONGEST_VALUE + 1];
        const char *equals = strchr(*variables, '=');
        size_t length = equals == NULL ? 0 : (size_t)(equals - *variables);
        if (length == 0 || length >= sizeof name || !is_wanted(*variables, length)) {
            continue;
        }
        (void)snprintf(name, sizeof name, "%.*s", (int)length, *variables);
        (void)snprintf(value, sizeof value, "%s", equals + 1);
        for (char *c = value; *c != '\0'; c++) {
            *c = *c >= ' ' && *c <= '~' ? *c : '?';
        }
        GW_TRY(gw_json_put_text(object, name, value, error));
    }
    return GW_OK;
}
