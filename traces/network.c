#include "traces/network.h"

#include <stdlib.h>

#include "traces/network_json.h"

/* ---- reading ------------------------------------------------------------------------------- */

static enum gw_status read_loggp(const struct gw_json *place, struct gw_loggp *out,
                                 struct gw_error *error) {
    GW_TRY(gw_json_object(place, error));
    struct gw_json latency = gw_json_member(place, "latency_s");
    struct gw_json overhead = gw_json_member(place, "overhead_s");
    struct gw_json gap = gw_json_member(place, "gap_s");
    struct gw_json gap_per_byte = gw_json_member(place, "gap_s_per_byte");
    struct gw_json overhead_per_byte = gw_json_member(place, "overhead_s_per_byte");
    GW_TRY(gw_json_not_negative(&latency, &out->latency_s, error));
    GW_TRY(gw_json_not_negative(&overhead, &out->overhead_s, error));
    GW_TRY(gw_json_not_negative(&gap, &out->gap_s, error));
    GW_TRY(gw_json_not_negative(&gap_per_byte, &out->gap_s_per_byte, error));
    return overhead_per_byte.node == NULL
               ? GW_OK
               : gw_json_not_negative(&overhead_per_byte, &out->overhead_s_per_byte, error);
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
    if (oversubscription.node != NULL &&
        (gw_json_positive(&oversubscription, &out->oversubscription, NULL) != GW_OK ||
         out->oversubscription < 1)) {
        return gw_json_expected(&oversubscription, "a finite number >= 1", error);
    }
    return GW_OK;
}

static enum gw_status read_network(const struct gw_json *place, const struct gw_cluster *cluster,
                                   struct gw_network *out, struct gw_error *error) {
    GW_TRY(gw_json_object(place, error));
    GW_TRY(read_links(place, cluster, out, error));
    return read_topology(place, out, error);
}

enum gw_status gw_network_read(const struct gw_json *root, struct gw_cluster *cluster,
                               struct gw_error *error) {
    struct gw_json place = gw_json_member(root, "network");
    struct gw_network network = {.oversubscription = 1};
    if (place.node == NULL) {
        return GW_OK;
    }
    GW_TRY(read_network(&place, cluster, &network, error));
    network.kept = cJSON_Duplicate(place.node, 1);
    if (network.kept == NULL) {
        return gw_fail_memory(error, "reading a network");
    }
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
static enum gw_status put_loggp(const struct gw_loggp *loggp, const char *key, cJSON *network,
                                struct gw_error *error) {
    cJSON *object = cJSON_GetObjectItemCaseSensitive(network, key);
    if (object == NULL) {
        object = cJSON_CreateObject();
        GW_TRY(gw_json_put(network, key, object, error));
    }
    GW_TRY(gw_json_put_number(object, "latency_s", loggp->latency_s, error));
    GW_TRY(gw_json_put_number(object, "overhead_s", loggp->overhead_s, error));
    GW_TRY(gw_json_put_number(object, "gap_s", loggp->gap_s, error));
    GW_TRY(gw_json_put_number(object, "gap_s_per_byte", loggp->gap_s_per_byte, error));
    return gw_json_put_number(object, "overhead_s_per_byte", loggp->overhead_s_per_byte, error);
}

static bool has(const cJSON *object, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(object, key) != NULL;
}

/* What was absent and may be so stays absent: nobody measured it. */
enum gw_status gw_network_put(const struct gw_cluster *cluster, cJSON *document,
                              struct gw_error *error) {
    const struct gw_network *network = cluster->network;
    if (network == NULL) {
        return GW_OK;
    }
    cJSON *object =
        network->kept != NULL ? cJSON_Duplicate(network->kept, 1) : cJSON_CreateObject();
    GW_TRY(gw_json_put(document, "network", object, error));
    bool one_node = cluster->workers <= cluster->workers_per_node;
    bool equal = are_equal(&network->within, &network->between);
    bool puts_between = has(object, "between") || !one_node || !equal;
    if (has(object, "within") || cluster->workers_per_node > 1 || !puts_between || !equal) {
        GW_TRY(put_loggp(&network->within, "within", object, error));
    }
    if (puts_between) {
        GW_TRY(put_loggp(&network->between, "between", object, error));
    }
    GW_TRY(
        gw_json_put_number(object, "nodes_per_switch", (double)network->nodes_per_switch, error));
    return gw_json_put_number(object, "oversubscription", network->oversubscription, error);
}
