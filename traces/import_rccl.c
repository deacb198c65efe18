/*
 * Reads files that RCCL's tests write (https://github.com/ROCm/rccl-tests, --rccl_output_file): an
 * object of JSON for each measurement, a line each or in an array, or comma-separated values.
 */
#include <ctype.h>
#include <string.h>

#include "traces/import_nccl.h"

enum { MOST_FIELDS = 32, MOST_RUNS = 1024 };

/* All measurements of a test among as many ranks, and as many of a node. */
struct run {
    struct gw_nccl_run out_of_place;
    struct gw_raw in_place; /* its rows, for where there are none out of place */
};

struct reading {
    struct gw_import_text *text;
    struct gw_cluster *cluster;
    char names[MOST_FIELDS][24]; /* of the columns */
    size_t name_count;
    struct gw_import_names keys; /* of the runs */
    struct run *runs;            /* [keys.count], owned */
    size_t run_capacity;
};

static const char heading[] = "numCycle";

bool gw_nccl_is_rccl(const struct gw_import_text *text) {
    static const char blanks[] = " \t\r\n";
    const char *first = text->next + strspn(text->next, blanks);
    first += *first == '[' ? 1 + strspn(first + 1, blanks) : 0;
    return strncmp(first, heading, strlen(heading)) == 0 ||
           (*first == '{' && strstr(first, "\"busBw\"") != NULL);
}

/* ---- a measurement --------------------------------------------------------------------------- */

static enum gw_status read_count(const struct gw_json *root, const char *key, size_t otherwise,
                                 size_t *out, struct gw_error *error) {
    struct gw_json place = gw_json_member(root, key);
    uint64_t count = otherwise;
    if (place.node != NULL || otherwise == 0) {
        GW_TRY(gw_json_integer(&place, 1, &count, error));
    }
    if (count > GW_IMPORT_MAX_RANKS) {
        return gw_json_expected(&place, "at most 2^24", error);
    }
    *out = (size_t)count;
    return GW_OK;
}

/* Reads the numbers of ranks, in all and of a node: processes times GPUs with MPI, else "gpus". */
static enum gw_status read_ranks(const struct gw_json *root, size_t *ranks, size_t *of_node,
                                 struct gw_error *error) {
    size_t gpus = 1;
    if (gw_json_member(root, "gpus").node != NULL) {
        GW_TRY(read_count(root, "gpus", 0, ranks, error));
        *of_node = *ranks;
        return GW_OK;
    }
    GW_TRY(read_count(root, "ranks", 0, ranks, error));
    GW_TRY(read_count(root, "ranksPerNode", *ranks, of_node, error));
    GW_TRY(read_count(root, "gpusPerRank", 1, &gpus, error));
    if (*ranks > GW_IMPORT_MAX_RANKS / gpus || *of_node > *ranks) {
        struct gw_json place = gw_json_member(root, "ranks");
        return gw_json_expected(&place, "2^24 GPUs at most, and a node's ranks among all", error);
    }
    *ranks *= gpus;
    *of_node *= gpus;
    return GW_OK;
}

static enum gw_status check_results(const struct gw_json *root, struct gw_error *error) {
    static const char *const keys[] = {"#wrong", "wrong"};
    for (size_t i = 0; i < 2; i++) {
        struct gw_json wrong = gw_json_member(root, keys[i]);
        const char *text = cJSON_GetStringValue(wrong.node);
        bool is_right = wrong.node == NULL || (text != NULL && strcmp(text, "N/A") == 0) ||
                        (text != NULL && strcmp(text, "0") == 0) ||
                        (cJSON_IsNumber(wrong.node) && wrong.node->valuedouble == 0);
        if (!is_right) {
            return gw_json_expected(&wrong, "right results, 0 or N/A", error);
        }
    }
    return GW_OK;
}

/* Finds the run of a measurement, or begins it; its table has no collective if no exchange uses it.
 */
static enum gw_status choose_run(struct reading *reading, const char *name, size_t ranks,
                                 size_t of_node, struct run **out, struct gw_error *error) {
    const struct gw_nccl_test *test = gw_nccl_find_in_name(name);
    char key[256];
    char even[32];
    size_t known = reading->keys.count;
    size_t number = 0;
    (void)snprintf(key, sizeof key, "%zu %zu %s", ranks, of_node, test == NULL ? name : test->name);
    GW_TRY(gw_import_find_name(&reading->keys, key, &number, error));
    struct run *larger =
        gw_grow(reading->runs, reading->keys.count, &reading->run_capacity, sizeof *larger);
    if (larger == NULL) {
        reading->keys.count = known;
        return gw_fail_memory(error, "importing a file of RCCL's tests");
    }
    reading->runs = larger;
    *out = &larger[number];
    if (number < known) {
        return GW_OK;
    }
    larger[number] = (struct run){.out_of_place = {.test = test, .ranks = ranks}};
    if (number == MOST_RUNS) {
        return gw_import_bad(reading->text, error,
                             "expected at most %d tests and numbers of ranks in a file", MOST_RUNS);
    }
    if (test == NULL || test->collective == NULL) {
        return gw_import_pass_over(reading->cluster, error, "%s:%zu: expected %s, got %s",
                                   reading->text->path, reading->text->number, gw_nccl_supported,
                                   name);
    }
    struct gw_nccl_run *run = &larger[number].out_of_place;
    gw_nccl_begin_table(run);
    run->table.line = reading->text->number;
    run->table.workers_per_node = of_node;
    (void)snprintf(even, sizeof even, "%zu", of_node);
    if (of_node > 0 && ranks % of_node == 0) {
        gw_nccl_put_nodes(run, even, ranks / of_node, true);
    }
    return GW_OK;
}

/* Reads {"name": "AllReduce", "size": 1024, "type": "float", "inPlace": 0, "time": 19.1, ...}. */
static enum gw_status read_record(struct reading *reading, const struct gw_json *root,
                                  struct gw_error *error) {
    struct gw_json name_place = gw_json_member(root, "name");
    struct gw_json in_place_place = gw_json_member(root, "inPlace");
    struct gw_json size_place = gw_json_member(root, "size");
    struct gw_json time_place = gw_json_member(root, "time");
    struct gw_json type_place = gw_json_member(root, "type");
    const char *operation = cJSON_GetStringValue(gw_json_member(root, "redop").node);
    const char *name = "", *type = "";
    uint64_t in_place = 0, size = 0;
    size_t ranks = 1, of_node = 1;
    double time_us = 0;
    GW_TRY(gw_json_object(root, error));
    GW_TRY(gw_json_text(&name_place, &name, error));
    GW_TRY(gw_json_integer(&in_place_place, 0, &in_place, error));
    GW_TRY(gw_json_text(&type_place, &type, error));
    GW_TRY(gw_json_integer(&size_place, 0, &size, error));
    GW_TRY(gw_json_not_negative(&time_place, &time_us, error));
    if (time_us > GW_IMPORT_MAX_US) {
        return gw_json_expected(&time_place, "at most 1e12 us", error);
    }
    GW_TRY(read_ranks(root, &ranks, &of_node, error));
    GW_TRY(check_results(root, error));
    struct run *run = NULL;
    GW_TRY(choose_run(reading, name, ranks, of_node, &run, error));
    if (run->out_of_place.table.collective == NULL ||
        !gw_nccl_put_type(&run->out_of_place, type, operation == NULL ? "" : operation)) {
        return GW_OK;
    }
    double parts = gw_nccl_parts(run->out_of_place.test, ranks);
    return gw_import_point(in_place > 0 ? &run->in_place : &run->out_of_place.table.raw,
                           (double)size / parts, time_us, 1, error);
}

/* ---- comma-separated values ------------------------------------------------------------------ */

/* Cuts off the next field, without its blanks and quotes; NULL: no field is left. */
static char *next_field(char **rest) {
    char *field = strsep(rest, ",");
    if (field == NULL) {
        return NULL;
    }
    field += strspn(field, " \t\"");
    size_t length = strlen(field);
    while (length > 0 && strchr(" \t\"", field[length - 1]) != NULL) {
        field[--length] = '\0';
    }
    return field;
}

/* Keeps the columns' names, as the objects have them; builds with MPI lack that of the third one.
 */
static void read_names(struct reading *reading, char *line) {
    static const char *const names[][2] = {{"collective", "name"},
                                           {"rankspernode", "ranksPerNode"},
                                           {"gpusperrank", "gpusPerRank"},
                                           {"inplace", "inPlace"}};
    char *field = NULL;
    reading->name_count = 0;
    while ((field = next_field(&line)) != NULL && reading->name_count < MOST_FIELDS) {
        const char *name = field;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            name = strcasecmp(field, names[i][0]) == 0 ? names[i][1] : name;
        }
        (void)snprintf(reading->names[reading->name_count++], sizeof reading->names[0], "%s", name);
    }
}

/* Makes an object of a line's fields, with the columns' names for keys. */
static enum gw_status make_record(struct reading *reading, cJSON **out, struct gw_error *error) {
    char *rest = reading->text->line;
    size_t fields = 1;
    size_t name = 0;
    for (const char *at = rest; *at != '\0'; at++) {
        fields += *at == ',';
    }
    bool lacks_nodes = fields == reading->name_count + 1 && reading->name_count > 2 &&
                       strcmp(reading->names[2], "ranks") == 0;
    if (fields != reading->name_count && !lacks_nodes) {
        return gw_import_bad(reading->text, error, "expected %zu columns, got %zu",
                             reading->name_count, fields);
    }
    *out = cJSON_CreateObject();
    if (*out == NULL) {
        return gw_fail_memory(error, "importing a file of RCCL's tests");
    }
    for (size_t i = 0; i < fields; i++) {
        double number = 0;
        const char *field = next_field(&rest);
        const char *key = lacks_nodes && i == 2 ? "nodes" : reading->names[name++];
        cJSON *value = gw_import_number(field, &number) ? cJSON_CreateNumber(number)
                                                        : cJSON_CreateString(field);
        cJSON_DeleteItemFromObjectCaseSensitive(*out, key);
        enum gw_status status = gw_json_put(*out, key, value, error);
        if (status != GW_OK) {
            cJSON_Delete(*out);
            return status;
        }
    }
    return GW_OK;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static enum gw_status read_line(struct reading *reading, struct gw_error *error) {
    struct gw_import_text *text = reading->text;
    char place[512];
    cJSON *record = NULL;
    char *line = text->line + strspn(text->line, " \t");
    size_t length = strlen(line);
    if (length > 0 && line[length - 1] == ',') { /* between objects of an array */
        line[--length] = '\0';
    }
    if (length == 0 || strcmp(line, "[") == 0 || strcmp(line, "]") == 0) {
        return GW_OK;
    }
    if (strncmp(line, heading, strlen(heading)) == 0) {
        read_names(reading, line);
        return GW_OK;
    }
    if (line[0] == '{') {
        GW_TRY(gw_json_parse_line(line, length, &record, error));
    } else if (reading->name_count > 0) {
        GW_TRY(make_record(reading, &record, error));
    }
    if (record == NULL) {
        return gw_import_bad(text, error,
                             "expected a line of RCCL's tests: {\"name\": ..., "
                             "\"size\": ..., \"time\": ...} or numCycle,collective,...");
    }
    (void)snprintf(place, sizeof place, "%s:%zu", text->path, text->number);
    struct gw_json root = {.node = record, .file = place};
    enum gw_status status = read_record(reading, &root, error);
    cJSON_Delete(record);
    return status;
}

enum gw_status gw_nccl_read_rccl(struct gw_import_text *text, struct gw_cluster *cluster,
                                 struct gw_error *error) {
    struct reading reading = {.text = text, .cluster = cluster};
    enum gw_status status = GW_OK;
    text->is_header = NULL;
    while (status == GW_OK && gw_import_next_line(text)) {
        status = read_line(&reading, error);
    }
    for (size_t i = 0; i < reading.keys.count; i++) {
        struct gw_nccl_run *run = &reading.runs[i].out_of_place;
        struct gw_raw in_place = reading.runs[i].in_place;
        bool uses_in_place = run->table.raw.count == 0;
        struct gw_raw unused = uses_in_place ? run->table.raw : in_place;
        run->table.raw = uses_in_place ? in_place : run->table.raw;
        if (status == GW_OK && run->table.collective != NULL) {
            status = gw_nccl_end_table(run, text->path, cluster, error);
        }
        gw_nccl_free_run(run);
        free(unused.sizes);
    }
    free(reading.runs);
    gw_import_free_names(&reading.keys);
    return status;
}
