#include "traces/cluster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/growth.h"
#include "traces/parts.h"

static const char *const schema = "gradweave/cluster@1";

/* ---- reading ------------------------------------------------------------------------------- */

enum gw_status gw_read_on(enum gw_status status, size_t *bad, struct gw_error *error) {
    if (status != GW_BAD_INPUT || gw_key_rules.bad == NULL || error == NULL) {
        return status;
    }
    gw_key_rules.bad(error->message, gw_key_rules.context);
    (*bad)++;
    return GW_OK;
}

static enum gw_status read_collective(const struct gw_json *place, const char *name,
                                      struct gw_cluster *cluster, struct gw_error *error) {
    GW_TRY(gw_json_object(place, error));
    struct gw_json at = gw_json_member(place, "workers");
    uint64_t workers = 0;
    GW_TRY(gw_json_integer(&at, 1, &workers, error));
    struct gw_curve curve = {0};
    GW_TRY(gw_curve_read(place, GW_COLLECTIVE_NAMES, &curve, error));
    cJSON *kept = NULL;
    enum gw_status status = gw_json_copy(place->node, &kept, error);
    if (status != GW_OK) {
        gw_curve_free(&curve);
        return status;
    }
    return gw_cluster_add_collective(cluster, name, (size_t)workers, curve, kept, error);
}

static int by_value(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Of a collective each number of workers has one entry. */
static enum gw_status check_workers(const struct gw_json *entries, struct gw_error *error) {
    size_t count = 0;
    const cJSON *node = NULL;
    double *workers = calloc((size_t)cJSON_GetArraySize(entries->node) + 1, sizeof *workers);
    double twice = NAN;
    if (workers == NULL) {
        return gw_fail_memory(error, "reading a cluster");
    }
    cJSON_ArrayForEach(node, entries->node) {
        const cJSON *number = cJSON_GetObjectItemCaseSensitive(node, "workers");
        if (cJSON_IsNumber(number)) {
            workers[count++] = number->valuedouble;
        }
    }
    qsort(workers, count, sizeof *workers, by_value);
    for (size_t i = 1; i < count; i++) {
        twice = workers[i] == workers[i - 1] ? workers[i] : twice;
    }
    free(workers);
    size_t index = 0;
    size_t seen = 0;
    cJSON_ArrayForEach(node, entries->node) {
        const cJSON *number = cJSON_GetObjectItemCaseSensitive(node, "workers");
        struct gw_json entry = gw_json_item(entries, node, index++);
        if (cJSON_IsNumber(number) && number->valuedouble == twice && ++seen == 2) {
            struct gw_json at = gw_json_child(&entry, number);
            return gw_json_expected(&at, "one entry for each number of workers", error);
        }
    }
    return GW_OK;
}

static enum gw_status read_entries(const struct gw_json *entries, const char *name,
                                   struct gw_cluster *cluster, size_t *bad,
                                   struct gw_error *error) {
    size_t index = 0;
    const cJSON *node = NULL;
    GW_TRY(gw_json_array(entries, error));
    GW_TRY(check_workers(entries, error));
    cJSON_ArrayForEach(node, entries->node) {
        struct gw_json place = gw_json_item(entries, node, index++);
        GW_TRY(gw_read_on(read_collective(&place, name, cluster, error), bad, error));
    }
    return GW_OK;
}

static enum gw_status read_collectives(const struct gw_json *root, struct gw_cluster *cluster,
                                       size_t *bad, struct gw_error *error) {
    struct gw_json collectives = gw_json_member(root, "collectives");
    GW_TRY(gw_json_object(&collectives, error));
    const cJSON *list = NULL;
    cJSON_ArrayForEach(list, collectives.node) {
        struct gw_json entries = gw_json_child(&collectives, list);
        GW_TRY(gw_read_on(read_entries(&entries, list->string, cluster, bad, error), bad, error));
    }
    return GW_OK;
}

static enum gw_status read_sharing(const struct gw_json *root, struct gw_cluster *cluster,
                                   struct gw_error *error) {
    struct gw_json place = gw_json_member(root, "sharing");
    struct gw_json ranks_place = gw_json_member(&place, "ranks");
    struct gw_json processors_place = gw_json_member(&place, "processors");
    struct gw_json together_place = gw_json_member(&place, "together");
    uint64_t ranks = 0;
    uint64_t processors = 0;
    if (place.node == NULL) {
        return GW_OK;
    }
    GW_TRY(gw_json_object(&place, error));
    GW_TRY(gw_json_integer(&ranks_place, 1, &ranks, error));
    GW_TRY(gw_json_integer(&processors_place, 1, &processors, error));
    uint64_t together = ranks;
    if (together_place.node != NULL) {
        GW_TRY(gw_json_integer(&together_place, 1, &together, error));
        GW_TRY(together <= ranks ? GW_OK
                                 : gw_json_expected(&together_place,
                                                    "at most as many as there are ranks", error));
    }
    cluster->sharing = (struct gw_sharing){
        .ranks = (size_t)ranks, .processors = (size_t)processors, .together = (size_t)together};
    return GW_OK;
}

static enum gw_status read_passes(const struct gw_json *root, struct gw_cluster *cluster,
                                  struct gw_error *error) {
    struct gw_json place = gw_json_member(root, "passes");
    struct gw_json uncertainty = gw_json_member(&place, "uncertainty");
    if (place.node == NULL) {
        return GW_OK;
    }
    GW_TRY(gw_json_object(&place, error));
    return gw_json_not_negative(&uncertainty, &cluster->passes_uncertainty, error);
}

static enum gw_status read_document(struct gw_cluster *cluster, const char *path,
                                    struct gw_error *error) {
    struct gw_json root;
    GW_TRY(gw_json_root(cluster->kept, path, schema, &root, error));
    struct gw_json name_place = gw_json_member(&root, "name");
    struct gw_json workers_place = gw_json_member(&root, "workers");
    struct gw_json per_node_place = gw_json_member(&root, "workers_per_node");
    struct gw_json compressors = gw_json_member(&root, "compressors");
    struct gw_json aggregation = gw_json_member(&root, "aggregation");
    const char *name = "";
    uint64_t workers = 1;
    uint64_t per_node = 1;
    size_t bad = 0;
    GW_TRY(gw_read_on(gw_json_integer(&workers_place, 1, &workers, error), &bad, error));
    if (per_node_place.node != NULL) {
        GW_TRY(gw_read_on(gw_json_integer(&per_node_place, 1, &per_node, error), &bad, error));
    }
    bool misnumbered = bad > 0;
    GW_TRY(gw_read_on(gw_json_text(&name_place, &name, error), &bad, error));
    cluster->name = strdup(name);
    cluster->path = strdup(path);
    if (cluster->name == NULL || cluster->path == NULL) {
        return gw_fail_memory(error, "reading a cluster");
    }
    cluster->workers = (size_t)workers;
    cluster->workers_per_node = (size_t)per_node;
    GW_TRY(gw_read_on(read_collectives(&root, cluster, &bad, error), &bad, error));
    GW_TRY(gw_read_on(gw_kernel_costs_read(&compressors, &cluster->compressors, &bad, error), &bad,
                      error));
    if (aggregation.node != NULL) {
        GW_TRY(gw_read_on(gw_kernel_costs_read(&aggregation, &cluster->aggregation, &bad, error),
                          &bad, error));
    }
    GW_TRY(gw_read_on(read_sharing(&root, cluster, error), &bad, error));
    if (!misnumbered) { /* what a network needs hangs on it */
        GW_TRY(gw_read_on(gw_network_read(&root, cluster, error), &bad, error));
    }
    GW_TRY(gw_read_on(gw_overlap_read(&root, cluster, error), &bad, error));
    GW_TRY(gw_read_on(read_passes(&root, cluster, error), &bad, error));
    return bad == 0 ? GW_OK : GW_BAD_INPUT; /* of which the last is in the error */
}

enum gw_status gw_cluster_parse(const char *text, size_t length, const char *path,
                                struct gw_cluster *out, struct gw_error *error) {
    *out = (struct gw_cluster){0};
    enum gw_status status = gw_json_parse(text, length, path, &out->kept, error);
    if (status == GW_BAD_INPUT && length > 0 && text[0] == '#') {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected a cluster, which gradweave cluster import makes of what "
                       "benchmarks print, got such a text",
                       path);
    }
    GW_TRY(status);
    status = read_document(out, path, error);
    status = status == GW_OK ? gw_cluster_find_growth(out, error) : status;
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

const char *gw_cluster_source(const struct gw_cluster *cluster, const char *key) {
    const cJSON *source = cJSON_GetObjectItemCaseSensitive(cluster->kept, "source");
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(source, key));
}

const char *gw_origin(const char *kind) {
    return kind == NULL ? "of unknown origin" : kind;
}

const char *gw_cluster_origin(const struct gw_cluster *cluster) {
    return gw_origin(gw_cluster_source(cluster, "kind"));
}

void gw_cluster_name_assumed(const struct gw_cluster *cluster, char out[GW_ASSUMED_SIZE]) {
    const char *from = NULL;
    const char *last = NULL;
    out[0] = '\0';
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const struct gw_collective_cost *cost = &cluster->collectives[i];
        const char *own = cost->assumed_from;
        if (own != NULL && (last == NULL || strcmp(last, cost->name) != 0)) {
            gw_list_name(out, GW_ASSUMED_SIZE, cost->name);
            from = own;
            last = cost->name;
        }
    }
    if (from != NULL) {
        size_t used = strlen(out);
        (void)snprintf(out + used, GW_ASSUMED_SIZE - used, " assumed from %s", from);
    }
}

enum gw_status gw_cluster_put_source(struct gw_cluster *cluster, const char *key, const char *text,
                                     struct gw_error *error) {
    if (!cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(cluster->kept, "source"))) {
        GW_TRY(gw_json_put(cluster->kept, "source", cJSON_CreateObject(), error));
    }
    return gw_json_put_text(cJSON_GetObjectItemCaseSensitive(cluster->kept, "source"), key, text,
                            error);
}

const char *gw_cluster_device(const struct gw_cluster *cluster) {
    return gw_cluster_source(cluster, "device");
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

/* Pairs of sizes and shares, as gw_curve_read checked them. */
static enum gw_status read_skew(const cJSON *pairs, struct gw_collective_cost *cost,
                                struct gw_error *error) {
    const cJSON *pair = NULL;
    size_t count = (size_t)cJSON_GetArraySize(pairs);
    cost->skew = count == 0 ? NULL : calloc(count, sizeof *cost->skew);
    if (count > 0 && cost->skew == NULL) {
        return gw_fail_memory(error, "reading a collective's skew");
    }
    cJSON_ArrayForEach(pair, pairs) {
        cost->skew[cost->skew_count++] =
            (struct gw_curve_point){cJSON_GetNumberValue(cJSON_GetArrayItem(pair, 0)),
                                    cJSON_GetNumberValue(cJSON_GetArrayItem(pair, 1))};
    }
    return GW_OK;
}

static void free_details(struct gw_collective_cost *cost) {
    gw_margins_free(&cost->margins);
    free(cost->skew);
    free(cost->assumed_from);
    cost->skew = NULL;
    cost->assumed_from = NULL;
    cost->skew_count = 0;
}

enum gw_status gw_collective_read_details(struct gw_collective_cost *cost, struct gw_error *error) {
    const cJSON *source = cJSON_GetObjectItemCaseSensitive(cost->kept, "source");
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(source, "kind"));
    const char *from = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(source, "measured"));
    const cJSON *fit = cJSON_GetObjectItemCaseSensitive(cost->kept, "fit");
    const cJSON *held_out = cJSON_GetObjectItemCaseSensitive(fit, "held_out_error");
    free_details(cost);
    cost->held_out_error = cJSON_IsNumber(held_out) ? fmin(fmax(held_out->valuedouble, 0), 1) : 0;
    if (kind != NULL && strcmp(kind, "assumed") == 0 && from != NULL) {
        cost->assumed_from = strdup(from);
        GW_TRY(cost->assumed_from == NULL ? gw_fail_memory(error, "reading a collective") : GW_OK);
    }
    GW_TRY(read_skew(cJSON_GetObjectItemCaseSensitive(cost->kept, "skew"), cost, error));
    return gw_margins_read(cost->kept, "bytes", &cost->curve, GW_COLLECTIVE_MARGIN, &cost->margins,
                           error);
}

/* Laws of curves that change, or move in memory, no longer hold. */
static void forget_growth(struct gw_cluster *cluster) {
    free(cluster->growths);
    cluster->growths = NULL;
    cluster->growth_count = 0;
}

enum gw_status gw_cluster_add_collective(struct gw_cluster *cluster, const char *name,
                                         size_t workers, struct gw_curve curve, cJSON *details,
                                         struct gw_error *error) {
    struct gw_collective_cost *larger = gw_grow(cluster->collectives, cluster->collective_count + 1,
                                                &cluster->collective_capacity, sizeof *larger);
    char *copy = strdup(name);
    enum gw_status status = GW_OK;
    if (larger != NULL) {
        cluster->collectives = larger;
    }
    if (larger == NULL || copy == NULL) {
        status = gw_fail_memory(error, "adding a collective to a cluster");
    }
    status = status == GW_OK ? gw_curve_make_rise(&curve, details, error) : status;
    if (status != GW_OK) {
        free(copy);
        gw_curve_free(&curve);
        cJSON_Delete(details);
        return status;
    }
    struct gw_collective_cost *added = &larger[cluster->collective_count++];
    *added = (struct gw_collective_cost){
        .name = copy, .workers = workers, .curve = curve, .kept = details};
    forget_growth(cluster);
    return gw_collective_read_details(added, error);
}

static void free_collective(struct gw_collective_cost *cost) {
    free(cost->name);
    free_details(cost);
    gw_curve_free(&cost->curve);
    cJSON_Delete(cost->kept);
}

void gw_cluster_remove_collective(struct gw_cluster *cluster, size_t index) {
    struct gw_collective_cost *removed = &cluster->collectives[index];
    free_collective(removed);
    forget_growth(cluster);
    cluster->collective_count--;
    memmove(removed, removed + 1, (cluster->collective_count - index) * sizeof *removed);
}

void gw_cluster_free(struct gw_cluster *cluster) {
    for (size_t i = 0; i < cluster->collective_count; i++) {
        free_collective(&cluster->collectives[i]);
    }
    free(cluster->collectives);
    forget_growth(cluster);
    gw_kernel_costs_free(&cluster->compressors);
    gw_kernel_costs_free(&cluster->aggregation);
    gw_network_free(cluster->network);
    gw_overlap_free(cluster->overlap);
    free(cluster->name);
    free(cluster->path);
    cJSON_Delete(cluster->kept);
    *cluster = (struct gw_cluster){0};
}

/* ---- writing ------------------------------------------------------------------------------- */

cJSON *gw_entry_object(const cJSON *kept) {
    return kept != NULL ? cJSON_Duplicate(kept, 1) : cJSON_CreateObject();
}

enum gw_status gw_cluster_document(const struct gw_cluster *cluster, cJSON **out,
                                   struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin_with(&writer, gw_entry_object(cluster->kept));
    gw_writer_text(&writer, "schema", schema);
    gw_writer_text(&writer, "name", cluster->name);
    gw_writer_number(&writer, "workers", (double)cluster->workers);
    gw_writer_number(&writer, "workers_per_node", (double)cluster->workers_per_node);
    gw_writer_object(&writer, "collectives");
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const struct gw_collective_cost *cost = &cluster->collectives[i];
        gw_writer_reopen_array(&writer, cost->name);
        gw_writer_open(&writer, NULL, gw_entry_object(cost->kept));
        gw_writer_number(&writer, "workers", (double)cost->workers);
        gw_curve_write(&writer, &cost->curve, GW_COLLECTIVE_NAMES);
        gw_writer_end(&writer);
        gw_writer_end(&writer);
    }
    gw_writer_end(&writer);
    gw_kernel_costs_write(&writer, "compressors", &cluster->compressors);
    if (cluster->aggregation.count > 0) {
        gw_kernel_costs_write(&writer, "aggregation", &cluster->aggregation);
    }
    if (cluster->sharing.ranks > 0) {
        gw_writer_object(&writer, "sharing");
        gw_writer_number(&writer, "ranks", (double)cluster->sharing.ranks);
        gw_writer_number(&writer, "processors", (double)cluster->sharing.processors);
        gw_writer_number(&writer, "together", (double)cluster->sharing.together);
        gw_writer_end(&writer);
    }
    if (cluster->passes_uncertainty > 0) {
        gw_writer_reopen_object(&writer, "passes", 0);
        gw_writer_number(&writer, "uncertainty", cluster->passes_uncertainty);
        gw_writer_end(&writer);
    }
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
