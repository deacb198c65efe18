/* What a new calibration has in common with an older one of the same cluster. */
#include <stdlib.h>
#include <string.h>

#include "calibrate/calibrate.h"
#include "calibrate/hosts/host_list.h"

/* ---- the same hosts ------------------------------------------------------------------------ */

/* A host's name as provenance has it: alone, or with what is known of the host. */
static const char *name_of(const cJSON *host) {
    const char *name = cJSON_IsObject(host)
                           ? cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(host, "name"))
                           : cJSON_GetStringValue(host);
    return name == NULL ? "" : name;
}

static enum gw_status compare_hosts(const struct gw_cluster *cluster,
                                    const struct gw_host_list *list, size_t size,
                                    struct gw_error *error) {
    const cJSON *source = cJSON_GetObjectItemCaseSensitive(cluster->kept, "source");
    const cJSON *listed = cJSON_GetObjectItemCaseSensitive(source, "hosts");
    if (!cJSON_IsArray(listed)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: source.hosts: expected a list, as calibrate writes it, got none",
                       cluster->path);
    }
    if (cluster->workers != size) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: workers: expected %zu, the size of the MPI job, got %zu", cluster->path,
                       size, cluster->workers);
    }
    const cJSON *next = listed->child;
    for (size_t h = 0; h < list->count; h++) {
        if (next == NULL || strncmp(name_of(next), list->names[h], GW_HOST_SIZE - 1) != 0) {
            return gw_fail(error, GW_BAD_INPUT,
                           "%s: source.hosts: expected this job's hosts, with \"%s\" for rank %d, "
                           "got \"%s\"",
                           cluster->path, list->names[h], list->first_rank[h],
                           next == NULL ? "" : name_of(next));
        }
        next = next->next;
    }
    return next == NULL ? GW_OK
                        : gw_fail(error, GW_BAD_INPUT,
                                  "%s: source.hosts: expected this job's hosts, got \"%s\" as well",
                                  cluster->path, name_of(next));
}

enum gw_status gw_calibration_require_same_hosts(struct gw_communicator *communicator,
                                                 const struct gw_cluster *cluster,
                                                 struct gw_error *error) {
    struct gw_host_list list;
    GW_TRY(gw_host_list_open(communicator, &list, error));
    enum gw_status status = GW_OK;
    if (communicator->rank == 0) {
        status = compare_hosts(cluster, &list, (size_t)communicator->size, error);
    }
    gw_host_list_close(&list);
    return gw_agree(communicator, status, error);
}

/* ---- what only the older one has ----------------------------------------------------------- */

static enum gw_status add_curves(struct gw_cluster *cluster, const struct gw_cluster *older,
                                 struct gw_error *error) {
    struct gw_curve curve;
    for (size_t i = 0; i < older->collective_count; i++) {
        const struct gw_collective_cost *cost = &older->collectives[i];
        if (gw_cluster_find_collective(cluster, cost->name, cost->workers) == NULL) {
            GW_TRY(gw_curve_copy(&cost->curve, &curve, error));
            GW_TRY(gw_cluster_add_collective(cluster, cost->name, cost->workers, curve,
                                             cJSON_Duplicate(cost->kept, 1), error));
        }
    }
    for (size_t i = 0; i < older->compressor_count; i++) {
        const struct gw_compressor_cost *cost = &older->compressors[i];
        if (gw_cluster_find_compressor(cluster, cost->name) == NULL) {
            GW_TRY(gw_curve_copy(&cost->curve, &curve, error));
            GW_TRY(gw_cluster_add_compressor(cluster, cost->name, curve,
                                             cJSON_Duplicate(cost->kept, 1), error));
        }
    }
    return GW_OK;
}

static enum gw_status add_network(struct gw_cluster *cluster, const struct gw_cluster *older,
                                  struct gw_error *error) {
    if (cluster->network != NULL || older->network == NULL) {
        return GW_OK;
    }
    struct gw_network network = *older->network;
    network.kept = cJSON_Duplicate(older->network->kept, 1);
    return network.kept == NULL ? gw_fail_memory(error, "adding to a cluster")
                                : gw_cluster_set_network(cluster, network, error);
}

/*
 * Keys of the document besides what is added above; growth laws follow from all curves together and
 * are found anew. Where the older curves come from is told by "earlier" in the source.
 */
static enum gw_status add_keys(struct gw_cluster *cluster, const struct gw_cluster *older,
                               struct gw_error *error) {
    static const char *const ours[] = {"schema",      "name",        "workers", "workers_per_node",
                                       "collectives", "compressors", "network", "growth"};
    cJSON *source = cJSON_GetObjectItemCaseSensitive(cluster->kept, "source");
    const cJSON *member = NULL;
    cJSON_ArrayForEach(member, older->kept) {
        bool is_ours = cJSON_GetObjectItemCaseSensitive(cluster->kept, member->string) != NULL;
        for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
            is_ours = is_ours || strcmp(member->string, ours[i]) == 0;
        }
        if (!is_ours) {
            GW_TRY(gw_json_put(cluster->kept, member->string, cJSON_Duplicate(member, 1), error));
        }
    }
    const cJSON *earlier = cJSON_GetObjectItemCaseSensitive(older->kept, "source");
    return source == NULL || earlier == NULL
               ? GW_OK
               : gw_json_put(source, "earlier", cJSON_Duplicate(earlier, 1), error);
}

enum gw_status gw_calibration_add_older(struct gw_cluster *cluster, const struct gw_cluster *older,
                                        struct gw_error *error) {
    GW_TRY(add_curves(cluster, older, error));
    GW_TRY(add_network(cluster, older, error));
    GW_TRY(add_keys(cluster, older, error));
    return gw_cluster_put_growth(cluster, error);
}
