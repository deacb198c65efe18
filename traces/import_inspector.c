/*
 * Reads logs of the inspector, a profiler plugin that comes with NCCL (plugins/profiler/inspector):
 * a line of JSON for each collective of a rank.
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "core/fields.h"
#include "traces/import_parts.h"
#include "traces/imports.h"

/* Functions whose sizes are the bytes that one rank contributes. */
static const struct {
    const char *name, *collective;
} functions[] = {{"AllReduce", "allreduce"},
                 {"AllGather", "allgather"},
                 {"Broadcast", "broadcast"},
                 {"Reduce", "reduce"}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

struct inspected_communicator {
    char *id, *name; /* owned */
    size_t ranks, nodes;
    size_t calls; /* with the times of all ranks */
};

/* A call with the time of one rank; later, of the last rank to come, which waited for no other. */
struct inspected_call {
    size_t communicator, ranks, function;
    size_t number; /* among those of the function in the communicator */
    size_t rank;
    double bytes, time_us;
};

struct reading {
    const char *first;          /* path, for messages about no single line */
    const char *chosen;         /* communicator, by id or name; NULL: all */
    struct gw_import_names ids; /* of the communicators */
    struct inspected_communicator *communicators;
    struct inspected_call *calls; /* first of each rank, then of all ranks */
    size_t communicator_count, record_count, call_count;
    size_t communicator_capacity, record_capacity;
    char version[32], date[32];
};

/* ---- lines ----------------------------------------------------------------------------------- */

/* A line: {"header": {...}, "metadata": {...}, "coll_perf": {...}}. */
struct inspected_line {
    char *id, *name, *function, *clock;
    size_t ranks, nodes, rank, number, bytes;
    double time_us;
};

static enum gw_status check_header(const struct gw_json *place, void *out, struct gw_error *error) {
    const struct inspected_line *line = out;
    struct gw_json nodes = gw_json_member(place, "nnodes");
    struct gw_json rank = gw_json_member(place, "rank");
    if (line->nodes > line->ranks) {
        return gw_json_expected(&nodes, "at most a node for each rank", error);
    }
    return line->rank < line->ranks ? GW_OK : gw_json_expected(&rank, "less than n_ranks", error);
}

static const struct gw_field header_rows[] = {
    {"id", GW_AS_TEXT, .at = offsetof(struct inspected_line, id)},
    {"comm_name", GW_AS_TEXT, .at = offsetof(struct inspected_line, name), .optional = true},
    {"n_ranks", GW_AS_COUNT, .at = offsetof(struct inspected_line, ranks),
     .maximum = GW_IMPORT_MAX_RANKS, .expected = "at most 2^24"},
    {"nnodes", GW_AS_COUNT, .at = offsetof(struct inspected_line, nodes)},
    {"rank", GW_AS_INTEGER, .at = offsetof(struct inspected_line, rank)},
    {0}};

static const struct gw_fields header_fields = {.rows = header_rows, .check = check_header};

static const struct gw_field call_rows[] = {
    {"coll", GW_AS_TEXT, .at = offsetof(struct inspected_line, function)},
    {"coll_sn", GW_AS_INTEGER, .at = offsetof(struct inspected_line, number)},
    {"coll_msg_size_bytes", GW_AS_INTEGER, .at = offsetof(struct inspected_line, bytes)},
    {"coll_exec_time_us", GW_AS_NOT_NEGATIVE, .at = offsetof(struct inspected_line, time_us),
     .maximum = GW_IMPORT_MAX_US, .expected = "at most 1e12 us"},
    {"coll_timing_source", GW_AS_TEXT, .at = offsetof(struct inspected_line, clock),
     .optional = true},
    {0}};

static const struct gw_fields call_fields = {.rows = call_rows};

static const struct gw_field line_rows[] = {{"header", GW_AS_OBJECT, .of = &header_fields},
                                            {"coll_perf", GW_AS_OBJECT, .of = &call_fields},
                                            {0}};

static const struct gw_fields line_fields = {sizeof(struct inspected_line), .rows = line_rows};

/* Finds the communicator of a line, or adds it. */
static enum gw_status find_communicator(struct reading *reading, const struct gw_json *header,
                                        const struct inspected_line *line, size_t *out,
                                        struct gw_error *error) {
    GW_TRY(gw_import_find_name(&reading->ids, line->id, out, error));
    if (*out < reading->communicator_count) {
        const struct inspected_communicator *known = &reading->communicators[*out];
        return known->ranks == line->ranks && known->nodes == line->nodes
                   ? GW_OK
                   : gw_json_expected(header, "the ranks and nodes of the same id before", error);
    }
    GW_GROW(reading->communicators, reading->communicator_count + 1, reading->communicator_capacity,
            "importing calls", error);
    struct inspected_communicator *added = &reading->communicators[reading->communicator_count++];
    *added = (struct inspected_communicator){.id = strdup(line->id),
                                             .name = strdup(line->name == NULL ? "" : line->name),
                                             .ranks = line->ranks,
                                             .nodes = line->nodes};
    return added->id != NULL && added->name != NULL ? GW_OK
                                                    : gw_fail_memory(error, "importing calls");
}

/*
 * Adds a rank's call, unless no exchange uses its function, the host's clock took its time, or
 * another communicator was chosen. Earlier versions do not say which clock it was.
 */
static enum gw_status add_call(struct reading *reading, const struct gw_json *header,
                               const struct inspected_line *line, struct gw_error *error) {
    size_t communicator = 0;
    size_t function = 0;
    GW_TRY(find_communicator(reading, header, line, &communicator, error));
    const struct inspected_communicator *found = &reading->communicators[communicator];
    while (function < FUNCTIONS && strcmp(functions[function].name, line->function) != 0) {
        function++;
    }
    bool is_chosen = reading->chosen == NULL || strcmp(reading->chosen, found->id) == 0 ||
                     (line->name != NULL && strcmp(reading->chosen, line->name) == 0);
    bool is_timed_on_gpu = line->clock == NULL || strcmp(line->clock, "kernel_gpu") == 0;
    if (function == FUNCTIONS || found->ranks < 2 || !is_chosen || !is_timed_on_gpu) {
        return GW_OK;
    }
    GW_GROW(reading->calls, reading->record_count + 1, reading->record_capacity, "importing calls",
            error);
    reading->calls[reading->record_count++] = (struct inspected_call){.communicator = communicator,
                                                                      .ranks = found->ranks,
                                                                      .function = function,
                                                                      .number = line->number,
                                                                      .rank = line->rank,
                                                                      .bytes = (double)line->bytes,
                                                                      .time_us = line->time_us};
    return GW_OK;
}

/* Keeps the plugin's version and the day of the first line. */
static void read_metadata(struct reading *reading, const struct gw_json *metadata) {
    struct gw_json version = gw_json_member(metadata, "inspector_output_format_version");
    struct gw_json stamp = gw_json_member(metadata, "dump_timestamp_us");
    struct tm day;
    double us = cJSON_IsNumber(stamp.node) ? stamp.node->valuedouble : 0;
    time_t second = us > 0 && us < 1e17 ? (time_t)(us * 1e-6) : 0;
    if (reading->version[0] == '\0' && cJSON_IsString(version.node)) {
        (void)snprintf(reading->version, sizeof reading->version, "%s", version.node->valuestring);
    }
    if (reading->date[0] == '\0' && second > 0 && gmtime_r(&second, &day) != NULL) {
        (void)strftime(reading->date, sizeof reading->date, "%Y-%m-%d", &day);
    }
}

/* Reads a line of a collective; messages between two ranks have "p2p_perf". */
static enum gw_status read_object(struct reading *reading, const struct gw_json *root,
                                  struct gw_error *error) {
    struct gw_json header = gw_json_member(root, "header");
    struct gw_json metadata = gw_json_member(root, "metadata");
    struct inspected_line line = {0};
    GW_TRY(gw_json_object(root, error));
    if (gw_json_member(root, "coll_perf").node == NULL &&
        gw_json_member(root, "p2p_perf").node != NULL) {
        return GW_OK;
    }
    enum gw_status status = gw_fields_read(&line_fields, root, &line, error);
    if (status == GW_OK) {
        read_metadata(reading, &metadata);
        status = add_call(reading, &header, &line, error);
    }
    gw_fields_free(&line_fields, &line);
    return status;
}

/* Reads a line; the last one may be cut, as a job that was killed leaves it half written. */
static enum gw_status read_line(struct reading *reading, const struct gw_import_text *text,
                                bool is_cut, struct gw_error *error) {
    char place[512];
    cJSON *document = NULL;
    GW_TRY(gw_json_parse_line(text->line, strlen(text->line), &document, error));
    if (document == NULL) {
        return is_cut ? GW_OK
                      : gw_import_bad(text, error,
                                      "expected a line of JSON, {\"header\": ..., \"metadata\": "
                                      "..., \"coll_perf\": ...}, as the inspector logs each call");
    }
    (void)snprintf(place, sizeof place, "%s:%zu", text->path, text->number);
    struct gw_json root = {.node = document, .file = place};
    enum gw_status status = read_object(reading, &root, error);
    cJSON_Delete(document);
    return status;
}

static enum gw_status read_file(struct reading *reading, const char *path, struct gw_error *error) {
    struct gw_import_text text;
    enum gw_status status = GW_OK;
    GW_TRY(gw_import_open(path, NULL, &text, error));
    bool ends = text.length > 0 && text.text[text.length - 1] == '\n';
    while (status == GW_OK && gw_import_next_line(&text)) {
        bool is_blank = text.line[strspn(text.line, " \t")] == '\0';
        status = is_blank ? GW_OK : read_line(reading, &text, !ends && *text.next == '\0', error);
    }
    gw_import_close(&text);
    return status;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int compare_sizes(size_t a, size_t b) {
    return (a > b) - (a < b);
}

static int by_call(const struct inspected_call *a, const struct inspected_call *b) {
    int order = compare_sizes(a->communicator, b->communicator);
    order = order != 0 ? order : compare_sizes(a->function, b->function);
    return order != 0 ? order : compare_sizes(a->number, b->number);
}

static int by_call_and_rank(const void *a, const void *b) {
    const struct inspected_call *left = a, *right = b;
    int order = by_call(left, right);
    return order != 0 ? order : compare_sizes(left->rank, right->rank);
}

/* Keeps a call that `count` ranks have recorded, unless other ranks lack it. */
static enum gw_status end_call(struct reading *reading, const struct inspected_call *records,
                               size_t count, struct gw_error *error) {
    struct inspected_communicator *communicator = &reading->communicators[records->communicator];
    struct inspected_call call = *records;
    for (size_t i = 1; i < count; i++) {
        bool is_twice = records[i].rank == records[i - 1].rank;
        if (is_twice || records[i].bytes != records->bytes) {
            return gw_fail(
                error, GW_BAD_INPUT, "%s: communicator %s: %s %zu of rank %zu: expected %s, got %s",
                reading->first, communicator->id, functions[records->function].name,
                records->number, records[i].rank, is_twice ? "it once" : "one size in all ranks",
                is_twice ? "it twice" : "two");
        }
        call.time_us = fmin(call.time_us, records[i].time_us);
    }
    if (count == communicator->ranks && call.time_us > 0 && call.bytes > 0) {
        communicator->calls++;
        reading->calls[reading->call_count++] = call; /* in the place of records before */
    }
    return GW_OK;
}

static enum gw_status join_ranks(struct reading *reading, struct gw_error *error) {
    size_t first = 0;
    qsort(reading->calls, reading->record_count, sizeof *reading->calls, by_call_and_rank);
    for (size_t end = 1; end <= reading->record_count; end++) {
        if (end == reading->record_count ||
            by_call(&reading->calls[first], &reading->calls[end]) != 0) {
            GW_TRY(end_call(reading, &reading->calls[first], end - first, error));
            first = end;
        }
    }
    return GW_OK;
}

/* ---- which communicators --------------------------------------------------------------------- */

static int by_ranks_and_nodes(const void *a, const void *b) {
    const struct inspected_communicator *left = *(struct inspected_communicator *const *)a;
    const struct inspected_communicator *right = *(struct inspected_communicator *const *)b;
    int order = compare_sizes(left->ranks, right->ranks);
    return order != 0 ? order : compare_sizes(left->nodes, right->nodes);
}

/*
 * Refuses two communicators of as many ranks, such as across nodes and within one. Those that were
 * chosen by one name may have as many, on as many nodes.
 */
static enum gw_status check_sizes(const struct reading *reading, const char *list,
                                  struct gw_error *error) {
    size_t count = 0;
    bool are_clear = true;
    struct inspected_communicator **sorted = calloc(reading->communicator_count, sizeof(*sorted));
    if (sorted == NULL) {
        return gw_fail_memory(error, "importing calls");
    }
    for (size_t i = 0; i < reading->communicator_count; i++) {
        if (reading->communicators[i].calls > 0) {
            sorted[count++] = &reading->communicators[i];
        }
    }
    qsort(sorted, count, sizeof(*sorted), by_ranks_and_nodes);
    for (size_t i = 1; i < count; i++) {
        bool are_alike = reading->chosen != NULL && sorted[i]->nodes == sorted[i - 1]->nodes;
        are_clear = are_clear && (sorted[i]->ranks != sorted[i - 1]->ranks || are_alike);
    }
    free(sorted);
    return are_clear ? GW_OK
                     : gw_fail(error, GW_BAD_INPUT, "%s: expected --communicator, one of %s",
                               reading->first, list);
}

static enum gw_status check_communicators(const struct reading *reading, struct gw_error *error) {
    char list[512] = ""; /* "0x7f8c (DP Group 0) of 8 ranks in 2 nodes; ..." */
    size_t length = 0;
    for (size_t i = 0; i < reading->communicator_count && length + 1 < sizeof list; i++) {
        const struct inspected_communicator *one = &reading->communicators[i];
        bool has_name = one->name[0] != '\0';
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s%s%s%s of %s in %s",
                                   i == 0 ? "" : "; ", one->id, has_name ? " (" : "", one->name,
                                   has_name ? ")" : "", GW_COUNTED(one->ranks, "rank"),
                                   GW_COUNTED(one->nodes, "node"));
    }
    if (reading->call_count == 0 && reading->record_count > 0) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected calls that the files of all ranks have, got none: a rank "
                       "alone counts its waiting for others (%s)",
                       reading->first, list);
    }
    if (reading->call_count == 0) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected calls of AllReduce, AllGather, Broadcast or Reduce, timed on "
                       "GPUs%s%s, got none (%s)",
                       reading->first, reading->chosen == NULL ? "" : ", of communicator ",
                       reading->chosen == NULL ? "" : reading->chosen,
                       list[0] == '\0' ? "no communicators" : list);
    }
    return check_sizes(reading, list, error);
}

/* ---- curves ---------------------------------------------------------------------------------- */

/* Sorts calls by their curve, and then by size. */
static int by_curve(const struct inspected_call *a, const struct inspected_call *b) {
    int order = compare_sizes(a->function, b->function);
    return order != 0 ? order : compare_sizes(a->ranks, b->ranks);
}

static int by_curve_and_size(const void *a, const void *b) {
    const struct inspected_call *left = a, *right = b;
    int order = by_curve(left, right);
    return order != 0 ? order : (left->bytes > right->bytes) - (left->bytes < right->bytes);
}

/* Adds a curve of sorted calls: for each size the median of its calls. */
static enum gw_status add_curve(const struct reading *reading, const struct inspected_call *calls,
                                size_t count, const struct gw_import_paths *paths, double *times_us,
                                struct gw_cluster *cluster, struct gw_error *error) {
    const struct inspected_communicator *communicator =
        &reading->communicators[calls->communicator];
    struct gw_import_table table = {
        .tool = "nccl-inspector",
        .collective = functions[calls->function].collective,
        .workers = communicator->ranks,
        .workers_per_node = (communicator->ranks + communicator->nodes - 1) / communicator->nodes,
    };
    enum gw_status status = GW_OK;
    size_t of_size = 0;
    memcpy(table.version, reading->version, sizeof table.version);
    memcpy(table.date, reading->date, sizeof table.date);
    for (size_t i = 0; status == GW_OK && i < count; i++) {
        times_us[of_size++] = calls[i].time_us;
        if (i + 1 == count || calls[i + 1].bytes != calls[i].bytes) {
            struct gw_summary summary;
            gw_summarise(times_us, of_size, &summary);
            status =
                gw_import_point(&table.raw, calls[i].bytes, summary.median, (double)of_size, error);
            of_size = 0;
        }
    }
    status = status == GW_OK ? gw_import_add(&table, paths, cluster, error) : status;
    free(table.raw.sizes);
    return status;
}

static enum gw_status add_inspected_curves(struct reading *reading,
                                           const struct gw_import_paths *paths,
                                           struct gw_cluster *cluster, struct gw_error *error) {
    enum gw_status status = GW_OK;
    size_t first = 0;
    double *times_us = calloc(reading->call_count, sizeof *times_us);
    if (times_us == NULL) {
        return gw_fail_memory(error, "importing calls");
    }
    qsort(reading->calls, reading->call_count, sizeof *reading->calls, by_curve_and_size);
    for (size_t end = 1; status == GW_OK && end <= reading->call_count; end++) {
        if (end == reading->call_count ||
            by_curve(&reading->calls[first], &reading->calls[end]) != 0) {
            status = add_curve(reading, &reading->calls[first], end - first, paths, times_us,
                               cluster, error);
            first = end;
        }
    }
    free(times_us);
    return status;
}

enum gw_status gw_import_inspector(const struct gw_import_paths *paths, const char *communicator,
                                   struct gw_cluster *cluster, struct gw_error *error) {
    struct reading reading = {.first = paths->list[0], .chosen = communicator};
    enum gw_status status = GW_OK;
    for (size_t i = 0; status == GW_OK && i < paths->count; i++) {
        status = read_file(&reading, paths->list[i], error);
    }
    status = status == GW_OK && reading.record_count > 0 ? join_ranks(&reading, error) : status;
    status = status == GW_OK ? check_communicators(&reading, error) : status;
    status = status == GW_OK ? add_inspected_curves(&reading, paths, cluster, error) : status;
    for (size_t i = 0; i < reading.communicator_count; i++) {
        free(reading.communicators[i].id);
        free(reading.communicators[i].name);
    }
    free(reading.communicators);
    gw_import_free_names(&reading.ids);
    free(reading.calls);
    return status;
}
