#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrate/hosts/hosts.h"

/* Lists the hosts of ranks with known host names, hosts[size]. */
static enum gw_status list_hosts(char (*hosts)[GW_HOST_SIZE], int size, struct gw_host_list *out,
                                 struct gw_error *error) {
    size_t ranks = (size_t)size;
    *out = (struct gw_host_list){0};
    out->names = gw_arena_zeros(&out->arena, ranks, sizeof *out->names);
    out->first_rank = gw_arena_zeros(&out->arena, ranks, sizeof *out->first_rank);
    out->rank_count = gw_arena_zeros(&out->arena, ranks, sizeof *out->rank_count);
    out->host_of = gw_arena_zeros(&out->arena, ranks, sizeof *out->host_of);
    enum gw_status status = gw_arena_check(&out->arena, "listing hosts", error);
    if (status != GW_OK) {
        gw_host_list_close(out);
        return status;
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

void gw_host_list_close(struct gw_host_list *list) {
    gw_arena_free(&list->arena);
}

/* Gathers the name of each rank's host or machine. */
static enum gw_status gather_list(struct gw_communicator *communicator,
                                  const char mine[GW_HOST_SIZE], struct gw_host_list *out,
                                  struct gw_error *error) {
    void *names = NULL;
    GW_TRY(gw_gather_all(communicator, mine, GW_HOST_SIZE, "listing hosts", &names, error));
    enum gw_status status = list_hosts(names, communicator->size, out, error);
    free(names);
    enum gw_status agreed = gw_agree(communicator, status, error);
    if (status == GW_OK && agreed != GW_OK) {
        gw_host_list_close(out);
    }
    return agreed;
}

enum gw_status gw_host_list_open(struct gw_communicator *communicator, struct gw_host_list *out,
                                 struct gw_error *error) {
    char mine[GW_HOST_SIZE] = "";
    (void)gethostname(mine, sizeof mine - 1);
    return gather_list(communicator, mine, out, error);
}

enum gw_status gw_machine_list_open(struct gw_communicator *communicator, struct gw_host_list *out,
                                    struct gw_error *error) {
    char mine[GW_HOST_SIZE] = "";
    char boot[GW_FACT_SIZE];
    if (!gw_fact_boot("", boot)) {
        return gw_host_list_open(communicator, out, error);
    }
    (void)snprintf(mine, sizeof mine, "%.*s", GW_HOST_SIZE - 1, boot);
    return gather_list(communicator, mine, out, error);
}

size_t gw_host_list_most_ranks(const struct gw_host_list *list) {
    size_t most = 0;
    for (size_t h = 0; h < list->count; h++) {
        most = list->rank_count[h] > most ? list->rank_count[h] : most;
    }
    return most;
}
