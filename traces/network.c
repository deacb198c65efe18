#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/parts.h"

/* ---- reading ------------------------------------------------------------------------------- */

static enum gw_status read_loggp(const struct gw_json *place, struct gw_loggp *out,
                                 struct gw_error *error) {
    GW_TRY(gw_json_object(place, error));
    struct gw_json latency = gw_json_member(place, "latency_s");
    struct gw_json overhead = gw_json_member(place, "overhead_s");
    struct gw_json gap = gw_json_member(place, "gap_s");
    struct gw_json gap_per_byte = gw_json_member(place, "gap_s_per_byte");
    struct gw_json overhead_per_byte = gw_json_member(place, "overhead_s_per_byte");
    GW_TRY(gw_json_seconds(&latency, &out->latency_s, error));
    GW_TRY(gw_json_seconds(&overhead, &out->overhead_s, error));
    GW_TRY(gw_json_seconds(&gap, &out->gap_s, error));
    GW_TRY(gw_json_seconds(&gap_per_byte, &out->gap_s_per_byte, error));
    return overhead_per_byte.node == NULL
               ? GW_OK
               : gw_json_seconds(&overhead_per_byte, &out->overhead_s_per_byte, error);
}

static enum gw_status read_links(const struct gw_json *place, const struct gw_cluster *cluster,
                                 struct gw_network *out, struct gw_error *error) {
    struct gw_json within = gw_json_member(place, "within");
    struct gw_json between = gw_json_member(place, "between");
    bool one_node = cluster->workers <= cluster->workers_per_node;
    bool needs_within = cluster->workers_per_node > 1 || between.node == NULL;
    if (needs_within || within.node != NULL) {
        GW_TRY(read_loggp(&within, &out->within, error));
    }
    if (!one_node || between.node != NULL) {
        GW_TRY(read_loggp(&between, &out->between, error));
    }
    if (within.node == NULL) {
        out->within = out->between;
    }
    if (between.node == NULL) {
        out->between = out->within;
        out->between_assumed = true;
    }
    return GW_OK;
}

static enum gw_status read_topology(const struct gw_json *place, struct gw_network *out,
                                    struct gw_error *error) {
    struct gw_json nodes = gw_json_member(place, "nodes_per_switch");
    struct gw_json oversubscription = gw_json_member(place, "oversubscription");
    uint64_t nodes_per_switch = 0;
    if (nodes.node != NULL) {
        GW_TRY(gw_json_integer(&nodes, 0, &nodes_per_switch, error));
    }
    out->nodes_per_switch = (size_t)nodes_per_switch;
    if (oversubscription.node == NULL) {
        return GW_OK;
    }
    if (gw_json_positive(&oversubscription, &out->oversubscription, NULL) != GW_OK ||
        out->oversubscription < 1) {
        return gw_json_expected(&oversubscription, "a finite number >= 1", error);
    }
    return gw_json_factor(&oversubscription, &out->oversubscription, error);
}

static enum gw_status read_network(const struct gw_json *place, const struct gw_cluster *cluster,
                                   struct gw_network *out, struct gw_error *error) {
    GW_TRY(gw_json_object(place, error));
    GW_TRY(read_links(place, cluster, out, error));
    return read_topology(place, out, error);
}

enum gw_status gw_network_read(const struct gw_json *place, void *out, struct gw_error *error) {
    struct gw_cluster *cluster = out;
    struct gw_network network = {.oversubscription = 1};
    if (cluster->workers == 0 || cluster->workers_per_node == 0) {
        return GW_OK;
    }
    GW_TRY(read_network(place, cluster, &network, error));
    GW_TRY(gw_json_copy(place->node, &network.kept, error));
    return gw_cluster_set_network(cluster, network, error);
}

/* ---- building ------------------------------------------------------------------------------ */

enum gw_status gw_cluster_set_network(struct gw_cluster *cluster, struct gw_network network,
                                      struct gw_error *error) {
    struct gw_network *copy = malloc(sizeof *copy);
    if (copy == NULL) {
        cJSON_Delete(network.kept);
        return gw_fail_memory(error, "adding a network to a cluster");
    }
    *copy = network;
    gw_network_free(cluster->network);
    cluster->network = copy;
    return GW_OK;
}

void gw_network_free(struct gw_network *network) {
    if (network != NULL) {
        cJSON_Delete(network->kept);
        free(network);
    }
}

/* ---- writing ------------------------------------------------------------------------------- */

static bool are_equal(const struct gw_loggp *a, const struct gw_loggp *b) {
    return a->latency_s == b->latency_s && a->overhead_s == b->overhead_s && a->gap_s == b->gap_s &&
           a->gap_s_per_byte == b->gap_s_per_byte &&
           a->overhead_s_per_byte == b->overhead_s_per_byte;
}

/* Into the object that `key` has already, with what gradweave ignores there, or a new one. */
static void write_loggp(struct gw_json_writer *writer, const char *key,
                        const struct gw_loggp *loggp) {
    gw_writer_reopen_object(writer, key, 0);
    gw_writer_number(writer, "latency_s", loggp->latency_s);
    gw_writer_number(writer, "overhead_s", loggp->overhead_s);
    gw_writer_number(writer, "gap_s", loggp->gap_s);
    gw_writer_number(writer, "gap_s_per_byte", loggp->gap_s_per_byte);
    gw_writer_number(writer, "overhead_s_per_byte", loggp->overhead_s_per_byte);
    gw_writer_end(writer);
}

static bool has(const cJSON *object, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(object, key) != NULL;
}

/* What was absent and may be so stays absent: nobody measured it. */
void gw_network_write(const struct gw_cluster *cluster, struct gw_json_writer *writer) {
    const struct gw_network *network = cluster->network;
    if (network == NULL) {
        return;
    }
    bool one_node = cluster->workers <= cluster->workers_per_node;
    bool equal = are_equal(&network->within, &network->between);
    bool puts_between = has(network->kept, "between") || !one_node || !equal;
    gw_writer_open(writer, "network",
                   network->kept != NULL ? cJSON_Duplicate(network->kept, 1)
                                         : cJSON_CreateObject());
    if (has(network->kept, "within") || cluster->workers_per_node > 1 || !puts_between || !equal) {
        write_loggp(writer, "within", &network->within);
    }
    if (puts_between) {
        write_loggp(writer, "between", &network->between);
    }
    gw_writer_number(writer, "nodes_per_switch", (double)network->nodes_per_switch);
    gw_writer_number(writer, "oversubscription", network->oversubscription);
    gw_writer_end(writer);
}

/* ---- networks that were not measured --------------------------------------------------------- */

/* Of the collective, the entry for the most workers; two at least. NULL: none. */
static const struct gw_collective_cost *find_largest(const struct gw_cluster *cluster,
                                                     const char *name) {
    const struct gw_collective_cost *largest = NULL;
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const struct gw_collective_cost *cost = &cluster->collectives[i];
        if (strcmp(cost->name, name) == 0 && cost->workers >= 2 &&
            (largest == NULL || cost->workers > largest->workers)) {
            largest = cost;
        }
    }
    return largest;
}

/* What a byte takes above the startup: of points, up to the largest size. */
static double slope_of(const struct gw_curve *curve) {
    if (curve->point_count == 0) {
        return curve->per_unit_s;
    }
    const struct gw_curve_point *last = &curve->points[curve->point_count - 1];
    double above_s = last->time_s - gw_curve_startup(curve);
    return above_s > 0 ? above_s / last->size : 0;
}

/* Steps of a collective's ring, and whether each moves a share of the bytes. */
static const struct ring {
    const char *collective;
    double rounds; /* of P - 1 steps; 0: a single message */
    bool shares;
} rings[] = {{"sendrecv", 0, false}, {"allreduce", 2, true}, {"allgather", 1, false}};
enum { RINGS = sizeof rings / sizeof *rings };

static void derive(const struct ring *ring, const struct gw_collective_cost *cost,
                   struct gw_network *out, char derivation[GW_DERIVATION_SIZE]) {
    double workers = (double)cost->workers;
    double steps = ring->rounds == 0 ? 1 : ring->rounds * (workers - 1);
    double share = ring->shares ? 1 / workers : 1;
    struct gw_loggp loggp = {.latency_s = gw_curve_startup(&cost->curve) / steps,
                             .gap_s_per_byte = slope_of(&cost->curve) / (steps * share)};
    *out = (struct gw_network){.within = loggp, .between = loggp, .oversubscription = 1};
    (void)snprintf(derivation, GW_DERIVATION_SIZE,
                   "network not measured: derived from %s among %zu workers%s", ring->collective,
                   cost->workers, ring->rounds == 0 ? "" : " as a ring of messages");
}

enum gw_status gw_cluster_derive_network(const struct gw_cluster *cluster, const char *preferred,
                                         struct gw_network *out,
                                         char derivation[GW_DERIVATION_SIZE],
                                         struct gw_error *error) {
    for (size_t i = 0; i < 2 * RINGS; i++) {
        const struct ring *ring = &rings[i % RINGS];
        bool wanted = i >= RINGS || (preferred != NULL && strcmp(ring->collective, preferred) == 0);
        const struct gw_collective_cost *cost =
            wanted ? find_largest(cluster, ring->collective) : NULL;
        if (cost != NULL) {
            derive(ring, cost, out, derivation);
            return GW_OK;
        }
    }
    return gw_fail(error, GW_BAD_INPUT,
                   "%s: network: expected measured LogGP parameters, or a sendrecv, allreduce or "
                   "allgather to derive them from, found none",
                   cluster->path == NULL ? cluster->name : cluster->path);
}
