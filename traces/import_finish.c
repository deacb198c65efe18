/* Makes curves of rows that were imported, once all files are read, and adds what they imply. */
#include <math.h>
#include <string.h>

#include "traces/import_parts.h"
#include "traces/margins.h"
#include "traces/parts.h"

/* ---- curves -------------------------------------------------------------------------------- */

/* The mean time of all rows of one size, of which one took least and one most. */
struct size_mean {
    double bytes, mean_s, rows, least_s, most_s;
};

static int by_bytes_and_time(const void *a, const void *b) {
    const struct size_mean *left = a, *right = b;
    int order = (left->bytes > right->bytes) - (left->bytes < right->bytes);
    return order != 0 ? order : (left->mean_s > right->mean_s) - (left->mean_s < right->mean_s);
}

/* Makes one mean of the rows of each size, in ascending order; room for all rows is the caller's.
 */
static size_t merge_rows(const cJSON *rows, struct size_mean *means) {
    size_t count = 0;
    size_t kept = 0;
    const cJSON *row = NULL;
    cJSON_ArrayForEach(row, rows) {
        double mean_s = row->child->next->valuedouble;
        means[count++] = (struct size_mean){.bytes = row->child->valuedouble,
                                            .mean_s = mean_s,
                                            .rows = row->child->next->next->valuedouble,
                                            .least_s = mean_s,
                                            .most_s = mean_s};
    }
    qsort(means, count, sizeof *means, by_bytes_and_time);
    for (size_t i = 0; i < count; i++) {
        struct size_mean *last = kept > 0 ? &means[kept - 1] : NULL;
        if (last == NULL || last->bytes < means[i].bytes) {
            means[kept++] = means[i];
        } else {
            last->rows += means[i].rows;
            last->mean_s += (means[i].mean_s - last->mean_s) * means[i].rows / last->rows;
            last->most_s = means[i].mean_s;
        }
    }
    return kept;
}

/* A row that takes so many times as long as a larger one was disturbed, if most rows rise. */
static const double disturbed = 1.5;

/* Makes points of all means, takes disturbed ones out of both, and keeps a reason for each. */
static enum gw_status drop_disturbed(struct gw_cluster *cluster, struct gw_collective_cost *entry,
                                     struct size_mean *means, size_t count, bool *rises,
                                     struct gw_error *error) {
    const cJSON *files = cJSON_GetObjectItemCaseSensitive(gw_import_source(entry), "files");
    struct gw_curve_point *points = entry->curve.points;
    size_t kept = 0;
    size_t next = 0;
    for (size_t i = 0; i < count; i++) {
        points[i] = (struct gw_curve_point){.size = means[i].bytes, .time_s = means[i].mean_s};
    }
    entry->curve.point_count = count;
    GW_TRY(gw_curve_find_rising(&entry->curve, rises, error));
    for (size_t i = 0; i < count; i++) {
        next = next < i ? i : next;
        while (next < count && !rises[next]) {
            next++;
        }
        if (next == count || points[i].time_s <= disturbed * points[next].time_s) {
            means[kept] = means[i];
            points[kept++] = points[i];
            continue;
        }
        GW_TRY(gw_import_pass_over(cluster, error,
                                   "%s: %s among %zu: expected times that grow with sizes, got "
                                   "%.6g us of %.0f bytes before %.6g us of %.0f",
                                   cJSON_GetStringValue(cJSON_GetArrayItem(files, 0)), entry->name,
                                   entry->workers, 1e6 * points[i].time_s, points[i].size,
                                   1e6 * points[next].time_s, points[next].size));
    }
    entry->curve.point_count = kept;
    return GW_OK;
}

/* Writes "raw" as calibrate does, with means for medians, and an interval where rows differ. */
static enum gw_status put_raw(cJSON *details, const struct size_mean *means, size_t count,
                              struct gw_error *error) {
    struct gw_json_writer writer;
    cJSON *document = NULL;
    gw_writer_begin(&writer);
    gw_writer_array(&writer, "raw");
    for (size_t i = 0; i < count; i++) {
        gw_writer_object(&writer, NULL);
        gw_writer_number(&writer, "bytes", means[i].bytes);
        gw_writer_number(&writer, "median_s", means[i].mean_s);
        gw_writer_number(&writer, "rows", means[i].rows);
        if (means[i].least_s < means[i].most_s) {
            gw_writer_number(&writer, "median_low_s", means[i].least_s);
            gw_writer_number(&writer, "median_high_s", means[i].most_s);
        }
        gw_writer_end(&writer);
    }
    gw_writer_end(&writer);
    GW_TRY(gw_writer_finish(&writer, &document, error));
    cJSON *raw = cJSON_DetachItemFromObjectCaseSensitive(document, "raw");
    cJSON_Delete(document);
    return gw_json_put(details, "raw", raw, error);
}

static enum gw_status make_curve(struct gw_cluster *cluster, struct gw_collective_cost *entry,
                                 const cJSON *rows, struct gw_error *error) {
    size_t most = (size_t)cJSON_GetArraySize(rows);
    struct size_mean *means = calloc(most, sizeof *means);
    bool *rises = calloc(most, sizeof *rises);
    entry->curve = (struct gw_curve){.points = calloc(most, sizeof *entry->curve.points)};
    enum gw_status status = GW_OK;
    if (means == NULL || rises == NULL || entry->curve.points == NULL) {
        status = gw_fail_memory(error, "importing a curve");
    } else {
        status = drop_disturbed(cluster, entry, means, merge_rows(rows, means), rises, error);
    }
    status =
        status == GW_OK ? put_raw(entry->kept, means, entry->curve.point_count, error) : status;
    free(rises);
    free(means);
    GW_TRY(status);
    if (entry->curve.point_count < 2) {
        return GW_OK; /* it is taken out */
    }
    GW_TRY(gw_curve_make_rise(&entry->curve, NULL, error));
    GW_TRY(gw_curve_begin_above_zero(&entry->curve, error));
    return gw_collective_read_details(entry, error);
}

static enum gw_status make_curves(struct gw_cluster *cluster, struct gw_error *error) {
    for (size_t i = 0; i < cluster->collective_count;) {
        struct gw_collective_cost *entry = &cluster->collectives[i];
        cJSON *rows = cJSON_DetachItemFromObjectCaseSensitive(entry->kept, gw_import_rows);
        enum gw_status status = rows == NULL ? GW_OK : make_curve(cluster, entry, rows, error);
        cJSON_Delete(rows);
        GW_TRY(status);
        if (entry->curve.point_count == 1) {
            const cJSON *files = cJSON_GetObjectItemCaseSensitive(gw_import_source(entry), "files");
            GW_TRY(gw_import_pass_over(
                cluster, error, "%s: %s among %zu: expected two sizes or more, got one",
                cJSON_GetStringValue(cJSON_GetArrayItem(files, 0)), entry->name, entry->workers));
            gw_cluster_remove_collective(cluster, i);
        } else {
            i++;
        }
    }
    const char *why = gw_import_passed_over(cluster, 0);
    return cluster->collective_count > 0
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "%s",
                         why == NULL ? "expected files to import, got none" : why);
}

/*
 * The margin of an allgather that nobody measured. It takes half of an allreduce of all that it
 * gathers, which is a reduce-scatter and an allgather (Thakur, Rabenseifner and Gropp, 2005). The
 * margin is the largest error of that in traces/clusters/box-4x1gbit.json, which measured both.
 */
static const double halved_margin = 1.3;

static void put_halved_margin(struct gw_json_writer *writer, const struct gw_margins *margins,
                              size_t workers, double total_bytes) {
    gw_writer_array(writer, NULL);
    gw_writer_number(writer, NULL, total_bytes / (double)workers);
    gw_writer_number(writer, NULL, hypot(halved_margin, gw_margins_distance(margins, total_bytes)));
    gw_writer_end(writer);
}

/*
 * At the ends of the measured sizes, and beyond them in steps, as far as the allreduce's grow and
 * readers take sizes.
 */
static void put_halved_margins(struct gw_json_writer *writer, const struct gw_margins *margins,
                               size_t workers) {
    enum { STEPS = 10 };
    static const double step = 8;
    double smallest = margins->count > 0 ? margins->medians[0].size : 1;
    double largest = margins->count > 0 ? margins->medians[margins->count - 1].size : 1;
    gw_writer_array(writer, "uncertainty");
    for (int i = STEPS; i > 0; i--) {
        if (smallest * pow(step, -i) >= 1) {
            put_halved_margin(writer, margins, workers, smallest * pow(step, -i));
        }
    }
    put_halved_margin(writer, margins, workers, smallest);
    for (int i = largest > smallest ? 0 : 1; i <= STEPS; i++) {
        if (largest * pow(step, i) / (double)workers <= GW_IMPORT_MAX_EXACT) {
            put_halved_margin(writer, margins, workers, largest * pow(step, i));
        }
    }
    gw_writer_end(writer);
}

static enum gw_status put_halved_details(const struct gw_collective_cost *allreduce, cJSON **out,
                                         struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    put_halved_margins(&writer, &allreduce->margins, allreduce->workers);
    gw_writer_object(&writer, "source");
    gw_writer_text(&writer, "kind", "assumed");
    gw_writer_text(&writer, "measured", "allreduce");
    gw_writer_end(&writer);
    return gw_writer_finish(&writer, out, error);
}

static enum gw_status halve_allreduce(struct gw_cluster *cluster, size_t index,
                                      struct gw_error *error) {
    const struct gw_collective_cost *allreduce = &cluster->collectives[index];
    size_t workers = allreduce->workers;
    cJSON *details = NULL;
    struct gw_curve curve = {0};
    GW_TRY(gw_curve_copy(&allreduce->curve, &curve, error));
    for (size_t i = 0; i < curve.point_count; i++) {
        curve.points[i].size /= (double)workers;
        curve.points[i].time_s /= 2;
    }
    enum gw_status status = put_halved_details(allreduce, &details, error);
    if (status != GW_OK) {
        gw_curve_free(&curve);
        return status;
    }
    return gw_cluster_add_collective(cluster, "allgather", workers, curve, details, error);
}

static enum gw_status add_allgather(struct gw_cluster *cluster, struct gw_error *error) {
    size_t count = cluster->collective_count;
    if (gw_cluster_find_collective(cluster, "allgather", 0) != NULL ||
        gw_cluster_find_collective(cluster, "allgatherv", 0) != NULL) {
        return GW_OK;
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(cluster->collectives[i].name, "allreduce") == 0) {
            GW_TRY(halve_allreduce(cluster, i, error));
        }
    }
    return GW_OK;
}

/* Sets the numbers of workers; if nodes are unknown, each worker has its own, with a note. */
static enum gw_status set_workers(struct gw_cluster *cluster, struct gw_error *error) {
    size_t workers = 0;
    size_t per_node = 0;
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const struct gw_collective_cost *cost = &cluster->collectives[i];
        double here = cJSON_GetNumberValue(
            cJSON_GetObjectItemCaseSensitive(gw_import_source(cost), "workers_per_node"));
        workers = cost->workers > workers ? cost->workers : workers;
        per_node = here > (double)per_node ? (size_t)here : per_node;
    }
    cluster->workers = workers > cluster->workers ? workers : cluster->workers;
    if (cluster->workers_per_node > 0) {
        return GW_OK;
    }
    cluster->workers_per_node = per_node > 0 ? per_node : 1;
    return per_node > 0
               ? GW_OK
               : gw_cluster_put_source(cluster, "note",
                                       "Nothing imported says how many workers a node has: one is "
                                       "assumed, --gpus-per-node says otherwise.",
                                       error);
}

static enum gw_status put_files(struct gw_cluster *cluster, struct gw_error *error) {
    GW_TRY(gw_cluster_source(cluster, "kind") != NULL
               ? GW_OK
               : gw_cluster_put_source(cluster, "kind", "imported", error));
    cJSON *source = cJSON_GetObjectItemCaseSensitive(cluster->kept, "source");
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const cJSON *from = gw_import_source(&cluster->collectives[i]);
        const cJSON *file = NULL;
        cJSON_ArrayForEach(file, cJSON_GetObjectItemCaseSensitive(from, "files")) {
            GW_TRY(gw_import_put_file(source, cJSON_GetStringValue(file), error));
        }
    }
    return GW_OK;
}

enum gw_status gw_import_finish(struct gw_cluster *cluster, struct gw_error *error) {
    GW_TRY(make_curves(cluster, error));
    GW_TRY(add_allgather(cluster, error));
    GW_TRY(put_files(cluster, error));
    GW_TRY(set_workers(cluster, error));
    return gw_cluster_put_growth(cluster, error);
}
