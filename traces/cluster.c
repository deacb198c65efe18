#include "traces/cluster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/parts.h"

static const char *const schema = "gradweave/cluster@1";

/* ---- cost curves ----------------------------------------------------------------------------- */

/* Which names the coefficients have. */
enum curve_names {
    COLLECTIVE_CURVE, /* alpha_s, beta_s_per_byte; both needed unless there are points */
    KERNEL_CURVE,     /* fixed_s, per_element_s, per_nlog2n_s; those that are absent are 0 */
};

static enum gw_status read_point(const struct gw_json *place, double previous_size,
                                 struct gw_curve_point *out, struct gw_error *error) {
    if (!cJSON_IsArray(place->node) || cJSON_GetArraySize(place->node) != 2) {
        return gw_json_expected(place, "a pair [size, seconds]", error);
    }
    struct gw_json size = gw_json_item(place, cJSON_GetArrayItem(place->node, 0), 0);
    struct gw_json time = gw_json_item(place, cJSON_GetArrayItem(place->node, 1), 1);
    GW_TRY(gw_json_size(&size, &out->size, error));
    if (!(out->size > previous_size)) {
        return gw_json_expected(&size, "sizes in ascending order", error);
    }
    return gw_json_seconds(&time, &out->time_s, error);
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

/* Of points that fall, the first, unless that is noise. */
static enum gw_status check_rising(const struct gw_json *place, const struct gw_json *points,
                                   const struct gw_curve *curve, struct gw_error *error) {
    size_t fall = gw_cluster_find_fall(curve, place->node);
    if (fall == 0) {
        return GW_OK;
    }
    const cJSON *node = cJSON_GetArrayItem(points->node, (int)fall);
    struct gw_json point = gw_json_item(points, node, fall);
    struct gw_json time = gw_json_item(&point, cJSON_GetArrayItem(node, 1), 1);
    return gw_json_expected(&time, "no less time than for the smaller sizes", error);
}

/* Each is 0 where it is absent, but not all of them. */
static enum gw_status read_coefficients(const struct gw_json *place, struct gw_curve *out,
                                        struct gw_error *error) {
    static const char *const keys[] = {"fixed_s", "per_element_s", "per_nlog2n_s"};
    double *const coefficients[] = {&out->fixed_s, &out->per_unit_s, &out->per_nlog2n_s};
    size_t found = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct gw_json coefficient = gw_json_member(place, keys[i]);
        if (coefficient.node != NULL) {
            GW_TRY(gw_json_seconds(&coefficient, coefficients[i], error));
            found++;
        }
    }
    return found > 0 ? GW_OK
                     : gw_json_expected(place,
                                        "points, or one of fixed_s, per_element_s and per_nlog2n_s",
                                        error);
}

static enum gw_status read_curve(const struct gw_json *place, enum curve_names names,
                                 struct gw_curve *out, struct gw_error *error) {
    *out = (struct gw_curve){0};
    struct gw_json points = gw_json_member(place, "points");
    if (points.node != NULL) {
        GW_TRY(read_points(&points, out, error));
        enum gw_status status = check_rising(place, &points, out, error);
        if (status != GW_OK) {
            gw_curve_free(out);
        }
        return status;
    }
    if (names == KERNEL_CURVE) {
        return read_coefficients(place, out, error);
    }
    struct gw_json alpha = gw_json_member(place, "alpha_s");
    struct gw_json beta = gw_json_member(place, "beta_s_per_byte");
    GW_TRY(gw_json_seconds(&alpha, &out->fixed_s, error));
    return gw_json_seconds(&beta, &out->per_unit_s, error);
}

/* ---- reading ------------------------------------------------------------------------------- */

static enum gw_status read_collective(const struct gw_json *place, const char *name,
                                      struct gw_cluster *cluster, struct gw_error *error) {
    GW_TRY(gw_json_object(place, error));
    struct gw_json at = gw_json_member(place, "workers");
    uint64_t workers = 0;
    GW_TRY(gw_json_integer(&at, 1, &workers, error));
    struct gw_curve curve = {0};
    GW_TRY(read_curve(place, COLLECTIVE_CURVE, &curve, error));
    return gw_cluster_add_collective(cluster, name, (size_t)workers, curve,
                                     cJSON_Duplicate(place->node, 1), error);
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

static enum gw_status read_collectives(const struct gw_json *root, struct gw_cluster *cluster,
                                       struct gw_error *error) {
    struct gw_json collectives = gw_json_member(root, "collectives");
    GW_TRY(gw_json_object(&collectives, error));
    const cJSON *list = NULL;
    cJSON_ArrayForEach(list, collectives.node) {
        struct gw_json entries = gw_json_child(&collectives, list);
        GW_TRY(gw_json_array(&entries, error));
        GW_TRY(check_workers(&entries, error));
        size_t index = 0;
        const cJSON *node = NULL;
        cJSON_ArrayForEach(node, entries.node) {
            struct gw_json place = gw_json_item(&entries, node, index++);
            GW_TRY(read_collective(&place, list->string, cluster, error));
        }
    }
    return GW_OK;
}

static enum gw_status read_densities(const struct gw_json *denser, double out[2],
                                     struct gw_error *error) {
    struct gw_json place = gw_json_member(denser, "densities");
    GW_TRY(gw_json_array(&place, error));
    size_t count = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, place.node) {
        bool is_share = cJSON_IsNumber(node) && node->valuedouble >= 1e-9 && node->valuedouble <= 1;
        if (count < 2 && is_share) {
            out[count] = node->valuedouble;
        }
        count += is_share ? 1 : 3;
    }
    return count == 2 && (out[1] >= 1.5 * out[0] || out[0] >= 1.5 * out[1])
               ? GW_OK
               : gw_json_expected(
                     &place, "two densities from 1e-9 to 1, one half as much again as the other",
                     error);
}

static enum gw_status read_together(const struct gw_json *place, struct gw_curve *out,
                                    struct gw_error *error) {
    struct gw_json together = gw_json_member(place, "together");
    if (together.node == NULL) {
        return GW_OK;
    }
    GW_TRY(gw_json_object(&together, error));
    return read_curve(&together, KERNEL_CURVE, out, error);
}

/* What was measured besides: by all ranks at once, and at another density. */
static enum gw_status read_more(const struct gw_json *place, struct gw_kernel_cost *cost,
                                struct gw_error *error) {
    struct gw_json denser = gw_json_member(place, "denser");
    GW_TRY(read_together(place, &cost->together, error));
    if (denser.node != NULL) {
        GW_TRY(gw_json_object(&denser, error));
        GW_TRY(read_densities(&denser, cost->densities, error));
        GW_TRY(read_curve(&denser, KERNEL_CURVE, &cost->denser, error));
        GW_TRY(read_together(&denser, &cost->denser_together, error));
    }
    return GW_OK;
}

static enum gw_status read_kernels(const struct gw_json *kernels, struct gw_kernel_costs *costs,
                                   struct gw_error *error) {
    GW_TRY(gw_json_object(kernels, error));
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, kernels->node) {
        struct gw_json place = gw_json_child(kernels, node);
        GW_TRY(gw_json_object(&place, error));
        struct gw_curve curve = {0};
        GW_TRY(read_curve(&place, KERNEL_CURVE, &curve, error));
        GW_TRY(gw_kernel_costs_add(costs, node->string, curve, cJSON_Duplicate(node, 1), error));
        GW_TRY(read_more(&place, &costs->list[costs->count - 1], error));
    }
    return GW_OK;
}

static enum gw_status read_sharing(const struct gw_json *root, struct gw_cluster *cluster,
                                   struct gw_error *error) {
    struct gw_json place = gw_json_member(root, "sharing");
    struct gw_json ranks_place = gw_json_member(&place, "ranks");
    struct gw_json processors_place = gw_json_member(&place, "processors");
    uint64_t ranks = 0;
    uint64_t processors = 0;
    if (place.node == NULL) {
        return GW_OK;
    }
    GW_TRY(gw_json_object(&place, error));
    GW_TRY(gw_json_integer(&ranks_place, 1, &ranks, error));
    GW_TRY(gw_json_integer(&processors_place, 1, &processors, error));
    cluster->sharing =
        (struct gw_sharing){.ranks = (size_t)ranks, .processors = (size_t)processors};
    return GW_OK;
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
    GW_TRY(read_kernels(&compressors, &cluster->compressors, error));
    if (aggregation.node != NULL) {
        GW_TRY(read_kernels(&aggregation, &cluster->aggregation, error));
    }
    GW_TRY(read_sharing(&root, cluster, error));
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

const char *gw_cluster_device(const struct gw_cluster *cluster) {
    const cJSON *source = cJSON_GetObjectItemCaseSensitive(cluster->kept, "source");
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(source, "device"));
}

/* ---- building ------------------------------------------------------------------------------ */

/* The range from the 5th to the 95th percentile of what was measured at a size. */
static bool find_range(const cJSON *details, double size, double range[2]) {
    const cJSON *raw = NULL;
    cJSON_ArrayForEach(raw, cJSON_GetObjectItemCaseSensitive(details, "raw")) {
        const cJSON *bytes = cJSON_GetObjectItemCaseSensitive(raw, "bytes");
        const cJSON *elements = cJSON_GetObjectItemCaseSensitive(raw, "elements");
        const cJSON *p5 = cJSON_GetObjectItemCaseSensitive(raw, "p5_s");
        const cJSON *p95 = cJSON_GetObjectItemCaseSensitive(raw, "p95_s");
        if (cJSON_GetNumberValue(bytes != NULL ? bytes : elements) == size && cJSON_IsNumber(p5) &&
            cJSON_IsNumber(p95)) {
            range[0] = p5->valuedouble;
            range[1] = p95->valuedouble;
            return true;
        }
    }
    return false;
}

/* How far below what is expected measuring leaves a time without any reason. */
static const double noise = 0.05;

/* Ranges explain what lies in them, and nothing else. */
static bool explains_fall(const cJSON *details, const struct gw_curve_point *before,
                          const struct gw_curve_point *point) {
    double range_before[2] = {0};
    double range[2] = {0};
    return find_range(details, before->size, range_before) &&
           find_range(details, point->size, range) && range[1] >= range_before[0] &&
           before->time_s <= (1 + noise) * range_before[1] &&
           point->time_s >= (1 - noise) * range[0];
}

size_t gw_cluster_find_fall(const struct gw_curve *curve, const cJSON *details) {
    enum { most_falls = 1000 }; /* each of which looks through all of "raw" */
    double highest_s = 0;
    size_t falls = 0;
    for (size_t i = 0; i < curve->point_count; i++) {
        const struct gw_curve_point *point = &curve->points[i];
        if (i > 0 && point->time_s < point[-1].time_s && point->time_s < (1 - noise) * highest_s &&
            (++falls > most_falls || !explains_fall(details, &point[-1], point))) {
            return i;
        }
        highest_s = fmax(highest_s, point->time_s);
    }
    return 0;
}

static void raise_fallen(struct gw_curve *curve, const cJSON *details) {
    if (gw_cluster_find_fall(curve, details) == 0) {
        return;
    }
    for (size_t i = 1; i < curve->point_count; i++) {
        struct gw_curve_point *point = &curve->points[i];
        point->time_s = point->time_s < point[-1].time_s ? point[-1].time_s : point->time_s;
    }
}

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
    struct gw_collective_cost *larger = gw_grow(cluster->collectives, cluster->collective_count + 1,
                                                &cluster->collective_capacity, sizeof *larger);
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
    raise_fallen(&curve, details);
    larger[cluster->collective_count++] = (struct gw_collective_cost){
        .name = copy, .workers = workers, .curve = curve, .kept = details};
    return GW_OK;
}

enum gw_status gw_kernel_costs_add(struct gw_kernel_costs *costs, const char *name,
                                   struct gw_curve curve, cJSON *details, struct gw_error *error) {
    struct gw_kernel_cost *larger =
        gw_grow(costs->list, costs->count + 1, &costs->capacity, sizeof *larger);
    char *copy = strdup(name);
    if (larger != NULL) {
        costs->list = larger;
    }
    if (larger == NULL || copy == NULL) {
        free(copy);
        gw_curve_free(&curve);
        cJSON_Delete(details);
        return gw_fail_memory(error, "adding costs to a cluster");
    }
    raise_fallen(&curve, details);
    larger[costs->count++] = (struct gw_kernel_cost){.name = copy, .curve = curve, .kept = details};
    return GW_OK;
}

/*
 * To a kernel that is there, into its entry or into what that has under `within`; takes the curve
 * and the details in any case.
 */
static enum gw_status add_more(struct gw_kernel_cost *cost, const char *within, const char *key,
                               struct gw_curve curve, cJSON *details, struct gw_curve *out,
                               struct gw_error *error) {
    cJSON *entry =
        within == NULL ? cost->kept : cJSON_GetObjectItemCaseSensitive(cost->kept, within);
    raise_fallen(&curve, details);
    gw_curve_free(out);
    *out = curve;
    return gw_json_put(entry, key, details, error);
}

/* NULL: there is none, and what was measured of it is freed. */
static struct gw_kernel_cost *find_measured(struct gw_kernel_costs *costs, const char *name,
                                            struct gw_curve *curve, cJSON *details,
                                            struct gw_error *error) {
    for (size_t i = 0; i < costs->count; i++) {
        if (strcmp(costs->list[i].name, name) == 0) {
            return &costs->list[i];
        }
    }
    gw_curve_free(curve);
    cJSON_Delete(details);
    (void)gw_fail(error, GW_FAILED, "%s: expected what it takes alone before", name);
    return NULL;
}

enum gw_status gw_kernel_costs_add_together(struct gw_kernel_costs *costs, const char *name,
                                            bool denser, struct gw_curve curve, cJSON *details,
                                            struct gw_error *error) {
    struct gw_kernel_cost *cost = find_measured(costs, name, &curve, details, error);
    return cost == NULL ? GW_FAILED
                        : add_more(cost, denser ? "denser" : NULL, "together", curve, details,
                                   denser ? &cost->denser_together : &cost->together, error);
}

enum gw_status gw_kernel_costs_add_denser(struct gw_kernel_costs *costs, const char *name,
                                          const double densities[2], struct gw_curve curve,
                                          cJSON *details, struct gw_error *error) {
    struct gw_kernel_cost *cost = find_measured(costs, name, &curve, details, error);
    if (cost == NULL) {
        return GW_FAILED;
    }
    memcpy(cost->densities, densities, sizeof cost->densities);
    return add_more(cost, NULL, "denser", curve, details, &cost->denser, error);
}

static void free_kernels(struct gw_kernel_costs *costs) {
    for (size_t i = 0; i < costs->count; i++) {
        free(costs->list[i].name);
        gw_curve_free(&costs->list[i].curve);
        gw_curve_free(&costs->list[i].together);
        gw_curve_free(&costs->list[i].denser);
        gw_curve_free(&costs->list[i].denser_together);
        cJSON_Delete(costs->list[i].kept);
    }
    free(costs->list);
}

void gw_cluster_free(struct gw_cluster *cluster) {
    for (size_t i = 0; i < cluster->collective_count; i++) {
        free(cluster->collectives[i].name);
        gw_curve_free(&cluster->collectives[i].curve);
        cJSON_Delete(cluster->collectives[i].kept);
    }
    free(cluster->collectives);
    free_kernels(&cluster->compressors);
    free_kernels(&cluster->aggregation);
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

static void write_together(struct gw_json_writer *writer, const struct gw_curve *together) {
    if (gw_curve_costs(together)) {
        gw_writer_reopen_object(writer, "together", 0);
        write_curve(writer, together, KERNEL_CURVE);
        gw_writer_end(writer);
    }
}

static void write_kernels(struct gw_json_writer *writer, const char *key,
                          const struct gw_kernel_costs *costs) {
    gw_writer_object(writer, key);
    for (size_t i = 0; i < costs->count; i++) {
        const struct gw_kernel_cost *cost = &costs->list[i];
        gw_writer_open(writer, cost->name, entry_object(cost->kept));
        write_curve(writer, &cost->curve, KERNEL_CURVE);
        write_together(writer, &cost->together);
        if (cost->densities[0] != cost->densities[1]) {
            gw_writer_reopen_object(writer, "denser", 0);
            gw_writer_numbers(writer, "densities", cost->densities, 2);
            write_curve(writer, &cost->denser, KERNEL_CURVE);
            write_together(writer, &cost->denser_together);
            gw_writer_end(writer);
        }
        gw_writer_end(writer);
    }
    gw_writer_end(writer);
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
    write_kernels(&writer, "compressors", &cluster->compressors);
    if (cluster->aggregation.count > 0) {
        write_kernels(&writer, "aggregation", &cluster->aggregation);
    }
    if (cluster->sharing.ranks > 0) {
        gw_writer_object(&writer, "sharing");
        gw_writer_number(&writer, "ranks", (double)cluster->sharing.ranks);
        gw_writer_number(&writer, "processors", (double)cluster->sharing.processors);
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
