/* Runs verbs on every rank of an MPI job, and on GPUs. */
#ifndef GW_CLI_JOB_H
#define GW_CLI_JOB_H

#include "cli/cli.h"
#include "device/device.h"
#include "transport/gpu.h"
#include "transport/transport.h"
#include "transport/watch.h"

/* ---- ranks ---------------------------------------------------------------------------------- */

/* --nodes, --hostfile, --timeout. */
struct gw_job_options {
    size_t nodes; /* 0: not given */
    const char *hostfile;
    double timeout_s;    /* without a sign of life from a rank, until the job is ended */
    const char *outs[3]; /* files that rank 0 writes, kept even if the answer cannot be printed */
};
extern const struct gw_option gw_job_table[];   /* for struct gw_job_options */
extern const struct gw_option gw_watch_table[]; /* of these --timeout alone */

/* Rules of these options. */
#define GW_NEEDS_JOB                                                                               \
    { NULL, GW_NEEDS, "nodes (job)", "expected --nodes N, or to be started inside an MPI job" }
#define GW_HOSTFILE_NEEDS_NODES                                                                    \
    { "hostfile", GW_NEEDS, "nodes", "--hostfile: expected --nodes N with it" }

/*
 * A rank's work; *verdict is the exit status of a job that went well (0 or 1). Returns failures
 * that all ranks have agreed on; a rank that fails alone aborts the job instead of returning.
 */
typedef enum gw_status gw_job_body(struct gw_communicator *communicator, void *context,
                                   int *verdict, struct gw_error *error);

/*
 * Joins the MPI job that it is inside of, and runs `body`; outside, with --nodes, starts such a job
 * of this command line under mpirun and waits for it. Returns the exit status.
 */
int gw_job_run(const struct gw_job_options *options, char **argv, gw_job_body *body, void *context);

/* If this rank has failed, prints the error, aborts the whole job and does not return. */
void gw_job_require(struct gw_communicator *communicator, enum gw_status status,
                    const struct gw_error *error);

/* ---- --device ------------------------------------------------------------------------------- */

struct gw_device_choice {
    bool cuda;   /* or this machine's processors */
    bool chosen; /* `ordinal` was given */
    size_t ordinal;
};

extern const char *const gw_device_kinds[]; /* ended by NULL */

/* Reads "cpu", "cuda" or "cuda:N" into a struct gw_device_choice. */
void gw_read_device(const char *argument, void *target);

/*
 * Opens the chosen GPU; without an ordinal, GPU `local_rank` modulo its machine's count of GPUs.
 * *described (or NULL) gets its description.
 */
enum gw_status gw_device_choice_open(const struct gw_device_choice *choice, size_t local_rank,
                                     struct gw_device **out, struct gw_gpu *described,
                                     struct gw_error *error);

/* ---- GPUs of ranks -------------------------------------------------------------------------- */

/* --transport: how data in GPUs' memory travels. */
enum gw_transport_choice {
    GW_TRANSPORT_NCCL = GW_GPU_NCCL,
    GW_TRANSPORT_MPI = GW_GPU_MPI,
    GW_TRANSPORT_ANY, /* not given: NCCL where each rank has a GPU to itself, else MPI */
};
extern const char *const gw_transport_choices[]; /* also by enum gw_gpu_transport */

struct gw_gpu_job {
    struct gw_device *device;
    struct gw_gpu gpu;
    struct gw_device_stream *stream;     /* of the communicator */
    struct gw_communicator communicator; /* of all ranks, for memory of their GPUs */
};

/* Opens GPUs of all ranks, which all call it and fail alike. A job of zeros may be closed. */
enum gw_status gw_gpu_job_open(struct gw_communicator *ranks, const struct gw_device_choice *device,
                               enum gw_transport_choice transport, struct gw_gpu_job *out,
                               struct gw_error *error);
void gw_gpu_job_close(struct gw_gpu_job *job);

#endif
