/* Verbs that run on every rank of an MPI job. */
#ifndef GW_CLI_JOB_H
#define GW_CLI_JOB_H

#include "cli/cli.h"
#include "transport/transport.h"

/* --nodes, --hostfile. */
struct gw_job_options {
    size_t nodes; /* 0: not given */
    const char *hostfile;
};
extern const struct gw_option gw_job_table[]; /* for struct gw_job_options */

/* Their rules. */
#define GW_NEEDS_JOB                                                                               \
    { NULL, GW_NEEDS, "nodes (job)", "expected --nodes N, or to be started inside an MPI job" }
#define GW_HOSTFILE_NEEDS_NODES                                                                    \
    { "hostfile", GW_NEEDS, "nodes", "--hostfile: expected --nodes N with it" }

/*
 * What a rank does; *verdict is the exit status of a job that went well (0 or 1). A failure that
 * all ranks have agreed on is returned; a rank that fails alone does not return but aborts the job.
 */
typedef enum gw_status gw_job_body(struct gw_communicator *communicator, void *context,
                                   int *verdict, struct gw_error *error);

/*
 * Inside an MPI job: joins it and runs `body`. Outside, with --nodes: starts such a job of this
 * same command line under mpirun, and waits for it. Returns the exit status.
 */
int gw_job_run(const struct gw_job_options *options, char **argv, gw_job_body *body, void *context);

/* For a rank that may have failed alone: if so, says it, ends the whole job and does not return. */
void gw_job_require(struct gw_communicator *communicator, enum gw_status status,
                    const struct gw_error *error);

#endif
