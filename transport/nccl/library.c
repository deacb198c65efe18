/* NCCL is loaded when it is asked for: a machine without it can still plan and simulate. */
#include "transport/nccl/nccl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

#include "core/system.h"

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
    {"ncclReduce", offsetof(struct gw_nccl_calls, Reduce)},
    {"ncclSend", offsetof(struct gw_nccl_calls, Send)},
    {"ncclRecv", offsetof(struct gw_nccl_calls, Recv)},
};

static struct gw_nccl_calls calls;
static const char *missing; /* the first that this machine's NCCL lacks, or all of it; or NULL */
static char version_text[64];

static void load(void) {
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

static void load_once(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
}

const char *gw_nccl_version(void) {
    load_once();
    return version_text;
}

const struct gw_nccl_calls *gw_nccl_calls(void) {
    load_once();
    return missing == NULL ? &calls : NULL;
}

enum gw_status gw_nccl_need(struct gw_error *error) {
    load_once();
    return missing == NULL
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "NCCL: expected %s on this machine, or MPI as the transport", missing);
}
