#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/transport.h"

enum gw_status gw_agree_maximum(struct gw_communicator *communicator, double *values, size_t count,
                                struct gw_error *error) {
    size_t size = (size_t)communicator->size;
    double *all = malloc(size * count * sizeof *all + 1);
    if (all == NULL) {
        return gw_fail_memory(error, "agreeing between ranks");
    }
    enum gw_status status = communicator->transport->allgather(communicator, values,
                                                               count * sizeof *values, all, error);
    for (size_t i = 0; i < size * count && status == GW_OK; i++) {
        values[i % count] = i < count ? all[i] : fmax(values[i % count], all[i]);
    }
    free(all);
    return status;
}

enum gw_status gw_agree(struct gw_communicator *communicator, enum gw_status status,
                        struct gw_error *error) {
    struct gw_error mine = {.status = status};
    if (status != GW_OK) {
        memcpy(mine.message, error->message, sizeof mine.message);
    }
    struct gw_error *all = calloc((size_t)communicator->size, sizeof *all);
    if (all == NULL) {
        return gw_fail_memory(error, "agreeing between ranks");
    }
    enum gw_status agreed =
        communicator->transport->allgather(communicator, &mine, sizeof mine, all, error);
    for (int rank = 0; rank < communicator->size && agreed == GW_OK; rank++) {
        if (all[rank].status != GW_OK) {
            agreed = all[rank].status;
            if (rank != communicator->rank) {
                gw_error_set(error, agreed, "rank %d: %.480s", rank, all[rank].message);
            }
        }
    }
    free(all);
    return agreed;
}

enum gw_status gw_gather_hosts(struct gw_communicator *communicator, char (*hosts)[GW_HOST_SIZE],
                               struct gw_error *error) {
    char mine[GW_HOST_SIZE] = "";
    (void)gethostname(mine, sizeof mine - 1);
    return communicator->transport->allgather(communicator, mine, sizeof mine, hosts, error);
}
