#include "traces/cluster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/growth.h"
#include "traces/parts.h"

static const char schema[] = "gradweave/cluster@1";

/* ---- freeing ------------------------------------------------------------------------------ */

static void free_details(struct gw_collective_cost *cost) {
    gw_margins_free(&cost->margins);
    free(cost->raw.sizes);
    free(cost->skew);
    free(cost->assumed_from);
    cost->raw = (struct gw_raw){0};
    cost->skew = NULL;
    cost->assumed_from = NULL;
    cost->skew_count = 0;
}

static void free_collective(struct gw_collective_cost *cost) {
    free(cost->name);
    free_details(cost);
    gw_curve_free(&cost->curve);
    cJSON_Delete(cost->kept);
}

/* Frees growth laws, which do not hold once curves change or move in memory. */
static void forget_growth(struct gw_cluster *cluster) {
    free(cluster->growths);
    cluster->growths = NULL;
    cluster->growth_count = 0;
}

/* ---- reading ------------------------------------------------------------------------------- */

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

/* Refuses a second entry of a collective for a number of workers. */
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
                                   struct gw_cluster *cluster, struct gw_error *error) {
    size_t index = 0;
    const cJSON *node = NULL;
    GW_TRY(gw_json_array(entries, error));
    GW_TRY(check_workers(entries, error));
    cJSON_ArrayForEach(node, entries->node) {
        struct gw_json place = gw_json_item(entries, node, index++);
        GW_TRY(gw_read_on(read_collective(&place, name, cluster, error), error));
    }
    return GW_OK;
}

static enum gw_status read_collectives(const struct gw_json *collectives, void *out,
                                       struct gw_error *error) {
    const cJSON *list = NULL;
    GW_TRY(gw_json_object(collectives, error));
    cJSON_ArrayForEach(list, collectives->node) {
        struct gw_json entries = gw_json_child(collectives, list);
        GW_TRY(gw_read_on(read_entries(&entries, list->string, out, error), error));
    }
    return GW_OK;
}

static enum gw_status read_compressors(const struct gw_json *kernels, void *out,
                                       struct gw_error *error) {
    struct gw_cluster *cluster = out;
    return gw_kernel_costs_read(kernels, &cluster->compressors, error);
}

static enum gw_status read_aggregation(const struct gw_json *kernels, void *out,
                                       struct gw_error *error) {
    struct gw_cluster *cluster = out;
    return gw_kernel_costs_read(kernels, &cluster->aggregation, error);
}

static enum gw_status check_sharing(const struct gw_json *place, void *out,
                                    struct gw_error *error) {
    struct gw_sharing *sharing = out;
    struct gw_json together = gw_json_member(place, "together");
    sharing->together = together.node == NULL ? sharing->ranks : sharing->together;
    return sharing->together <= sharing->ranks
               ? GW_OK
               : gw_json_expected(&together, "at most as many as there are ranks", error);
}

/* ---- fields ---------------------------------------------------------------------------------- */

#define CURVE_KEYS "points", "raw", "fit", "uncertainty", "source"
#define KERNEL_KEYS "fixed_s", "per_element_s", "per_nlog2n_s", CURVE_KEYS

static const struct gw_fields collective_fields = {
    .unread = GW_KEYS("workers", "alpha_s", "beta_s_per_byte", "skew", CURVE_KEYS)};

/* Collectives that are measured, or composed of measured ones. */
static const struct gw_fields collectives_fields = {
    .each = &collective_fields,
    .names = GW_KEYS("allgather", "allgatherv", "allreduce", "broadcast", "reduce", "gather",
                     "scatter", "alltoall", "sendrecv", "gtopk", "sketch", "push", "pull")};

static const struct gw_fields together_fields = {.unread = GW_KEYS(KERNEL_KEYS)};

static const struct gw_field denser_rows[] = {{"together", .of = &together_fields}, {0}};

static const struct gw_fields denser_fields = {
    .rows = denser_rows, .unread = GW_KEYS("densities", "ranks", KERNEL_KEYS)};

static const struct gw_field kernel_rows[] = {
    {"together", .of = &together_fields}, {"denser", .of = &denser_fields}, {0}};

static const struct gw_fields kernel_fields = {.rows = kernel_rows, .unread = GW_KEYS(KERNEL_KEYS)};

/* Compressors of methods; a cluster may have others, for plans. */
static const struct gw_fields compressors_fields = {
    .each = &kernel_fields,
    .names = GW_KEYS("topk", "randk", "dgc", "redsync", "gaussiank", "count-sketch", "layer-drop",
                     "hard-threshold", "sidco", "exdyna", "exdyna-trend", "exdyna-static", "bf16",
                     "fp16", "int8", "fp8", "onebit", "qsgd", "powersgd"),
    .others = true};

static const struct gw_fields aggregation_fields = {
    .each = &kernel_fields,
    .names = GW_KEYS("scatter-add", "merge", "give-back", "take-and-put", "sum", "heavymix",
                     "decode", "decode-add", "factor", "expand")};

static const struct gw_field sharing_rows[] = {
    {"ranks", GW_AS_COUNT, .at = offsetof(struct gw_sharing, ranks), .text = "of a machine"},
    {"processors", GW_AS_COUNT, .at = offsetof(struct gw_sharing, processors),
     .text = "processors of a machine that compress"},
    {"together", GW_AS_COUNT, .at = offsetof(struct gw_sharing, together), .optional = true,
     .text = "ranks that began at once where `together` was measured; absent: all"},
    {"source", .optional = true, .text = "free"},
    {0}};

static const struct gw_fields sharing_fields = {sizeof(struct gw_sharing), .rows = sharing_rows,
                                                .check = check_sharing};

static const struct gw_field passes_rows[] = {
    {"uncertainty", GW_AS_NOT_NEGATIVE, .at = offsetof(struct gw_cluster, passes_uncertainty),
     .text = "by how much longer forward and backward passes take among workers than alone, at "
             "most in 95% of cases, relative, where not measured"},
    {"source", .optional = true, .text = "free"},
    {0}};

static const struct gw_fields passes_fields = {sizeof(struct gw_cluster), .rows = passes_rows};

static const struct gw_field rows[] = {
    {"", GW_AS_FILE_NAME, .at = offsetof(struct gw_cluster, path)},
    {"", GW_AS_KEPT, .at = offsetof(struct gw_cluster, kept)},
    {"workers", GW_AS_COUNT, .at = offsetof(struct gw_cluster, workers),
     .text = "that it was measured with"},
    {"workers_per_node", GW_AS_COUNT, .at = offsetof(struct gw_cluster, workers_per_node),
     .optional = true, .otherwise = 1, .text = "on one machine"},
    {"name", GW_AS_TEXT, .at = offsetof(struct gw_cluster, name), .text = "of the cluster"},
    {"collectives", GW_AS_BY_HAND, .of = &collectives_fields, .read = read_collectives,
     .text = "for each a list with one curve for each number of `workers` that was measured"},
    {"compressors", GW_AS_BY_HAND, .of = &compressors_fields, .read = read_compressors,
     .text = "for each a curve over the elements of a group"},
    {"aggregation", GW_AS_BY_HAND, .optional = true, .of = &aggregation_fields,
     .read = read_aggregation, .text = "aggregation of received entries by workers"},
    {"sharing", GW_AS_OBJECT, .at = offsetof(struct gw_cluster, sharing), .optional = true,
     .of = &sharing_fields, .text = "machines that several ranks share"},
    {"network", GW_AS_BY_HAND, .optional = true, .of = &gw_network_fields, .read = gw_network_read,
     .text = "how single messages travel"},
    {"overlap", GW_AS_BY_HAND, .optional = true, .of = &gw_overlap_fields, .read = gw_overlap_read,
     .text = "how compression and collectives that run at once slow each other"},
    {"passes", GW_AS_OBJECT, .optional = true, .of = &passes_fields,
     .text = "forward and backward passes among workers"},
    {"growth", .optional = true, .text = "the laws by which costs grow with workers"},
    {"source", .optional = true, .text = "of the numbers"},
    {0}};

static void free_parts(void *out) {
    struct gw_cluster *cluster = out;
    for (size_t i = 0; i < cluster->collective_count; i++) {
        free_collective(&cluster->collectives[i]);
    }
    free(cluster->collectives);
    forget_growth(cluster);
    gw_kernel_costs_free(&cluster->compressors);
    gw_kernel_costs_free(&cluster->aggregation);
    gw_network_free(cluster->network);
    gw_overlap_free(cluster->overlap);
}

static enum gw_status check_growth(const struct gw_json *root, void *out, struct gw_error *error) {
    (void)root;
    return gw_cluster_find_growth(out, error);
}

const struct gw_fields gw_cluster_fields = {sizeof(struct gw_cluster), .rows = rows,
                                            .schema = schema, .check = check_growth,
                                            .free = free_parts};

enum gw_status gw_cluster_parse(const char *text, size_t length, const char *path,
                                struct gw_cluster *out, struct gw_error *error) {
    *out = (struct gw_cluster){0};
    if (length > 0 && text[0] == '#') {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected a cluster, which gradweave cluster import makes of the text "
                       "that benchmarks print, got such a text",
                       path);
    }
    return gw_fields_parse(&gw_cluster_fields, text, length, path, out, error);
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

/* Reads pairs of sizes and shares, as checked by gw_curve_read. */
static enum gw_status read_skew(const cJSON *pairs, struct gw_collective_cost *cost,
                                struct gw_error *error) {
    const cJSON *pair = NULL;
    size_t count = (size_t)cJSON_GetArraySize(pairs);
    if (count == 0) {
        return GW_OK;
    }
    cost->skew = calloc(count, sizeof *cost->skew);
    if (cost->skew == NULL) {
        return gw_fail_memory(error, "reading a collective's skew");
    }
    cJSON_ArrayForEach(pair, pairs) {
        cost->skew[cost->skew_count++] =
            (struct gw_curve_point){cJSON_GetNumberValue(cJSON_GetArrayItem(pair, 0)),
                                    cJSON_GetNumberValue(cJSON_GetArrayItem(pair, 1))};
    }
    return GW_OK;
}

enum gw_status gw_collective_read_details(struct gw_collective_cost *cost, struct gw_error *error) {
    const cJSON *source = cJSON_GetObjectItemCaseSensitive(cost->kept, "source");
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(source, "kind"));
    const char *from = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(source, "measured"));
    free_details(cost);
    if (kind != NULL && strcmp(kind, "assumed") == 0 && from != NULL) {
        cost->assumed_from = strdup(from);
        GW_TRY(cost->assumed_from == NULL ? gw_fail_memory(error, "reading a collective") : GW_OK);
    }
    GW_TRY(read_skew(cJSON_GetObjectItemCaseSensitive(cost->kept, "skew"), cost, error));
    GW_TRY(gw_raw_read(cost->kept, &cost->raw, error));
    GW_TRY(gw_curve_make_rise(&cost->curve, &cost->raw, error));
    return gw_margins_read(cost->kept, &cost->raw, &cost->curve, GW_COLLECTIVE_MARGIN,
                           &cost->margins, error);
}

enum gw_status gw_cluster_add_collective(struct gw_cluster *cluster, const char *name,
                                         size_t workers, struct gw_curve curve, cJSON *details,
                                         struct gw_error *error) {
    struct gw_collective_cost *larger = gw_grow(cluster->collectives, cluster->collective_count + 1,
                                                &cluster->collective_capacity, sizeof *larger);
    struct gw_collective_cost added = {
        .name = strdup(name), .workers = workers, .curve = curve, .kept = details};
    cluster->collectives = larger == NULL ? cluster->collectives : larger;
    if (larger == NULL || added.name == NULL) {
        free_collective(&added);
        return gw_fail_memory(error, "adding a collective to a cluster");
    }
    forget_growth(cluster);
    larger[cluster->collective_count] = added;
    return gw_collective_read_details(&larger[cluster->collective_count++], error);
}

void gw_cluster_remove_collective(struct gw_cluster *cluster, size_t index) {
    struct gw_collective_cost *removed = &cluster->collectives[index];
    free_collective(removed);
    forget_growth(cluster);
    cluster->collective_count--;
    memmove(removed, removed + 1, (cluster->collective_count - index) * sizeof *removed);
}

void gw_cluster_free(struct gw_cluster *cluster) {
    gw_fields_free(&gw_cluster_fields, cluster);
}

/* ---- writing ------------------------------------------------------------------------------- */

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
        gw_writer_reopen_object(&writer, "sharing", 0);
        gw_fields_write(&sharing_fields, &cluster->sharing, &writer);
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
