#include "traces/imports.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "traces/import_parts.h"
#include "traces/parts.h"

/* ---- text, line by line -------------------------------------------------------------------- */

enum gw_status gw_import_open(const char *path, struct gw_import_text *out,
                              struct gw_error *error) {
    *out = (struct gw_import_text){.path = path};
    GW_TRY(gw_file_read(path, &out->text, &out->length, error));
    out->next = out->text;
    if (memchr(out->text, '\0', out->length) != NULL) {
        gw_import_close(out);
        return gw_fail(error, GW_BAD_INPUT, "%s: expected text, got zero bytes", path);
    }
    return GW_OK;
}

void gw_import_close(struct gw_import_text *text) {
    free(text->text);
    *text = (struct gw_import_text){0};
}

/* Behind "[1,0]<stdout>:", which mpirun --tag-output puts before what a rank prints. */
static char *without_tag(char *line) {
    static const char tag_end[] = "<stdout>:";
    size_t numbers = line[0] == '[' ? 1 + strspn(line + 1, "0123456789,") : 0;
    bool is_tagged = numbers > 0 && line[numbers] == ']' &&
                     strncmp(line + numbers + 1, tag_end, sizeof tag_end - 1) == 0;
    return is_tagged ? line + numbers + sizeof tag_end : line;
}

bool gw_import_next_line(struct gw_import_text *text) {
    if (*text->next == '\0') {
        return false;
    }
    char *line = text->next;
    size_t length = strcspn(line, "\n");
    text->next = line[length] == '\0' ? line + length : line + length + 1;
    line[length] = '\0';
    if (length > 0 && line[length - 1] == '\r') {
        line[length - 1] = '\0';
    }
    text->line = without_tag(line);
    text->number++;
    return true;
}

enum gw_status gw_import_bad(const struct gw_import_text *text, struct gw_error *error,
                             const char *format, ...) {
    char message[sizeof error->message] = "";
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return gw_fail(error, GW_BAD_INPUT, "%s:%zu: %s", text->path, text->number, message);
}

size_t gw_import_words(char *line, char **words, size_t most) {
    static const char blanks[] = " \t";
    size_t count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(line, blanks, &rest); word != NULL;
         word = strtok_r(NULL, blanks, &rest)) {
        if (count < most) {
            words[count] = word;
        }
        count++;
    }
    return count;
}

bool gw_import_is_row(const char *line) {
    line += strspn(line, " \t");
    size_t length = 0;
    while (isalnum((unsigned char)line[length])) {
        length++;
    }
    return isdigit((unsigned char)line[0]) && strchr(" \t", line[length]) != NULL;
}

bool gw_import_integer(const char *word, double *out) {
    static const double largest_exact = 9007199254740992.0;
    *out = strtod(word, NULL);
    return word[0] != '\0' && word[strspn(word, "0123456789")] == '\0' && *out <= largest_exact;
}

bool gw_import_number(const char *word, double *out) {
    char *end = NULL;
    *out = strtod(word, &end);
    return end != word && *end == '\0' && isfinite(*out) && *out >= 0;
}

/* ---- adding to a cluster ------------------------------------------------------------------- */

enum gw_status gw_import_point(struct gw_import_table *table, double bytes, double time_us,
                               double rows, struct gw_error *error) {
    if (!(bytes > 0) || !(time_us > 0)) {
        return GW_OK;
    }
    struct gw_import_mean *larger =
        gw_grow(table->means, table->count + 1, &table->capacity, sizeof *larger);
    if (larger == NULL) {
        return gw_fail_memory(error, "importing a curve");
    }
    table->means = larger;
    larger[table->count++] =
        (struct gw_import_mean){.bytes = bytes, .mean_s = time_us * 1e-6, .rows = rows};
    return GW_OK;
}

static double number_in(const cJSON *object, const char *key) {
    return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

/* Where an entry comes from; NULL: it was not imported. */
static cJSON *imported_source(const struct gw_collective_cost *cost) {
    cJSON *source = cJSON_GetObjectItemCaseSensitive(cost->kept, "source");
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(source, "kind"));
    return kind != NULL && strcmp(kind, "imported") == 0 ? source : NULL;
}

static int by_bytes(const void *a, const void *b) {
    double left = ((const struct gw_import_mean *)a)->bytes;
    double right = ((const struct gw_import_mean *)b)->bytes;
    return (left > right) - (left < right);
}

/* What "raw" has, and the points of the table, each size once; room for both is the caller's. */
static size_t merge(const cJSON *raw, const struct gw_import_table *table,
                    struct gw_import_mean *means) {
    size_t count = 0;
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, raw) {
        means[count++] = (struct gw_import_mean){.bytes = number_in(item, "bytes"),
                                                 .mean_s = number_in(item, "median_s"),
                                                 .rows = number_in(item, "rows")};
    }
    for (size_t i = 0; i < table->count; i++) {
        means[count++] = table->means[i];
    }
    qsort(means, count, sizeof *means, by_bytes);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct gw_import_mean *last = kept > 0 ? &means[kept - 1] : NULL;
        if (last == NULL || last->bytes < means[i].bytes) {
            means[kept++] = means[i];
        } else {
            double rows = last->rows + means[i].rows;
            last->mean_s += (means[i].mean_s - last->mean_s) * means[i].rows / rows;
            last->rows = rows;
        }
    }
    return kept;
}

/* As what calibrate keeps, with means for medians, and no intervals: none are printed. */
static enum gw_status put_raw(cJSON *details, const struct gw_import_mean *means, size_t count,
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
        gw_writer_end(&writer);
    }
    gw_writer_end(&writer);
    GW_TRY(gw_writer_finish(&writer, &document, error));
    cJSON *raw = cJSON_DetachItemFromObjectCaseSensitive(document, "raw");
    cJSON_Delete(document);
    return gw_json_put(details, "raw", raw, error);
}

enum { IMPORT_TEXT_SIZE = 1024 }; /* of a file's name, or of what it says of itself */

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* Adds a name to the object's "files", unless it is there. */
static enum gw_status put_file(cJSON *source, const char *file, struct gw_error *error) {
    cJSON *files = cJSON_GetObjectItemCaseSensitive(source, "files");
    const cJSON *item = NULL;
    char visible[IMPORT_TEXT_SIZE];
    gw_visible(file, visible, sizeof visible);
    if (files == NULL) {
        GW_TRY(gw_json_put(source, "files", cJSON_CreateArray(), error));
        files = cJSON_GetObjectItemCaseSensitive(source, "files");
    }
    cJSON_ArrayForEach(item, files) {
        if (cJSON_IsString(item) && strcmp(item->valuestring, visible) == 0) {
            return GW_OK;
        }
    }
    return gw_json_append(files, cJSON_CreateString(visible), error);
}

/* What is there stays: version and date are those of the first file that says them. */
static enum gw_status put_if_new(cJSON *source, const char *key, const char *text,
                                 struct gw_error *error) {
    char visible[IMPORT_TEXT_SIZE]; /* what a file says may be no text at all */
    bool is_known = text[0] == '\0' || cJSON_GetObjectItemCaseSensitive(source, key) != NULL;
    gw_visible(text, visible, sizeof visible);
    return is_known ? GW_OK : gw_json_put_text(source, key, visible, error);
}

static enum gw_status put_source(cJSON *details, const struct gw_import_table *table,
                                 const struct gw_import_paths *paths, struct gw_error *error) {
    cJSON *source = cJSON_GetObjectItemCaseSensitive(details, "source");
    if (source == NULL) {
        GW_TRY(gw_json_put(details, "source", cJSON_CreateObject(), error));
        source = cJSON_GetObjectItemCaseSensitive(details, "source");
    }
    GW_TRY(put_if_new(source, "kind", "imported", error));
    GW_TRY(put_if_new(source, "tool", table->tool, error));
    GW_TRY(put_if_new(source, "version", table->version, error));
    GW_TRY(put_if_new(source, "date", table->date, error));
    if (table->workers_per_node > 0) {
        GW_TRY(
            gw_json_put_number(source, "workers_per_node", (double)table->workers_per_node, error));
    }
    for (size_t i = 0; i < paths->count; i++) {
        GW_TRY(put_file(source, name_of(paths->list[i]), error));
    }
    return GW_OK;
}

/* Times of two programs are not of the same thing: they have no mean. */
static enum gw_status check_tool(const struct gw_collective_cost *entry,
                                 const struct gw_import_table *table, const char *path,
                                 struct gw_error *error) {
    const char *tool =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(imported_source(entry), "tool"));
    if (tool != NULL && strcmp(tool, table->tool) == 0) {
        return GW_OK;
    }
    return gw_fail(error, GW_BAD_INPUT,
                   "%s: %s among %zu: expected all of a curve from one program, got %s after %s",
                   path, table->collective, table->workers, table->tool,
                   tool == NULL ? "another" : tool);
}

/* The entry of that collective among as many workers; a new one, without a curve, if need be. */
static enum gw_status find_entry(struct gw_cluster *cluster, const struct gw_import_table *table,
                                 const char *path, struct gw_collective_cost **out,
                                 struct gw_error *error) {
    for (size_t i = 0; i < cluster->collective_count; i++) {
        struct gw_collective_cost *cost = &cluster->collectives[i];
        if (cost->workers == table->workers && strcmp(cost->name, table->collective) == 0) {
            *out = cost;
            return check_tool(cost, table, path, error);
        }
    }
    cJSON *details = cJSON_CreateObject();
    if (details == NULL) {
        return gw_fail_memory(error, "importing a curve");
    }
    GW_TRY(gw_cluster_add_collective(cluster, table->collective, table->workers,
                                     (struct gw_curve){0}, details, error));
    *out = &cluster->collectives[cluster->collective_count - 1];
    return GW_OK;
}

static enum gw_status add_points(struct gw_collective_cost *entry,
                                 const struct gw_import_table *table,
                                 const struct gw_import_paths *paths, struct gw_error *error) {
    const cJSON *raw = cJSON_GetObjectItemCaseSensitive(entry->kept, "raw");
    size_t most = (size_t)cJSON_GetArraySize(raw) + table->count;
    struct gw_import_mean *means = calloc(most, sizeof *means);
    struct gw_curve_point *points = calloc(most, sizeof *points);
    if (means == NULL || points == NULL) {
        free(points);
        free(means);
        return gw_fail_memory(error, "importing a curve");
    }
    size_t count = merge(raw, table, means);
    for (size_t i = 0; i < count; i++) {
        points[i] = (struct gw_curve_point){.size = means[i].bytes, .time_s = means[i].mean_s};
    }
    gw_curve_free(&entry->curve);
    entry->curve = (struct gw_curve){.point_count = count, .points = points};
    gw_curve_raise_fallen(&entry->curve, NULL);
    enum gw_status status = put_raw(entry->kept, means, count, error);
    free(means);
    GW_TRY(status);
    return put_source(entry->kept, table, paths, error);
}

enum gw_status gw_import_add(struct gw_import_table *table, const struct gw_import_paths *paths,
                             struct gw_cluster *cluster, struct gw_error *error) {
    const char *path = paths->list[0];
    struct gw_collective_cost *entry = NULL;
    if (table->workers < 2) {
        return gw_fail(error, GW_BAD_INPUT, "%s: %s: expected two ranks or more, got %zu", path,
                       table->collective, table->workers);
    }
    if (table->count == 0) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: %s among %zu: expected rows of more than 0 bytes and 0 us, got none",
                       path, table->collective, table->workers);
    }
    GW_TRY(find_entry(cluster, table, path, &entry, error));
    GW_TRY(add_points(entry, table, paths, error));
    table->count = 0;
    return GW_OK;
}

/* ---- after the last file ------------------------------------------------------------------- */

static enum gw_status check_points(const struct gw_cluster *cluster, struct gw_error *error) {
    if (cluster->collective_count == 0) {
        return gw_fail(error, GW_BAD_INPUT, "expected files to import, got none");
    }
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const struct gw_collective_cost *cost = &cluster->collectives[i];
        const cJSON *files = cJSON_GetObjectItemCaseSensitive(imported_source(cost), "files");
        const char *file = cJSON_GetStringValue(cJSON_GetArrayItem(files, 0));
        if (cost->curve.point_count == 1) {
            return gw_fail(error, GW_BAD_INPUT,
                           "%s: %s among %zu: expected two sizes or more, got one",
                           file == NULL ? cluster->name : file, cost->name, cost->workers);
        }
    }
    return GW_OK;
}

/*
 * An allgather that nobody measured: half of an allreduce of all that it gathers, which is a
 * reduce-scatter and an allgather (Thakur, Rabenseifner and Gropp, 2005). By so much that is off,
 * at worst, from what traces/clusters/box-4x1gbit.json measured of both.
 */
static const double halved_margin = 1.3;

static enum gw_status put_halved_details(cJSON **out, struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_array(&writer, "uncertainty");
    gw_writer_array(&writer, NULL);
    gw_writer_number(&writer, NULL, 1);
    gw_writer_number(&writer, NULL, halved_margin);
    gw_writer_end(&writer);
    gw_writer_end(&writer);
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
    enum gw_status status = put_halved_details(&details, error);
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

static enum gw_status copy_to_allgatherv(struct gw_cluster *cluster,
                                         const struct gw_collective_cost *allgather,
                                         struct gw_error *error) {
    cJSON *details = NULL;
    struct gw_curve curve = {0};
    GW_TRY(gw_json_copy(allgather->kept, &details, error));
    cJSON *source = cJSON_GetObjectItemCaseSensitive(details, "source");
    enum gw_status status = cJSON_GetObjectItemCaseSensitive(source, "measured") != NULL
                                ? GW_OK
                                : gw_json_put_text(source, "measured", "allgather", error);
    status = status == GW_OK ? gw_curve_copy(&allgather->curve, &curve, error) : status;
    if (status != GW_OK) {
        cJSON_Delete(details);
        return status;
    }
    return gw_cluster_add_collective(cluster, "allgatherv", allgather->workers, curve, details,
                                     error);
}

/*
 * An allgatherv of as much from each rank moves as much as an allgather. Where one was measured at
 * all, it is known what that takes, and other numbers of workers are predicted from it.
 */
static enum gw_status add_allgatherv(struct gw_cluster *cluster, struct gw_error *error) {
    size_t count = cluster->collective_count;
    if (gw_cluster_find_collective(cluster, "allgatherv", 0) != NULL) {
        return GW_OK;
    }
    for (size_t i = 0; i < count; i++) {
        const struct gw_collective_cost *cost = &cluster->collectives[i];
        if (strcmp(cost->name, "allgather") == 0) {
            GW_TRY(copy_to_allgatherv(cluster, cost, error));
        }
    }
    return GW_OK;
}

static void set_workers(struct gw_cluster *cluster) {
    size_t workers = 0;
    size_t per_node = 1;
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const struct gw_collective_cost *cost = &cluster->collectives[i];
        double here = number_in(imported_source(cost), "workers_per_node");
        workers = cost->workers > workers ? cost->workers : workers;
        per_node = here > (double)per_node ? (size_t)here : per_node;
    }
    cluster->workers = workers > cluster->workers ? workers : cluster->workers;
    cluster->workers_per_node =
        cluster->workers_per_node == 0 ? per_node : cluster->workers_per_node;
}

static enum gw_status put_files(struct gw_cluster *cluster, struct gw_error *error) {
    GW_TRY(gw_cluster_source(cluster, "kind") != NULL
               ? GW_OK
               : gw_cluster_put_source(cluster, "kind", "imported", error));
    cJSON *source = cJSON_GetObjectItemCaseSensitive(cluster->kept, "source");
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const cJSON *from = imported_source(&cluster->collectives[i]);
        const cJSON *file = NULL;
        cJSON_ArrayForEach(file, cJSON_GetObjectItemCaseSensitive(from, "files")) {
            GW_TRY(put_file(source, cJSON_GetStringValue(file), error));
        }
    }
    return GW_OK;
}

enum gw_status gw_import_finish(struct gw_cluster *cluster, struct gw_error *error) {
    GW_TRY(check_points(cluster, error));
    GW_TRY(add_allgather(cluster, error));
    GW_TRY(add_allgatherv(cluster, error));
    set_workers(cluster);
    GW_TRY(put_files(cluster, error));
    return gw_cluster_put_growth(cluster, error);
}

enum gw_status gw_import_name_files(struct gw_cluster *cluster, const struct gw_import_paths *paths,
                                    struct gw_error *error) {
    cJSON *source = cJSON_GetObjectItemCaseSensitive(cluster->kept, "source");
    for (size_t i = 0; i < paths->count; i++) {
        GW_TRY(put_file(source, name_of(paths->list[i]), error));
    }
    return GW_OK;
}
