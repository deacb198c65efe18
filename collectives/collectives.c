#include "collectives/collectives.h"

#include <string.h>

#include "collectives/layout.h"

const struct gw_collective *const gw_collectives[] = {
    &gw_collective_allgather_ring,
    &gw_collective_allgather_recursive_doubling,
    &gw_collective_allgather_bruck,
    &gw_collective_allreduce_ring,
    &gw_collective_allreduce_halving_doubling,
    &gw_collective_allreduce_recursive_doubling,
    &gw_collective_allreduce_tree,
    &gw_collective_broadcast_binomial,
    &gw_collective_reduce_binomial,
    &gw_collective_gather_linear,
    &gw_collective_gather_binomial,
    &gw_collective_scatter_linear,
    &gw_collective_scatter_binomial,
    &gw_collective_alltoall_pairwise,
    &gw_collective_alltoall_bruck,
    &gw_collective_parameter_server,
    &gw_collective_push,
    &gw_collective_pull,
    &gw_collective_gtopk_tree,
    &gw_collective_sketch_tree,
    &gw_collective_sendrecv_pairs,
    NULL,
};

static enum gw_status fail_unknown_operation(const char *operation, struct gw_error *error) {
    char known[256] = "";
    const char *last = "";
    for (size_t i = 0; gw_collectives[i] != NULL; i++) {
        if (strcmp(gw_collectives[i]->operation, last) != 0) {
            last = gw_collectives[i]->operation;
            gw_list_name(known, sizeof known, last);
        }
    }
    return gw_fail(error, GW_BAD_INPUT, "collective: expected one of %s; got \"%s\"", known,
                   operation);
}

enum gw_status gw_collective_find(const char *operation, const char *name,
                                  const struct gw_collective **out, struct gw_error *error) {
    char known[256] = "";
    for (size_t i = 0; gw_collectives[i] != NULL; i++) {
        const struct gw_collective *collective = gw_collectives[i];
        if (strcmp(collective->operation, operation) != 0) {
            continue;
        }
        if (name == NULL || strcmp(collective->name, name) == 0) {
            *out = collective;
            return GW_OK;
        }
        gw_list_name(known, sizeof known, collective->name);
    }
    return known[0] == '\0' ? fail_unknown_operation(operation, error)
                            : gw_fail(error, GW_BAD_INPUT, "%s: expected one of %s; got \"%s\"",
                                      operation, known, name);
}

/* ---- ranks -------------------------------------------------------------------------------- */

bool gw_collective_symmetric(const struct gw_collective *collective, uint32_t workers) {
    return collective->symmetric == GW_SYMMETRIC_ALWAYS ||
           (collective->symmetric == GW_SYMMETRIC_POWERS_OF_TWO && (workers & (workers - 1)) == 0);
}

uint32_t gw_collective_ranks(const struct gw_collective *collective, uint32_t workers) {
    return workers + (collective->server ? 1 : 0);
}
