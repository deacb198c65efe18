/* Makes curves of rows that were imported, once all files are read, and adds what they imply. */
#include <math.h>
#include <string.h>

#include "traces/import_parts.h"
#include "traces/margins.h"
#include "traces/parts.h"

/* ---- curves -------------------------------------------------------------------------------- */

static int by_size_and_time(const void *a, const void *b) {
    const struct gw_raw_size *left = a, *right = b;
    int order = (left->size > right->size) - (left->size < right->size);
    return order != 0 ? order
                      : (left->median_s > right->median_s) - (left->median_s < right->median_s);
}

/* Makes one mean of the rows of each size, in ascending order, with the range of their times. */
static void merge_rows(struct gw_raw *raw) {
    size_t count = raw->count;
    raw->count = 0;
    qsort(raw->sizes, count, sizeof *raw->sizes, by_size_and_time);
    for (size_t i = 0; i < count; i++) {
        const struct gw_raw_size *row = &raw->sizes[i];
        struct gw_raw_size *last = &raw->sizes[raw->count - (raw->count > 0)];
        if (raw->count == 0 || last->size < row->size) {
            raw->sizes[raw->count++] = *row;
        } else {
            last->rows += row->rows;
            last->median_s += (row->median_s - last->median_s) * row->rows / last->rows;
            last->high_s = row->high_s;
        }
    }
}

/* A row that takes so many times as long as a larger one was disturbed, if most rows rise. */
static const double disturbed = 1.5;

/* Makes points of all means, takes disturbed ones out of both, and keeps a reason for each. */
static enum gw_status drop_disturbed(struct gw_cluster *cluster, struct gw_collective_cost *entry,
                                     bool *rises, struct gw_error *error) {
    const cJSON *files = cJSON_GetObjectItemCaseSensitive(gw_import_source(entry), "files");
    struct gw_curve_point *points = entry->curve.points;
    struct gw_raw *raw = &entry->raw;
    size_t count = raw->count;
    size_t next = 0;
    for (size_t i = 0; i < count; i++) {
        points[i] = (struct gw_curve_point){raw->sizes[i].size, raw->sizes[i].median_s};
    }
    entry->curve.point_count = count;
    GW_TRY(gw_curve_find_rising(&entry->curve, rises, error));
    raw->count = 0;
    for (size_t i = 0; i < count; i++) {
        next = next < i ? i : next;
        while (next < count && !rises[next]) {
            next++;
        }
        if (next == count || points[i].time_s <= disturbed * points[next].time_s) {
            raw->sizes[raw->count] = raw->sizes[i];
            points[raw->count++] = points[i];
            continue;
        }
        GW_TRY(gw_import_pass_over(cluster, error,
                                   "%s: %s among %zu: expected times that grow with sizes, got "
                                   "%.6g us of %.0f bytes before %.6g us of %.0f",
                                   cJSON_GetStringValue(cJSON_GetArrayItem(files, 0)), entry->name,
                                   entry->workers, 1e6 * points[i].time_s, points[i].size,
                                   1e6 * points[next].time_s, points[next].size));
    }
    entry->curve.point_count = raw->count;
    return GW_OK;
}

/* Writes "raw" as calibrate does, with means for medians, and an interval where rows differ. */
static enum gw_status put_raw(struct gw_collective_cost *entry, struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin_with(&writer, entry->kept);
    gw_writer_array(&writer, "raw");
    for (size_t i = 0; i < entry->raw.count; i++) {
        const struct gw_raw_size *mean = &entry->raw.sizes[i];
        gw_writer_object(&writer, NULL);
        gw_writer_number(&writer, "bytes", mean->size);
        gw_writer_number(&writer, "median_s", mean->median_s);
        gw_writer_number(&writer, "rows", mean->rows);
        if (mean->low_s < mean->high_s) {
            gw_writer_number(&writer, "median_low_s", mean->low_s);
            gw_writer_number(&writer, "median_high_s", mean->high_s);
        }
        gw_writer_end(&writer);
    }
    gw_writer_end(&writer);
    return gw_writer_finish(&writer, &entry->kept, error);
}

static enum gw_status make_curve(struct gw_cluster *cluster, struct gw_collective_cost *entry,
                                 struct gw_error *error) {
    bool *rises = calloc(entry->raw.count, sizeof *rises);
    merge_rows(&entry->raw);
    entry->curve.points = calloc(entry->raw.count, sizeof *entry->curve.points);
    enum gw_status status = rises == NULL || entry->curve.points == NULL
                                ? gw_fail_memory(error, "importing a curve")
                                : drop_disturbed(cluster, entry, rises, error);
    free(rises);
    GW_TRY(status);
    GW_TRY(put_raw(entry, error));
    if (entry->curve.point_count < 2) {
        return GW_OK; /* it is taken out */
    }
    GW_TRY(gw_curve_make_rise(&entry->curve, &entry->raw, error));
    GW_TRY(gw_curve_begin_above_zero(&entry->curve, error));
    return gw_collective_read_details(entry, error);
}

static enum gw_status make_curves(struct gw_cluster *cluster, struct gw_error *error) {
    for (size_t i = 0; i < cluster->collective_count;) {
        struct gw_collective_cost *entry = &cluster->collectives[i];
        bool has_rows = entry->raw.count > 0 && !gw_curve_costs(&entry->curve);
        GW_TRY(has_rows ? make_curve(cluster, entry, error) : GW_OK);
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
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    put_halved_margins(&writer, &allreduce->margins, workers);
    gw_writer_object(&writer, "source");
    gw_writer_text(&writer, "kind", "assumed");
    gw_writer_text(&writer, "measured", "allreduce");
    gw_writer_end(&writer);
    enum gw_status status = gw_writer_finish(&writer, &details, error);
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
