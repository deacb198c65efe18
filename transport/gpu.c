/* Which GPU each rank has, and which communicator serves them. */
#include "transport/gpu.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/gpu_base.h"

/* ---- where the GPUs are -------------------------------------------------------------------- */

enum gw_status gw_gather_gpus(struct gw_communicator *communicator, const struct gw_device *device,
                              struct gw_gpu_place *places, struct gw_error *error) {
    struct gw_gpu_place mine = {0};
    (void)gethostname(mine.host, sizeof mine.host - 1);
    enum gw_status status = gw_device_bus(device, mine.bus, error);
    GW_TRY(gw_agree(communicator, status, error));
    return communicator->transport->allgather(communicator, &mine, sizeof mine, places, error);
}

static bool is_same(const struct gw_gpu_place *one, const struct gw_gpu_place *other) {
    return strcmp(one->host, other->host) == 0 && strcmp(one->bus, other->bus) == 0;
}

int gw_gpu_sharer(const struct gw_gpu_place *places, int size, int rank) {
    int sharer = 0;
    while (sharer < size && (sharer == rank || !is_same(&places[sharer], &places[rank]))) {
        sharer++;
    }
    return sharer < size ? sharer : -1;
}

/* ---- the choice ---------------------------------------------------------------------------- */

/* NCCL's ranks would wait for each other's kernels, which need not run at the same time. */
static enum gw_status check_not_shared(const struct gw_gpu_place *places, int size,
                                       struct gw_error *error) {
    for (int rank = 0; rank < size; rank++) {
        int sharer = gw_gpu_sharer(places, size, rank);
        if (sharer >= 0) {
            return gw_fail(error, GW_BAD_INPUT,
                           "ranks %d and %d share GPU %s of host %s: expected a GPU for each rank "
                           "over NCCL, or MPI as the transport",
                           rank, sharer, places[rank].bus, places[rank].host);
        }
    }
    return GW_OK;
}

static enum gw_status check_nccl(struct gw_communicator *parent,
                                 const struct gw_gpu_settings *settings, struct gw_error *error) {
    enum gw_status status = gw_nccl_need(error);
    GW_TRY(gw_agree(parent, status, error));
    struct gw_gpu_place *places = calloc((size_t)parent->size, sizeof *places);
    status = places == NULL ? gw_fail_memory(error, "looking for GPUs that are shared") : GW_OK;
    status = gw_agree(parent, status, error);
    if (status == GW_OK) {
        status = gw_gather_gpus(parent, gw_device_stream_device(settings->stream), places, error);
    }
    if (status == GW_OK) {
        status = check_not_shared(places, parent->size, error);
    }
    free(places);
    return status;
}

static size_t most_on_one(const struct gw_gpu_place *places, int size) {
    size_t most = 0;
    for (int rank = 0; rank < size; rank++) {
        size_t here = 0;
        for (int other = 0; other < size; other++) {
            here += is_same(&places[rank], &places[other]);
        }
        most = here > most ? here : most;
    }
    return most;
}

enum gw_status gw_gpu_transport_choose(struct gw_communicator *communicator,
                                       const struct gw_device *device, enum gw_gpu_transport *out,
                                       size_t *sharing, struct gw_error *error) {
    struct gw_gpu_place *places = calloc((size_t)communicator->size, sizeof *places);
    enum gw_status status =
        places == NULL ? gw_fail_memory(error, "looking for GPUs that are shared") : GW_OK;
    double lacks = gw_nccl_need(NULL) == GW_OK ? 0 : 1;
    *sharing = 0;
    status = gw_agree(communicator, status, error);
    if (status == GW_OK) {
        status = gw_gather_gpus(communicator, device, places, error);
    }
    if (status == GW_OK) {
        *sharing = most_on_one(places, communicator->size);
        status = gw_agree_maximum(communicator, &lacks, 1, error);
    }
    free(places);
    *out = lacks == 0 && *sharing == 1 ? GW_GPU_NCCL : GW_GPU_MPI;
    return status;
}

/* Whether all ranks' MPI libraries take pointers to memory of GPUs. */
static enum gw_status find_aware(struct gw_communicator *parent, bool *aware,
                                 struct gw_error *error) {
    bool own = strcmp(parent->transport->name, "mpi") == 0 && gw_mpi_takes_gpu_memory();
    double lacks = own ? 0 : 1;
    GW_TRY(gw_agree_maximum(parent, &lacks, 1, error));
    *aware = lacks == 0;
    return GW_OK;
}

enum gw_status gw_communicator_open_gpu(struct gw_communicator *out, struct gw_communicator *parent,
                                        const struct gw_gpu_settings *settings,
                                        struct gw_error *error) {
    gw_gpu_open *open = gw_gpu_open_nccl;
    struct gw_communicator own = {0};
    *out = (struct gw_communicator){0};
    if (settings->transport == GW_GPU_NCCL) {
        GW_TRY(check_nccl(parent, settings, error));
    } else {
        bool aware = false;
        GW_TRY(find_aware(parent, &aware, error));
        open = aware ? gw_gpu_open_aware : gw_gpu_open_staged;
    }
    GW_TRY(parent->transport->open_first(parent, parent->size, &own, error));
    return open(out, own, settings, error);
}
