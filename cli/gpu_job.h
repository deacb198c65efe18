/* A rank's GPU, and the way to the others': for verbs that run on GPUs of an MPI job. */
#ifndef GW_CLI_GPU_JOB_H
#define GW_CLI_GPU_JOB_H

#include "cli/device.h"
#include "transport/gpu.h"

/* How many ranks of lower number are on the same host; all ranks call it, and fail alike. */
enum gw_status gw_find_local_rank(struct gw_communicator *ranks, size_t *out,
                                  struct gw_error *error);

/* --transport: what memory of GPUs travels by. */
enum gw_transport_choice {
    GW_TRANSPORT_NCCL,
    GW_TRANSPORT_MPI,
    GW_TRANSPORT_ANY, /* not given: NCCL where each rank has a GPU to itself, else MPI */
};
extern const char *const gw_transport_choices[];

struct gw_gpu_job {
    struct gw_device *device;
    struct gw_gpu gpu;
    struct gw_device_stream *stream;     /* of the communicator */
    struct gw_communicator communicator; /* of all ranks, for memory of their GPUs */
};

/* All ranks call it, and fail alike. What is all zeros may be closed. */
enum gw_status gw_gpu_job_open(struct gw_communicator *ranks, const struct gw_device_choice *device,
                               enum gw_transport_choice transport, struct gw_gpu_job *out,
                               struct gw_error *error);
void gw_gpu_job_close(struct gw_gpu_job *job);

#endif
