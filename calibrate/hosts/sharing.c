/* The ranks that share processors, and how many of them get equal time slices. */
#include "calibrate/hosts/hosts.h"
#include "calibrate/measure/worker_counts.h"

/* Finds *first (gw_sharing_find), and how many of these ranks are on that machine. */
static size_t count_concurrent(const struct gw_host_list *machines, size_t machine,
                               size_t processors, int *first) {
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
    size_t machine = 0; /* the one that has most ranks */
    for (size_t i = 1; i < machines.count; i++) {
        machine = machines.rank_count[i] > machines.rank_count[machine] ? i : machine;
    }
    struct gw_cpus *all = gw_arena_zeros(&machines.arena, (size_t)communicator->size, sizeof *all);
    gw_cpus_usable(&usable);
    enum gw_status status =
        gw_agree(communicator, gw_arena_check(&machines.arena, "calibrating", error), error);
    if (status == GW_OK) {
        status = gw_allgather(communicator, &usable, sizeof usable, all, error);
    }
    for (size_t cpu = 0; cpu < GW_MAX_CPUS && status == GW_OK; cpu++) {
        usable.has[cpu] = 0;
        for (size_t rank = 0; rank < (size_t)communicator->size; rank++) {
            usable.has[cpu] |= machines.host_of[rank] == machine ? all[rank].has[cpu] : 0;
        }
    }
    *first = communicator->size;
    out->processors = gw_cpus_count(&usable);
    if (status == GW_OK && out->processors > 0) {
        out->ranks = machines.rank_count[machine];
        out->together = count_concurrent(&machines, machine, out->processors, first);
    }
    gw_host_list_close(&machines);
    return status;
}
