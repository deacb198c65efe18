/*
 * Opening a communicator over NCCL. ncclCommInitRank waits for all ranks. If one fails meanwhile,
 * the others abandon that call, which cannot be ended. A rank that is lost meanwhile blocks them in
 * their next agreement, unless its job ends with it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/system.h"
#include "transport/nccl/nccl.h"

/* ---- NCCL ---------------------------------------------------------------------------------- */

/* NCCL is loaded on demand: a machine without it can still plan and simulate. */
#ifndef GW_NCCL_LIBRARY
#define GW_NCCL_LIBRARY "libnccl.so.2"
#endif

static const struct gw_symbol symbols[] = {
    {"ncclGetVersion", offsetof(struct gw_nccl_calls, GetVersion)},
    {"ncclGetUniqueId", offsetof(struct gw_nccl_calls, GetUniqueId)},
    {"ncclCommInitRank", offsetof(struct gw_nccl_calls, CommInitRank)},
    {"ncclCommFinalize", offsetof(struct gw_nccl_calls, CommFinalize)},
    {"ncclCommDestroy", offsetof(struct gw_nccl_calls, CommDestroy)},
    {"ncclCommAbort", offsetof(struct gw_nccl_calls, CommAbort)},
    {"ncclCommGetAsyncError", offsetof(struct gw_nccl_calls, CommGetAsyncError)},
    {"ncclGetErrorString", offsetof(struct gw_nccl_calls, GetErrorString)},
    {"ncclGetLastError", offsetof(struct gw_nccl_calls, GetLastError)},
    {"ncclGroupStart", offsetof(struct gw_nccl_calls, GroupStart)},
    {"ncclGroupEnd", offsetof(struct gw_nccl_calls, GroupEnd)},
    {"ncclAllGather", offsetof(struct gw_nccl_calls, AllGather)},
    {"ncclAllReduce", offsetof(struct gw_nccl_calls, AllReduce)},
    {"ncclBroadcast", offsetof(struct gw_nccl_calls, Broadcast)},
    {"ncclSend", offsetof(struct gw_nccl_calls, Send)},
    {"ncclRecv", offsetof(struct gw_nccl_calls, Recv)},
};

static struct gw_nccl_calls calls;
static const char *missing; /* the first symbol that this machine's NCCL lacks, or the whole
                             * library; or NULL */
static char version_text[64];

static void load_nccl(void) {
    int version = 0;
    void *library = dlopen(GW_NCCL_LIBRARY, RTLD_NOW);
    missing = library == NULL
                  ? GW_NCCL_LIBRARY
                  : gw_find_symbols(library, symbols, sizeof symbols / sizeof *symbols, &calls);
    if (calls.GetVersion != NULL && calls.GetVersion(&version) != ncclSuccess) {
        version = 0;
    }
    if (version > 0) {
        snprintf(version_text, sizeof version_text, "%d.%d.%d", version / 10000,
                 version / 100 % 100, version % 100);
    } else {
        snprintf(version_text, sizeof version_text, "%d.%d.%d, not on this machine", NCCL_MAJOR,
                 NCCL_MINOR, NCCL_PATCH);
    }
}

static void load_nccl_once(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_nccl);
}

const char *gw_nccl_version(void) {
    load_nccl_once();
    return version_text;
}

enum gw_status gw_nccl_need(struct gw_error *error) {
    load_nccl_once();
    return missing == NULL
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "NCCL: expected %s on this machine, or MPI as the transport", missing);
}

/* ---- ncclCommInitRank ---------------------------------------------------------------------- */

struct opening {
    const struct gw_nccl_calls *calls;
    int size, rank;
    ncclUniqueId id;
    ncclResult_t result;
    ncclComm_t comm;
};

static void run_opening(void *context) {
    struct opening *opening = context;
    opening->result =
        opening->calls->CommInitRank(&opening->comm, opening->size, opening->id, opening->rank);
}

static void dispose_opening(void *context) {
    struct opening *opening = context;
    if (opening->comm != NULL) {
        (void)opening->calls->CommAbort(opening->comm);
    }
    free(opening);
}

static enum gw_status start_opening(const struct gw_nccl_world *world, const ncclUniqueId *id,
                                    struct opening **out, struct gw_nccl_async **aside,
                                    struct gw_error *error) {
    const struct gw_communicator *host = &world->base.host;
    struct opening *made = malloc(sizeof *made);
    if (made == NULL) {
        return gw_fail_memory(error, "opening a communicator over NCCL");
    }
    *made =
        (struct opening){.calls = world->calls, .size = host->size, .rank = host->rank, .id = *id};
    enum gw_status status = gw_nccl_async_start(aside, run_opening, dispose_opening, made, error);
    if (status != GW_OK) {
        free(made);
        return status;
    }
    *out = made;
    return GW_OK;
}

static enum gw_status init_rank(struct gw_nccl_world *world, const ncclUniqueId *id,
                                ncclResult_t *result, struct gw_error *error) {
    struct opening *opening = NULL;
    struct gw_nccl_async *aside = NULL;
    struct gw_nccl_wait wait = {.start_s = gw_clock_now_s()};
    enum gw_status status = GW_OK;
    GW_TRY(start_opening(world, id, &opening, &aside, error));
    while (status == GW_OK && !gw_nccl_async_is_done(aside)) {
        status = gw_nccl_rest(world, "ncclCommInitRank", &wait, error);
    }
    if (gw_nccl_async_end(aside)) {
        world->comm = opening->comm;
        *result = opening->result;
        free(opening);
    }
    return status;
}

/* ---- opening ------------------------------------------------------------------------------- */

static enum gw_status join_ranks(struct gw_nccl_world *world, struct gw_error *error) {
    struct gw_communicator *host = &world->base.host;
    struct gw_error failure = {0};
    ncclUniqueId id = {{0}};
    ncclResult_t result = ncclSuccess;
    enum gw_status status = host->transport->open_first(host, host->size, &world->news, error);
    GW_TRY(gw_agree(host, status, error));
    if (host->rank == 0) {
        status = gw_nccl_check(world, world->calls->GetUniqueId(&id), "ncclGetUniqueId", error);
    }
    GW_TRY(gw_agree(host, status, error));
    GW_TRY(gw_broadcast(host, 0, &id, sizeof id, error));
    status = init_rank(world, &id, &result, &failure);
    status = status == GW_OK ? gw_nccl_wait_for(world, result, "ncclCommInitRank", false, error)
                             : gw_nccl_give_up(world, &failure, error);
    return gw_agree(host, status, error);
}

static enum gw_status open_nccl(struct gw_communicator *communicator, struct gw_error *error) {
    struct gw_nccl_world *world = communicator->state;
    const struct gw_gpu_settings *settings = &world->base.settings;
    load_nccl_once();
    world->calls = missing == NULL ? &calls : NULL;
    world->stream = gw_cuda_stream(settings->stream);
    world->timeout_s = settings->timeout_s > 0 ? settings->timeout_s : GW_GPU_TIMEOUT_S;
    enum gw_status status = world->calls == NULL ? gw_nccl_need(error) : GW_OK;
    status = gw_agree(&world->base.host, status, error);
    status = status == GW_OK ? join_ranks(world, error) : status;
    if (status != GW_OK) {
        gw_nccl_abort(world);
    }
    return status;
}

const struct gw_gpu_kind gw_gpu_nccl = {.transport = &gw_nccl_transport,
                                        .state_bytes = sizeof(struct gw_nccl_world),
                                        .open = open_nccl,
                                        .close = gw_nccl_close};
