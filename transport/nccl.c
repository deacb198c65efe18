/* NCCL is loaded when it is asked for: a machine without it can still plan and simulate. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#ifdef GW_HAVE_NCCL
#include <nccl.h>
#endif

#include "transport/transport.h"

#ifdef GW_HAVE_NCCL
static char version_text[64];

static void find_version(void) {
    int version = 0;
    void *library = dlopen("libnccl.so.2", RTLD_NOW);
    void *symbol = library == NULL ? NULL : dlsym(library, "ncclGetVersion");
    if (symbol != NULL) {
        ncclResult_t (*get_version)(int *);
        memcpy(&get_version, &symbol, sizeof get_version); /* as POSIX asks for */
        if (get_version(&version) != ncclSuccess) {
            version = 0;
        }
    }
    if (version > 0) {
        snprintf(version_text, sizeof version_text, "%d.%d.%d", version / 10000,
                 version / 100 % 100, version % 100);
    } else {
        snprintf(version_text, sizeof version_text, "%d.%d.%d, not on this machine", NCCL_MAJOR,
                 NCCL_MINOR, NCCL_PATCH);
    }
}
#endif

const char *gw_nccl_version(void) {
#ifdef GW_HAVE_NCCL
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_version);
    return version_text;
#else
    return NULL;
#endif
}
