#include "traces/cluster.h"

#include <stdlib.h>
#include <string.h>

#include "traces/curve_json.h"
#include "traces/network_json.h"
#include "traces/overlap_json.h"

static const char *const schema = "gradweave/cluster@1";

/* ---- reading ------------------------------------------------------------------------------- */

static enum gw_status read_collective(const struct gw_json *place, const char *name,
                                      struct gw_cluster *cluster, struct gw_error *error) {
    GW_TRY(gw_json_object(place, error));
    struct gw_json at = gw_json_member(place, "workers");
    uint64_t workers = 0;
    GW_TRY(gw_json_integer(&at, 1, &workers, error));
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const struct gw_collective_cost *other = &cluster->collectives[i];
        if (other->workers == workers && strcmp(other->name, name) == 0) {
            return gw_json_expected(&at, "one entry for each number of workers", error);
        }
    }
    struct gw_curve curve = {0};
    GW_TRY(gw_curve_read(place, GW_COLLECTIVE_CURVE, &curve, error));
    return gw_cluster_add_collective(cluster, name, (size_t)workers, curve,
                                     cJSON_Duplicate(place->node, 1), error);
}

static enum gw_status read_collectives(const struct gw_json *root, struct gw_cluster *cluster,
                                       struct gw_error *error) {
    struct gw_json collectives = gw_json_member(root, "collectives");
    GW_TRY(gw_json_object(&collectives, error));
    const cJSON *list = NULL;
    cJSON_ArrayForEach(list, collectives.node) {
        struct gw_json entries = gw_json_member(&collectives, list->string);
        GW_TRY(gw_json_array(&entries, error));
        size_t index = 0;
        const cJSON *node = NULL;
        cJSON_ArrayForEach(node, entries.node) {
            struct gw_json place = gw_json_item(&entries, node, index++);
            GW_TRY(read_collective(&place, list->string, cluster, error));
        }
    }
    return GW_OK;
}

static enum gw_status read_compressors(const struct gw_json *root, struct gw_cluster *cluster,
                                       struct gw_error *error) {
    struct gw_json compressors = gw_json_member(root, "compressors");
    GW_TRY(gw_json_object(&compressors, error));
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, compressors.node) {
        struct gw_json place = gw_json_member(&compressors, node->string);
        GW_TRY(gw_json_object(&place, error));
        struct gw_curve curve = {0};
        GW_TRY(gw_curve_read(&place, GW_COMPRESSOR_CURVE, &curve, error));
        GW_TRY(gw_cluster_add_compressor(cluster, node->string, curve, cJSON_Duplicate(node, 1),
                                         error));
    }
    return GW_OK;
}

static enum gw_status read_document(struct gw_cluster *cluster, const char *path,
                                    struct gw_error *error) {
    struct gw_json root;
    GW_TRY(gw_json_root(cluster->kept, path, schema, &root, error));
    struct gw_json name_place = gw_json_member(&root, "name");
    struct gw_json workers_place = gw_json_member(&root, "workers");
    struct gw_json per_node_place = gw_json_member(&root, "workers_per_node");
    const char *name = NULL;
    uint64_t workers = 0;
    uint64_t per_node = 1;
    GW_TRY(gw_json_text(&name_place, &name, error));
    GW_TRY(gw_json_integer(&workers_place, 1, &workers, error));
    if (per_node_place.node != NULL) {
        GW_TRY(gw_json_integer(&per_node_place, 1, &per_node, error));
    }
    cluster->name = strdup(name);
    cluster->path = strdup(path);
    if (cluster->name == NULL || cluster->path == NULL) {
        return gw_fail_memory(error, "reading a cluster");
    }
    cluster->workers = (size_t)workers;
    cluster->workers_per_node = (size_t)per_node;
    GW_TRY(read_collectives(&root, cluster, error));
    GW_TRY(read_compressors(&root, cluster, error));
    GW_TRY(gw_network_read(&root, cluster, error));
    return gw_overlap_read(&root, cluster, error);
}

enum gw_status gw_cluster_parse(const char *text, size_t length, const char *path,
                                struct gw_cluster *out, struct gw_error *error) {
    *out = (struct gw_cluster){0};
    GW_TRY(gw_json_parse(text, length, path, &out->kept, error));
    enum gw_status status = read_document(out, path, error);
    if (status != GW_OK) {
        gw_cluster_free(out);
    }
    return status;
}

enum gw_status gw_cluster_read(const char *path, struct gw_cluster *out, struct gw_error *error) {
    char *text = NULL;
    size_t length = 0;
    *out = (struct gw_cluster){0};
    GW_TRY(gw_file_read(path, &text, &length, error));
    enum gw_status status = gw_cluster_parse(text, length, path, out, error);
    free(text);
    return status;
}

/* ---- building ------------------------------------------------------------------------------ */

enum gw_status gw_cluster_create(struct gw_cluster *out, const char *name, size_t workers,
                                 size_t workers_per_node, struct gw_error *error) {
    *out = (struct gw_cluster){.name = strdup(name),
                               .workers = workers,
                               .workers_per_node = workers_per_node,
                               .kept = cJSON_CreateObject()};
    if (out->name == NULL || out->kept == NULL) {
        gw_cluster_free(out);
        return gw_fail_memory(error, "making a cluster");
    }
    return GW_OK;
}

enum gw_status gw_cluster_add_collective(struct gw_cluster *cluster, const char *name,
                                         size_t workers, struct gw_curve curve, cJSON *details,
                                         struct gw_error *error) {
    struct gw_collective_cost *larger = realloc(
        cluster->collectives, (cluster->collective_count + 1) * sizeof *cluster->collectives);
    char *copy = strdup(name);
    if (larger != NULL) {
        cluster->collectives = larger;
    }
    if (larger == NULL || copy == NULL) {
        free(copy);
        gw_curve_free(&curve);
        cJSON_Delete(details);
        return gw_fail_memory(error, "adding a collective to a cluster");
    }
    larger[cluster->collective_count++] = (struct gw_collective_cost){
        .name = copy, .workers = workers, .curve = curve, .kept = details};
    return GW_OK;
}

enum gw_status gw_cluster_add_compressor(struct gw_cluster *cluster, const char *name,
                                         struct gw_curve curve, cJSON *details,
                                         struct gw_error *error) {
    struct gw_compressor_cost *larger = realloc(
        cluster->compressors, (cluster->compressor_count + 1) * sizeof *cluster->compressors);
    char *copy = strdup(name);
    if (larger != NULL) {
        cluster->compressors = larger;
    }
    if (larger == NULL || copy == NULL) {
        free(copy);
        gw_curve_free(&curve);
        cJSON_Delete(details);
        return gw_fail_memory(error, "adding a compressor to a cluster");
    }
    larger[cluster->compressor_count++] =
        (struct gw_compressor_cost){.name = copy, .curve = curve, .kept = details};
    return GW_OK;
}

void gw_cluster_free(struct gw_cluster *cluster) {
    for (size_t i = 0; i < cluster->collective_count; i++) {
        free(cluster->collectives[i].name);
        gw_curve_free(&cluster->collectives[i].curve);
        cJSON_Delete(cluster->collectives[i].kept);
    }
    for (size_t i = 0; i < cluster->compressor_count; i++) {
        free(cluster->compressors[i].name);
        gw_curve_free(&cluster->compressors[i].curve);
        cJSON_Delete(cluster->compressors[i].kept);
    }
    free(cluster->collectives);
    free(cluster->compressors);
    gw_network_free(cluster->network);
    gw_overlap_free(cluster->overlap);
    free(cluster->name);
    free(cluster->path);
    cJSON_Delete(cluster->kept);
    *cluster = (struct gw_cluster){0};
}

/* ---- writing ------------------------------------------------------------------------------- */

/* An object for an entry: the one it was read from or measured with, or an empty one. */
static cJSON *entry_object(const cJSON *kept) {
    return kept != NULL ? cJSON_Duplicate(kept, 1) : cJSON_CreateObject();
}

static enum gw_status put_collectives(const struct gw_cluster *cluster, cJSON *document,
                                      struct gw_error *error) {
    cJSON *collectives = cJSON_CreateObject();
    GW_TRY(gw_json_put(document, "collectives", collectives, error));
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const struct gw_collective_cost *cost = &cluster->collectives[i];
        cJSON *list = cJSON_GetObjectItemCaseSensitive(collectives, cost->name);
        if (list == NULL) {
            list = cJSON_CreateArray();
            GW_TRY(gw_json_put(collectives, cost->name, list, error));
        }
        cJSON *entry = entry_object(cost->kept);
        GW_TRY(gw_json_append(list, entry, error));
        GW_TRY(gw_json_put_number(entry, "workers", (double)cost->workers, error));
        GW_TRY(gw_curve_put(&cost->curve, GW_COLLECTIVE_CURVE, entry, error));
    }
    return GW_OK;
}

static enum gw_status put_document(const struct gw_cluster *cluster, cJSON *document,
                                   struct gw_error *error) {
    GW_TRY(gw_json_put_text(document, "schema", schema, error));
    GW_TRY(gw_json_put_text(document, "name", cluster->name, error));
    GW_TRY(gw_json_put_number(document, "workers", (double)cluster->workers, error));
    GW_TRY(
        gw_json_put_number(document, "workers_per_node", (double)cluster->workers_per_node, error));
    GW_TRY(put_collectives(cluster, document, error));
    cJSON *compressors = cJSON_CreateObject();
    GW_TRY(gw_json_put(document, "compressors", compressors, error));
    for (size_t i = 0; i < cluster->compressor_count; i++) {
        const struct gw_compressor_cost *cost = &cluster->compressors[i];
        cJSON *entry = entry_object(cost->kept);
        GW_TRY(gw_json_put(compressors, cost->name, entry, error));
        GW_TRY(gw_curve_put(&cost->curve, GW_COMPRESSOR_CURVE, entry, error));
    }
    GW_TRY(gw_network_put(cluster, document, error));
    return gw_overlap_put(cluster, document, error);
}

enum gw_status gw_cluster_document(const struct gw_cluster *cluster, cJSON **out,
                                   struct gw_error *error) {
    *out = entry_object(cluster->kept);
    if (*out == NULL) {
        return gw_fail_memory(error, "writing a cluster");
    }
    enum gw_status status = put_document(cluster, *out, error);
    if (status != GW_OK) {
        cJSON_Delete(*out);
        *out = NULL;
    }
    return status;
}

enum gw_status gw_cluster_write(const struct gw_cluster *cluster, const char *path,
                                struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(gw_cluster_document(cluster, &document, error));
    enum gw_status status = gw_json_write(document, path, error);
    cJSON_Delete(document);
    return status;
}
