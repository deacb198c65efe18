/* The GPU of each rank, and the choice of its communicator. */
#include "transport/gpu.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/gpu_base.h"

/* ---- locations of GPUs --------------------------------------------------------------------- */

static bool is_same(const struct gw_gpu_location *one, const struct gw_gpu_location *other) {
    return strcmp(one->host, other->host) == 0 && strcmp(one->bus, other->bus) == 0;
}

/* ---- the choice ---------------------------------------------------------------------------- */

/*
 * NCCL's ranks wait for each other's kernels; two kernels of one GPU need not run at the same time.
 */
static enum gw_status check_not_shared(const struct gw_gpu_location *locations, int size,
                                       struct gw_error *error) {
    for (int rank = 0; rank < size; rank++) {
        for (int other = 0; other < rank; other++) {
            if (is_same(&locations[other], &locations[rank])) {
                return gw_fail(error, GW_BAD_INPUT,
                               "ranks %d and %d share GPU %s of host %s: expected a GPU for each "
                               "rank over NCCL, or MPI as the transport",
                               other, rank, locations[rank].bus, locations[rank].host);
            }
        }
    }
    return GW_OK;
}

/* Gathers the GPU of each rank, on every rank, which the caller frees. On failure, of all ranks,
 * *out is NULL. */
static enum gw_status gather_locations(struct gw_communicator *communicator,
                                       const struct gw_device *device, struct gw_gpu_location **out,
                                       struct gw_error *error) {
    struct gw_gpu_location mine = {0};
    void *gathered = NULL;
    *out = NULL;
    (void)gethostname(mine.host, sizeof mine.host - 1);
    GW_TRY(gw_agree(communicator, gw_device_bus(device, mine.bus, error), error));
    GW_TRY(gw_gather_all(communicator, &mine, sizeof mine, "looking for GPUs that are shared",
                         &gathered, error));
    *out = gathered;
    return GW_OK;
}

enum gw_status gw_gpu_transport_choose(struct gw_communicator *communicator,
                                       const struct gw_device *device, enum gw_gpu_transport *out,
                                       size_t *sharing, struct gw_error *error) {
    struct gw_gpu_location *locations = NULL;
    bool hears = communicator->transport->poll != NULL;
    double lacks = hears && gw_nccl_need(NULL) == GW_OK ? 0 : 1;
    *out = GW_GPU_MPI;
    *sharing = 0;
    GW_TRY(gather_locations(communicator, device, &locations, error));
    for (int rank = 0; rank < communicator->size; rank++) {
        size_t here = 0;
        for (int other = 0; other < communicator->size; other++) {
            here += is_same(&locations[rank], &locations[other]);
        }
        *sharing = here > *sharing ? here : *sharing;
    }
    free(locations);
    GW_TRY(gw_agree_maximum(communicator, &lacks, 1, error));
    *out = lacks == 0 && *sharing == 1 ? GW_GPU_NCCL : GW_GPU_MPI;
    return GW_OK;
}

enum gw_status gw_communicator_open_gpu(struct gw_communicator *out, struct gw_communicator *parent,
                                        const struct gw_gpu_settings *settings,
                                        struct gw_error *error) {
    const struct gw_gpu_kind *kind = &gw_gpu_nccl;
    struct gw_communicator own = {0};
    *out = (struct gw_communicator){0};
    if (settings->transport == GW_GPU_NCCL) {
        struct gw_device *device = gw_device_stream_device(settings->stream);
        struct gw_gpu_location *locations = NULL;
        GW_TRY(gw_agree(parent, gw_nccl_need(error), error));
        GW_TRY(gather_locations(parent, device, &locations, error));
        enum gw_status status = check_not_shared(locations, parent->size, error);
        free(locations);
        GW_TRY(status);
    } else {
        double lacks = gw_takes_gpu_memory(parent) ? 0 : 1; /* the MPI library of some rank */
        GW_TRY(gw_agree_maximum(parent, &lacks, 1, error));
        kind = lacks == 0 ? &gw_gpu_cuda_aware : &gw_gpu_staged;
    }
    GW_TRY(parent->transport->open_first(parent, parent->size, &own, error));
    return gw_gpu_open(out, kind, own, settings, error);
}
