#include <stdio.h>

#ifdef GW_HAVE_NCCL
#include <nccl.h>
#endif

#include "transport/transport.h"

const char *gw_nccl_version(void) {
#ifdef GW_HAVE_NCCL
    static char text[32];
    int version = 0;
    if (ncclGetVersion(&version) == ncclSuccess) {
        snprintf(text, sizeof text, "%d.%d.%d", version / 10000, version / 100 % 100,
                 version % 100);
        return text;
    }
#endif
    return NULL;
}
