#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/parts.h"

/* ---- reading ------------------------------------------------------------------------------- */

static enum gw_status read_oversubscription(const struct gw_json *place, void *out,
                                            struct gw_error *error) {
    double *factor = &((struct gw_network *)out)->oversubscription;
    return gw_json_positive(place, factor, NULL) != GW_OK || *factor < 1
               ? gw_json_expected(place, "a finite number >= 1", error)
               : gw_json_factor(place, factor, error);
}

static const struct gw_field loggp_rows[] = {
    {"latency_s", GW_AS_SECONDS, .at = offsetof(struct gw_loggp, latency_s),
     .text = "from leaving the link to arriving"},
    {"overhead_s", GW_AS_SECONDS, .at = offsetof(struct gw_loggp, overhead_s),
     .text = "of the sender, and of the receiver"},
    {"gap_s", GW_AS_SECONDS, .at = offsetof(struct gw_loggp, gap_s),
     .text = "the least time of a message on the link"},
    {"gap_s_per_byte", GW_AS_SECONDS, .at = offsetof(struct gw_loggp, gap_s_per_byte),
     .text = "of a longer one on the link"},
    {"overhead_s_per_byte", GW_AS_SECONDS, .at = offsetof(struct gw_loggp, overhead_s_per_byte),
     .optional = true, .text = "of the sender"},
    {0}};

static const struct gw_fields loggp_fields = {sizeof(struct gw_loggp), .rows = loggp_rows,
                                              .unread = GW_KEYS("raw", "fit", "ranks", "source")};

static const struct gw_field rows[] = {
    {"within", GW_AS_OBJECT, .at = offsetof(struct gw_network, within), .optional = true,
     .of = &loggp_fields, .text = "a node: LogGP; absent where each has one worker: as `between`"},
    {"between", GW_AS_OBJECT, .at = offsetof(struct gw_network, between), .optional = true,
     .of = &loggp_fields, .text = "nodes; absent where there is one: as `within`"},
    {"nodes_per_switch", GW_AS_INTEGER, .at = offsetof(struct gw_network, nodes_per_switch),
     .optional = true, .text = "0: all nodes on one switch"},
    {"oversubscription", GW_AS_BY_HAND, .optional = true, .read = read_oversubscription,
     .text = "of a switch's uplink, at least 1"},
    {"", GW_AS_KEPT, .at = offsetof(struct gw_network, kept)},
    {0}};

const struct gw_fields gw_network_fields = {sizeof(struct gw_network), .rows = rows,
                                            .unread = GW_KEYS("source")};

enum gw_status gw_network_read(const struct gw_json *place, void *out, struct gw_error *error) {
    struct gw_cluster *cluster = out;
    struct gw_network network = {.oversubscription = 1};
    struct gw_json within = gw_json_member(place, "within");
    struct gw_json between = gw_json_member(place, "between");
    if (cluster->workers == 0 || cluster->workers_per_node == 0) {
        return GW_OK;
    }
    GW_TRY(gw_json_object(place, error));
    if (within.node == NULL && (cluster->workers_per_node > 1 || between.node == NULL)) {
        return gw_json_object(&within, error);
    }
    if (between.node == NULL && cluster->workers > cluster->workers_per_node) {
        return gw_json_object(&between, error);
    }
    enum gw_status status = gw_fields_read(&gw_network_fields, place, &network, error);
    if (status != GW_OK) {
        gw_fields_free(&gw_network_fields, &network);
        return status;
    }
    network.between_assumed = between.node == NULL;
    network.within = within.node == NULL ? network.between : network.within;
    network.between = between.node == NULL ? network.within : network.between;
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

/* Writes into the object `key` and keeps its unknown members; adds the object if missing. */
static void write_loggp(struct gw_json_writer *writer, const char *key,
                        const struct gw_loggp *loggp) {
    gw_writer_reopen_object(writer, key, 0);
    gw_fields_write(&loggp_fields, loggp, writer);
    gw_writer_end(writer);
}

static bool has_member(const cJSON *object, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(object, key) != NULL;
}

/* Writes the network; links that were absent, and may be, stay absent. */
void gw_network_write(const struct gw_cluster *cluster, struct gw_json_writer *writer) {
    const struct gw_network *network = cluster->network;
    if (network == NULL) {
        return;
    }
    bool one_node = cluster->workers <= cluster->workers_per_node;
    bool equal = memcmp(&network->within, &network->between, sizeof network->within) == 0;
    bool puts_between = has_member(network->kept, "between") || !one_node || !equal;
    gw_writer_open(writer, "network", gw_entry_object(network->kept));
    if (has_member(network->kept, "within") || cluster->workers_per_node > 1 || !puts_between ||
        !equal) {
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

/* Finds the entry of the collective with the most workers, two at least; NULL: none. */
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

/* Steps of a collective's ring, and whether each moves a share of the bytes. */
static const struct ring {
    const char *collective;
    double rounds; /* of P - 1 steps; 0: a single message */
    bool shares;
} rings[] = {{"sendrecv", 0, false}, {"allreduce", 2, true}, {"allgather", 1, false}};
enum { RINGS = sizeof rings / sizeof *rings };

static void derive_loggp(const struct ring *ring, const struct gw_collective_cost *cost,
                         struct gw_network *out, char derivation[GW_DERIVATION_SIZE]) {
    double workers = (double)cost->workers;
    double steps = ring->rounds == 0 ? 1 : ring->rounds * (workers - 1);
    double share = ring->shares ? 1 / workers : 1;
    const struct gw_curve *curve = &cost->curve;
    double slope = curve->per_unit_s; /* above the startup, up to the largest point */
    if (curve->point_count > 0) {
        const struct gw_curve_point *last = &curve->points[curve->point_count - 1];
        slope = fmax(0, last->time_s - gw_curve_startup(curve)) / last->size;
    }
    struct gw_loggp loggp = {.latency_s = gw_curve_startup(curve) / steps,
                             .gap_s_per_byte = slope / (steps * share)};
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
            derive_loggp(ring, cost, out, derivation);
            return GW_OK;
        }
    }
    return gw_fail(error, GW_BAD_INPUT,
                   "%s: network: expected measured LogGP parameters, or a sendrecv, allreduce or "
                   "allgather to derive them from, found none",
                   cluster->path == NULL ? cluster->name : cluster->path);
}
