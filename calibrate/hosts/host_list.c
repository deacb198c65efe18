#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "calibrate/hosts/hosts.h"

enum gw_status gw_host_list_of(char (*hosts)[GW_HOST_SIZE], int size, struct gw_host_list *out,
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

/* By what each rank goes by. */
static enum gw_status gather_list(struct gw_communicator *communicator,
                                  const char mine[GW_HOST_SIZE], struct gw_host_list *out,
                                  struct gw_error *error) {
    struct gw_arena arena = {0};
    char(*names)[GW_HOST_SIZE] = gw_arena_zeros(&arena, (size_t)communicator->size, sizeof *names);
    enum gw_status status = gw_arena_check(&arena, "listing hosts", error);
    if (status == GW_OK) {
        status = gw_allgather(communicator, mine, GW_HOST_SIZE, names, error);
    }
    if (status == GW_OK) {
        status = gw_host_list_of(names, communicator->size, out, error);
    }
    gw_arena_free(&arena);
    return status;
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

/* ---- taking turns -------------------------------------------------------------------------- */

/* The machine that has most ranks. */
static size_t fullest(const struct gw_host_list *machines) {
    size_t most = 0;
    for (size_t i = 1; i < machines->count; i++) {
        most = machines->rank_count[i] > machines->rank_count[most] ? i : most;
    }
    return most;
}

size_t gw_ranks_together(const struct gw_host_list *machines, size_t machine, size_t processors,
                         int *first) {
    size_t count = 0;
    size_t ranks = machines->rank_count[machine];
    size_t together = ranks;
    for (int rank = 0; ranks > processors && ranks % processors != 0 && count < ranks; rank++) {
        count += machines->host_of[rank] == machine;
        if (count > processors && count % processors == 0 && gw_is_measured(rank + 1)) {
            *first = rank + 1;
            together = count;
        }
    }
    return together;
}

enum gw_status gw_sharing_find(struct gw_communicator *communicator, struct gw_sharing *out,
                               int *first, struct gw_error *error) {
    struct gw_cpus usable;
    struct gw_host_list machines;
    GW_TRY(gw_machine_list_open(communicator, &machines, error));
    size_t machine = fullest(&machines);
    struct gw_cpus *all = gw_arena_zeros(&machines.arena, (size_t)communicator->size, sizeof *all);
    gw_cpus_usable(&usable);
    enum gw_status status =
        gw_agree(communicator, gw_arena_check(&machines.arena, "calibrating", error), error);
    if (status == GW_OK) {
        status = gw_allgather(communicator, &usable, sizeof usable, all, error);
    }
    for (size_t cpu = 0; cpu < GW_MOST_CPUS && status == GW_OK; cpu++) {
        usable.has[cpu] = 0;
        for (size_t rank = 0; rank < (size_t)communicator->size; rank++) {
            usable.has[cpu] |= machines.host_of[rank] == machine ? all[rank].has[cpu] : 0;
        }
    }
    *first = communicator->size;
    out->processors = gw_cpus_count(&usable);
    if (status == GW_OK && out->processors > 0) {
        out->ranks = machines.rank_count[machine];
        out->together = gw_ranks_together(&machines, machine, out->processors, first);
    }
    gw_host_list_close(&machines);
    return status;
}

size_t gw_host_list_most_ranks(const struct gw_host_list *list) {
    size_t most = 0;
    for (size_t h = 0; h < list->count; h++) {
        most = list->rank_count[h] > most ? list->rank_count[h] : most;
    }
    return most;
}
