#include "traces/cluster.h"

#include <stdlib.h>
#include <string.h>

#include "traces/parts.h"

static const char *const schema = "gradweave/cluster@1";

/* ---- cost curves ----------------------------------------------------------------------------- */

/* Which names the coefficients have. */
enum curve_names {
    COLLECTIVE_CURVE, /* alpha_s, beta_s_per_byte; both needed unless there are points */
    COMPRESSOR_CURVE, /* fixed_s, per_element_s, per_nlog2n_s; those that are absent are 0 */
};

static enum gw_status read_point(const struct gw_json *place, double previous_size,
                                 struct gw_curve_point *out, struct gw_error *error) {
    if (!cJSON_IsArray(place->node) || cJSON_GetArraySize(place->node) != 2) {
        return gw_json_expected(place, "a pair [size, seconds]", error);
    }
    struct gw_json size = gw_json_item(place, cJSON_GetArrayItem(place->node, 0), 0);
    struct gw_json time = gw_json_item(place, cJSON_GetArrayItem(place->node, 1), 1);
    GW_TRY(gw_json_positive(&size, &out->size, error));
    if (!(out->size > previous_size)) {
        return gw_json_expected(&size, "sizes in ascending order", error);
    }
    return gw_json_not_negative(&time, &out->time_s, error);
}

static enum gw_status read_points(const struct gw_json *place, struct gw_curve *out,
                                  struct gw_error *error) {
    GW_TRY(gw_json_array(place, error));
    size_t count = (size_t)cJSON_GetArraySize(place->node);
    if (count < 2) {
        return gw_json_expected(place, "at least two points", error);
    }
    struct gw_curve_point *points = calloc(count, sizeof *points);
    if (points == NULL) {
        return gw_fail_memory(error, "reading a cost curve");
    }
    double previous_size = 0;
    size_t index = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, place->node) {
        struct gw_json at = gw_json_item(place, node, index);
        enum gw_status status = read_point(&at, previous_size, &points[index], error);
        if (status != GW_OK) {
            free(points);
            return status;
        }
        previous_size = points[index++].size;
    }
    *out = (struct gw_curve){.point_count = count, .points = points};
    return GW_OK;
}

static enum gw_status read_optional(const struct gw_json *object, const char *key, double *out,
                                    struct gw_error *error) {
    struct gw_json place = gw_json_member(object, key);
    return place.node == NULL ? GW_OK : gw_json_not_negative(&place, out, error);
}

static enum gw_status read_curve(const struct gw_json *place, enum curve_names names,
                                 struct gw_curve *out, struct gw_error *error) {
    *out = (struct gw_curve){0};
    struct gw_json points = gw_json_member(place, "points");
    if (points.node != NULL) {
        return read_points(&points, out, error);
    }
    if (names == COMPRESSOR_CURVE) {
        GW_TRY(read_optional(place, "fixed_s", &out->fixed_s, error));
        GW_TRY(read_optional(place, "per_element_s", &out->per_unit_s, error));
        return read_optional(place, "per_nlog2n_s", &out->per_nlog2n_s, error);
    }
    struct gw_json alpha = gw_json_member(place, "alpha_s");
    struct gw_json beta = gw_json_member(place, "beta_s_per_byte");
    GW_TRY(gw_json_not_negative(&alpha, &out->fixed_s, error));
    return gw_json_not_negative(&beta, &out->per_unit_s, error);
}

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
    GW_TRY(read_curve(place, COLLECTIVE_CURVE, &curve, error));
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
        GW_TRY(read_curve(&place, COMPRESSOR_CURVE, &curve, error));
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

/* Replaces whatever curve the open object holds. */
static void write_curve(struct gw_json_writer *writer, const struct gw_curve *curve,
                        enum curve_names names) {
    static const char *const keys[] = {"points",  "alpha_s",       "beta_s_per_byte",
                                       "fixed_s", "per_element_s", "per_nlog2n_s"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        gw_writer_drop(writer, keys[i]);
    }
    if (curve->point_count > 0) {
        gw_writer_array(writer, "points");
        for (size_t i = 0; i < curve->point_count; i++) {
            double pair[2] = {curve->points[i].size, curve->points[i].time_s};
            gw_writer_numbers(writer, NULL, pair, 2);
        }
        gw_writer_end(writer);
        return;
    }
    if (names == COLLECTIVE_CURVE) {
        gw_writer_number(writer, "alpha_s", curve->fixed_s);
        gw_writer_number(writer, "beta_s_per_byte", curve->per_unit_s);
        return;
    }
    gw_writer_number(writer, "fixed_s", curve->fixed_s);
    if (curve->per_unit_s > 0) {
        gw_writer_number(writer, "per_element_s", curve->per_unit_s);
    }
    if (curve->per_nlog2n_s > 0) {
        gw_writer_number(writer, "per_nlog2n_s", curve->per_nlog2n_s);
    }
}

enum gw_status gw_cluster_document(const struct gw_cluster *cluster, cJSON **out,
                                   struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin_with(&writer, entry_object(cluster->kept));
    gw_writer_text(&writer, "schema", schema);
    gw_writer_text(&writer, "name", cluster->name);
    gw_writer_number(&writer, "workers", (double)cluster->workers);
    gw_writer_number(&writer, "workers_per_node", (double)cluster->workers_per_node);
    gw_writer_object(&writer, "collectives");
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const struct gw_collective_cost *cost = &cluster->collectives[i];
        gw_writer_reopen_array(&writer, cost->name);
        gw_writer_open(&writer, NULL, entry_object(cost->kept));
        gw_writer_number(&writer, "workers", (double)cost->workers);
        write_curve(&writer, &cost->curve, COLLECTIVE_CURVE);
        gw_writer_end(&writer);
        gw_writer_end(&writer);
    }
    gw_writer_end(&writer);
    gw_writer_object(&writer, "compressors");
    for (size_t i = 0; i < cluster->compressor_count; i++) {
        const struct gw_compressor_cost *cost = &cluster->compressors[i];
        gw_writer_open(&writer, cost->name, entry_object(cost->kept));
        write_curve(&writer, &cost->curve, COMPRESSOR_CURVE);
        gw_writer_end(&writer);
    }
    gw_writer_end(&writer);
    gw_network_write(cluster, &writer);
    gw_overlap_write(cluster, &writer);
    return gw_writer_finish(&writer, out, error);
}

enum gw_status gw_cluster_write(const struct gw_cluster *cluster, const char *path,
                                struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(gw_cluster_document(cluster, &document, error));
    enum gw_status status = gw_json_write(document, path, error);
    cJSON_Delete(document);
    return status;
}
