#include "cli/gpu_job.h"

#include <stdlib.h>
#include <string.h>

const char *const gw_transport_choices[] = {
    [GW_TRANSPORT_NCCL] = "nccl", [GW_TRANSPORT_MPI] = "mpi", NULL};

enum gw_status gw_find_local_rank(struct gw_communicator *ranks, size_t *out,
                                  struct gw_error *error) {
    char(*hosts)[GW_HOST_SIZE] = calloc((size_t)ranks->size, sizeof *hosts);
    enum gw_status status =
        hosts == NULL ? gw_fail_memory(error, "looking for ranks that share a host") : GW_OK;
    status = gw_agree(ranks, status, error);
    if (status == GW_OK) {
        status = gw_gather_hosts(ranks, hosts, error);
    }
    *out = 0;
    for (int rank = 0; rank < ranks->rank && status == GW_OK; rank++) {
        *out += strcmp(hosts[rank], hosts[ranks->rank]) == 0;
    }
    free(hosts);
    return status;
}

static enum gw_status open_gpu(struct gw_gpu_job *job, const struct gw_device_choice *choice,
                               size_t local_rank, struct gw_error *error) {
    GW_TRY(gw_device_choice_open(choice, local_rank, &job->device, &job->gpu, error));
    return gw_device_stream_open(job->device, true, &job->stream, error);
}

static enum gw_status open_communicator(struct gw_gpu_job *job, struct gw_communicator *ranks,
                                        enum gw_transport_choice transport,
                                        struct gw_error *error) {
    struct gw_gpu_settings settings = {.transport = transport == GW_TRANSPORT_NCCL ? GW_GPU_NCCL
                                                                                   : GW_GPU_MPI,
                                       .stream = job->stream};
    if (transport == GW_TRANSPORT_ANY) {
        size_t sharing = 0;
        GW_TRY(gw_gpu_transport_choose(ranks, job->device, &settings.transport, &sharing, error));
    }
    return gw_communicator_open_gpu(&job->communicator, ranks, &settings, error);
}

enum gw_status gw_gpu_job_open(struct gw_communicator *ranks, const struct gw_device_choice *device,
                               enum gw_transport_choice transport, struct gw_gpu_job *out,
                               struct gw_error *error) {
    size_t local_rank = 0;
    *out = (struct gw_gpu_job){0};
    GW_TRY(gw_find_local_rank(ranks, &local_rank, error));
    enum gw_status status = gw_agree(ranks, open_gpu(out, device, local_rank, error), error);
    if (status == GW_OK) {
        status = open_communicator(out, ranks, transport, error);
    }
    if (status != GW_OK) {
        gw_gpu_job_close(out);
    }
    return status;
}

void gw_gpu_job_close(struct gw_gpu_job *job) {
    if (job->communicator.transport != NULL) {
        job->communicator.transport->close(&job->communicator);
    }
    gw_device_stream_close(job->stream);
    gw_device_close(job->device);
    *job = (struct gw_gpu_job){0};
}
