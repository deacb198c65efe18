#include "traces/imports.h"

#include <math.h>
#include <search.h>
#include <stdarg.h>
#include <string.h>

#include "traces/import_parts.h"
#include "traces/parts.h"

/* ---- adding to a cluster ------------------------------------------------------------------- */

enum gw_status gw_import_point(struct gw_raw *raw, double bytes, double time_us, double rows,
                               struct gw_error *error) {
    if (bytes > 0 && time_us > 0) {
        double mean_s = time_us * 1e-6;
        GW_GROW(raw->sizes, raw->count + 1, raw->capacity, "importing a curve", error);
        raw->sizes[raw->count++] =
            (struct gw_raw_size){bytes, mean_s, mean_s, mean_s, NAN, NAN, rows};
    }
    return GW_OK;
}

cJSON *gw_import_source(const struct gw_collective_cost *cost) {
    cJSON *source = cJSON_GetObjectItemCaseSensitive(cost->kept, "source");
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(source, "kind"));
    return kind != NULL && strcmp(kind, "imported") == 0 ? source : NULL;
}

enum { IMPORT_TEXT_SIZE = 1024 }; /* of a file's name, or of a setting */

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

enum gw_status gw_import_put_file(cJSON *source, const char *file, struct gw_error *error) {
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

/* Puts a text, unless one is there: the first file that has a version or a date says it. */
static enum gw_status put_if_new(cJSON *source, const char *key, const char *text,
                                 struct gw_error *error) {
    char visible[IMPORT_TEXT_SIZE]; /* files may have bytes that are no text */
    bool is_known = text[0] == '\0' || cJSON_GetObjectItemCaseSensitive(source, key) != NULL;
    gw_visible(text, visible, sizeof visible);
    return is_known ? GW_OK : gw_json_put_text(source, key, visible, error);
}

/* Keys of the settings in the file, which messages use too. */
static const char *const settings[] = {
    [GW_IMPORT_LAYOUT] = "layout",       [GW_IMPORT_PROCESSES] = "processes",
    [GW_IMPORT_DEVICE] = "device",       [GW_IMPORT_TYPE] = "type",
    [GW_IMPORT_OPERATION] = "operation", [GW_IMPORT_REPEATS] = "repeats",
    [GW_IMPORT_BLOCKING] = "blocking",   [GW_IMPORT_BUILD] = "build",
    [GW_IMPORT_COMMAND] = "variables",   [GW_IMPORT_LOGGED] = "logged variables"};

void gw_import_put_word(char setting[GW_IMPORT_MAX_SETTING], const char *word) {
    char old[GW_IMPORT_MAX_SETTING];
    size_t at = 0;
    (void)snprintf(old, sizeof old, "%s", setting);
    while (old[at] != '\0') {
        size_t length = strcspn(old + at, " ");
        int order = strncmp(old + at, word, length);
        if (order == 0 && word[length] == '\0') {
            return;
        }
        if (order > 0) {
            break;
        }
        at += length + strspn(old + at + length, " ");
    }
    bool is_last = old[at] == '\0';
    char made[IMPORT_TEXT_SIZE];
    (void)snprintf(made, sizeof made, "%.*s%s%s%s%s", (int)at, old, is_last && at > 0 ? " " : "",
                   word, is_last ? "" : " ", old + at);
    if (strlen(made) >= GW_IMPORT_MAX_SETTING) { /* keeps whole words alone */
        made[GW_IMPORT_MAX_SETTING - 1] = '\0';
        char *last = strrchr(made, ' ');
        made[last == NULL ? strlen(made) : (size_t)(last - made)] = '\0';
    }
    memcpy(setting, made, strlen(made) + 1);
}

/* Tells whether a setting is a list of "name=value", of which two tables may lack some. */
static bool has_values(size_t setting) {
    return setting == GW_IMPORT_REPEATS || setting == GW_IMPORT_BUILD ||
           setting == GW_IMPORT_LOGGED;
}

void gw_import_print_place(const struct gw_import_table *table, const char *path, char *out,
                           size_t size) {
    (void)snprintf(out, size, table->line > 0 ? "%s:%zu" : "%s", path, table->line);
}

/* Puts the words of a list that no table before had. */
static enum gw_status put_values(cJSON *kept, const char *key,
                                 const char setting[GW_IMPORT_MAX_SETTING],
                                 struct gw_error *error) {
    const char *before = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(kept, key));
    char visible[IMPORT_TEXT_SIZE];
    char all[GW_IMPORT_MAX_SETTING];
    char *rest = NULL;
    if (setting[0] == '\0') {
        return GW_OK;
    }
    gw_visible(setting, visible, sizeof visible);
    (void)snprintf(all, sizeof all, "%s", before == NULL ? "" : before);
    for (char *word = strtok_r(visible, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        gw_import_put_word(all, word);
    }
    return gw_json_put_text(kept, key, all, error);
}

/* Puts the settings of a table that no table before had, and the place of the first table. */
static enum gw_status put_settings(cJSON *source, const struct gw_import_table *table,
                                   const char *path, struct gw_error *error) {
    char place[IMPORT_TEXT_SIZE];
    bool is_said = false;
    for (size_t i = 0; i < GW_IMPORT_SETTINGS; i++) {
        is_said = is_said || table->settings[i][0] != '\0';
    }
    if (!is_said) {
        return GW_OK;
    }
    if (cJSON_GetObjectItemCaseSensitive(source, "settings") == NULL) {
        GW_TRY(gw_json_put(source, "settings", cJSON_CreateObject(), error));
    }
    cJSON *kept = cJSON_GetObjectItemCaseSensitive(source, "settings");
    for (size_t i = 0; i < GW_IMPORT_SETTINGS; i++) {
        GW_TRY(has_values(i) ? put_values(kept, settings[i], table->settings[i], error)
                             : put_if_new(kept, settings[i], table->settings[i], error));
    }
    gw_import_print_place(table, name_of(path), place, sizeof place);
    return put_if_new(source, "place", place, error);
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
    GW_TRY(put_settings(source, table, paths->list[0], error));
    if (table->workers_per_node > 0) {
        GW_TRY(
            gw_json_put_number(source, "workers_per_node", (double)table->workers_per_node, error));
    }
    for (size_t i = 0; i < paths->count; i++) {
        GW_TRY(gw_import_put_file(source, name_of(paths->list[i]), error));
    }
    return GW_OK;
}

/* Refuses a second program in a curve: two programs take times in two ways, which have no mean. */
static enum gw_status check_tool(const struct gw_collective_cost *entry,
                                 const struct gw_import_table *table, const char *path,
                                 struct gw_error *error) {
    const char *tool =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(gw_import_source(entry), "tool"));
    if (tool != NULL && strcmp(tool, table->tool) == 0) {
        return GW_OK;
    }
    return gw_fail(error, GW_BAD_INPUT,
                   "%s: %s among %zu: expected all of a curve from one program, got %s after %s",
                   path, table->collective, table->workers, table->tool,
                   tool == NULL ? "another" : tool);
}

/* Tells whether a variable has one value in the one text and another value in the other. */
static bool has_other_value(const char *a, const char *b) {
    char words[IMPORT_TEXT_SIZE];
    char *rest = NULL;
    (void)snprintf(words, sizeof words, "%s", a);
    for (char *word = strtok_r(words, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        size_t name = strcspn(word, "=");
        for (const char *at = b; *at != '\0'; at += strspn(at, " ")) {
            size_t length = strcspn(at, " ");
            if (strncmp(at, word, name) == 0 && at[name] == '=' &&
                (length != strlen(word) || strncmp(at, word, length) != 0)) {
                return true;
            }
            at += length;
        }
    }
    return false;
}

/* Refuses a table that was measured under other settings than those before it. */
static enum gw_status check_settings(const struct gw_collective_cost *entry,
                                     const struct gw_import_table *table, const char *path,
                                     struct gw_error *error) {
    const cJSON *source = gw_import_source(entry);
    const cJSON *kept = cJSON_GetObjectItemCaseSensitive(source, "settings");
    for (size_t i = 0; i < GW_IMPORT_SETTINGS; i++) {
        const char *before =
            cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(kept, settings[i]));
        char now[IMPORT_TEXT_SIZE];
        char place[IMPORT_TEXT_SIZE];
        gw_visible(table->settings[i], now, sizeof now);
        if (before == NULL || now[0] == '\0' || strcmp(before, now) == 0 ||
            (has_values(i) && !has_other_value(now, before))) {
            continue;
        }
        gw_import_print_place(table, path, place, sizeof place);
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: %s among %zu: expected all of a curve under one %s, got %s after %s "
                       "(%s): import them apart",
                       place, table->collective, table->workers, settings[i], now, before,
                       cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(source, "place")));
    }
    return GW_OK;
}

/* Finds the entry of a collective among so many workers, or adds one without a curve. */
static enum gw_status find_entry(struct gw_cluster *cluster, const struct gw_import_table *table,
                                 const char *path, struct gw_collective_cost **out,
                                 struct gw_error *error) {
    for (size_t i = 0; i < cluster->collective_count; i++) {
        struct gw_collective_cost *cost = &cluster->collectives[i];
        if (cost->workers == table->workers && strcmp(cost->name, table->collective) == 0) {
            *out = cost;
            GW_TRY(check_tool(cost, table, path, error));
            return check_settings(cost, table, path, error);
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

enum gw_status gw_import_add(struct gw_import_table *table, const struct gw_import_paths *paths,
                             struct gw_cluster *cluster, struct gw_error *error) {
    const char *path = paths->list[0];
    char place[IMPORT_TEXT_SIZE];
    struct gw_collective_cost *entry = NULL;
    gw_import_print_place(table, path, place, sizeof place);
    if (table->workers < 2) {
        table->raw.count = 0;
        return gw_import_pass_over(cluster, error, "%s: %s: expected two ranks or more, got %zu",
                                   place, table->collective, table->workers);
    }
    if (table->raw.count == 0) {
        return gw_import_pass_over(
            cluster, error,
            "%s: %s among %zu: expected rows of more than 0 bytes and 0 us, got none", place,
            table->collective, table->workers);
    }
    GW_TRY(find_entry(cluster, table, path, &entry, error));
    struct gw_raw *raw = &entry->raw;
    GW_GROW(raw->sizes, raw->count + table->raw.count, raw->capacity, "importing a curve", error);
    memcpy(raw->sizes + raw->count, table->raw.sizes, table->raw.count * sizeof *raw->sizes);
    raw->count += table->raw.count;
    table->raw.count = 0;
    return put_source(entry->kept, table, paths, error);
}

/* ---- what is passed over ------------------------------------------------------------------- */

enum { MOST_PASSED_OVER = 20 }; /* reasons */
static const char passed_over[] = "passed_over";

static cJSON *passed_over_in(const struct gw_cluster *cluster) {
    const cJSON *source = cJSON_GetObjectItemCaseSensitive(cluster->kept, "source");
    return cJSON_GetObjectItemCaseSensitive(source, passed_over);
}

const char *gw_import_passed_over(const struct gw_cluster *cluster, size_t index) {
    return index <= MOST_PASSED_OVER
               ? cJSON_GetStringValue(cJSON_GetArrayItem(passed_over_in(cluster), (int)index))
               : NULL;
}

enum gw_status gw_import_pass_over(struct gw_cluster *cluster, struct gw_error *error,
                                   const char *format, ...) {
    char message[IMPORT_TEXT_SIZE];
    char visible[IMPORT_TEXT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    gw_visible(message, visible, sizeof visible);
    if (!cJSON_IsArray(passed_over_in(cluster))) {
        GW_TRY(gw_cluster_put_source(cluster, "kind", "imported", error));
        cJSON *source = cJSON_GetObjectItemCaseSensitive(cluster->kept, "source");
        GW_TRY(gw_json_put(source, passed_over, cJSON_CreateArray(), error));
    }
    cJSON *list = passed_over_in(cluster);
    const char *last = cJSON_GetStringValue(cJSON_GetArrayItem(list, MOST_PASSED_OVER));
    if (cJSON_GetArraySize(list) >= MOST_PASSED_OVER) { /* behind them stands how many more */
        (void)snprintf(visible, sizeof visible, "%llu more",
                       1 + (last == NULL ? 0 : strtoull(last, NULL, 10)));
        cJSON_DeleteItemFromArray(list, MOST_PASSED_OVER);
    }
    return gw_json_append(list, cJSON_CreateString(visible), error);
}

enum gw_status gw_import_pass_over_part(struct gw_import_text *text, struct gw_error *error,
                                        const char *format, ...) {
    bool was_useless = text->is_useless;
    char why[IMPORT_TEXT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    text->is_useless = true;
    return was_useless ? GW_OK
                       : gw_import_pass_over(text->cluster, error, "%s:%zu: %s", text->path,
                                             text->number, why);
}

/* ---- names --------------------------------------------------------------------------------- */

struct name {
    size_t number;
    char text[];
};

static int by_text(const void *a, const void *b) {
    return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

enum gw_status gw_import_find_name(struct gw_import_names *names, const char *text, size_t *number,
                                   struct gw_error *error) {
    size_t size = strlen(text) + 1;
    struct name *name = malloc(sizeof *name + size);
    if (name == NULL) {
        return gw_fail_memory(error, "importing names");
    }
    name->number = names->count;
    memcpy(name->text, text, size);
    struct name **found = tsearch(name, &names->tree, by_text);
    if (found == NULL || *found != name) {
        free(name);
    } else {
        names->count++;
    }
    if (found == NULL) {
        return gw_fail_memory(error, "importing names");
    }
    *number = (*found)->number;
    return GW_OK;
}

void gw_import_free_names(struct gw_import_names *names) {
    tdestroy(names->tree, free);
    *names = (struct gw_import_names){0};
}

/* ---- names of files ------------------------------------------------------------------------ */

enum gw_status gw_import_name_files(struct gw_cluster *cluster, const struct gw_import_paths *paths,
                                    struct gw_error *error) {
    cJSON *source = cJSON_GetObjectItemCaseSensitive(cluster->kept, "source");
    for (size_t i = 0; i < paths->count; i++) {
        GW_TRY(gw_import_put_file(source, name_of(paths->list[i]), error));
    }
    return GW_OK;
}
