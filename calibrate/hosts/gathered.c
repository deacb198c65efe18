#include "calibrate/hosts/gathered.h"

#include <stdlib.h>
#include <string.h>

enum gw_status gw_gather_texts(struct gw_communicator *communicator, const char *text,
                               struct gw_gathered *out, struct gw_error *error) {
    double longest = (double)strlen(text) + 1;
    *out = (struct gw_gathered){0};
    GW_TRY(gw_agree_maximum(communicator, &longest, 1, error));
    out->stride = (size_t)longest;
    char *mine = calloc(1, out->stride);
    out->texts = malloc(out->stride * (size_t)communicator->size);
    enum gw_status status = GW_OK;
    if (mine == NULL || out->texts == NULL) {
        status = gw_fail_memory(error, "gathering what hosts are made of");
    } else {
        memcpy(mine, text, strlen(text));
        status =
            communicator->transport->allgather(communicator, mine, out->stride, out->texts, error);
    }
    free(mine);
    if (status != GW_OK) {
        free(out->texts);
        out->texts = NULL;
    }
    return status;
}
