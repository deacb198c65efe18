#include "calibrate/hosts/host_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrate/hosts/facts.h"

enum gw_status gw_host_list_of(char (*hosts)[GW_HOST_SIZE], int size, struct gw_host_list *out,
                               struct gw_error *error) {
    size_t ranks = (size_t)size;
    *out = (struct gw_host_list){.names = calloc(ranks, sizeof *out->names),
                                 .first_rank = calloc(ranks, sizeof *out->first_rank),
                                 .rank_count = calloc(ranks, sizeof *out->rank_count),
                                 .host_of = calloc(ranks, sizeof *out->host_of)};
    if (out->names == NULL || out->first_rank == NULL || out->rank_count == NULL ||
        out->host_of == NULL) {
        gw_host_list_close(out);
        return gw_fail_memory(error, "listing hosts");
    }
    for (int r = 0; r < size; r++) {
        size_t h = 0;
        while (h < out->count && strcmp(out->names[h], hosts[r]) != 0) {
            h++;
        }
        if (h == out->count) {
            memcpy(out->names[h], hosts[r], sizeof hosts[r]);
            out->first_rank[h] = r;
            out->count++;
        }
        out->rank_count[h]++;
        out->host_of[r] = h;
    }
    return GW_OK;
}

enum gw_status gw_host_list_open(struct gw_communicator *communicator, struct gw_host_list *out,
                                 struct gw_error *error) {
    char(*hosts)[GW_HOST_SIZE] = calloc((size_t)communicator->size, sizeof *hosts);
    if (hosts == NULL) {
        return gw_fail_memory(error, "listing hosts");
    }
    enum gw_status status = gw_gather_hosts(communicator, hosts, error);
    if (status == GW_OK) {
        status = gw_host_list_of(hosts, communicator->size, out, error);
    }
    free(hosts);
    return status;
}

enum gw_status gw_machine_list_open(struct gw_communicator *communicator, struct gw_host_list *out,
                                    struct gw_error *error) {
    char mine[GW_HOST_SIZE] = "";
    char boot[GW_FACT_SIZE];
    if (gw_fact_boot("", boot)) {
        (void)snprintf(mine, sizeof mine, "%.*s", GW_HOST_SIZE - 1, boot);
    } else {
        (void)gethostname(mine, sizeof mine - 1);
    }
    char(*machines)[GW_HOST_SIZE] = calloc((size_t)communicator->size, sizeof *machines);
    if (machines == NULL) {
        return gw_fail_memory(error, "listing machines");
    }
    enum gw_status status =
        communicator->transport->allgather(communicator, mine, sizeof mine, machines, error);
    if (status == GW_OK) {
        status = gw_host_list_of(machines, communicator->size, out, error);
    }
    free(machines);
    return status;
}

void gw_host_list_close(struct gw_host_list *list) {
    free(list->names);
    free(list->first_rank);
    free(list->rank_count);
    free(list->host_of);
}

size_t gw_host_list_most_ranks(const struct gw_host_list *list) {
    size_t most = 0;
    for (size_t h = 0; h < list->count; h++) {
        most = list->rank_count[h] > most ? list->rank_count[h] : most;
    }
    return most;
}
