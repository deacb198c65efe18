/*
 * Reads logs of the inspector, a profiler plugin that comes with NCCL (plugins/profiler/inspector):
 * a line of JSON for each collective of a rank.
 */
#include <string.h>
#include <time.h>

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

/* The time of one rank for a call. */
struct record {
    size_t communicator, function;
    uint64_t call; /* its number among those of the function in the communicator */
    uint64_t rank;
    double bytes, time_us;
};

/* A call of all ranks, with the time of the last rank to come, which did not wait for others. */
struct inspected_call {
    size_t communicator, ranks, function;
    double bytes, time_us;
};

struct reading {
    const char *first;          /* path, for messages about no single line */
    const char *chosen;         /* communicator, by id or name; NULL: all */
    struct gw_import_names ids; /* of the communicators */
    struct inspected_communicator *communicators;
    struct record *records;
    struct inspected_call *calls;
    size_t communicator_count, record_count, call_count;
    size_t communicator_capacity, record_capacity;
    char version[32], date[32];
};

/* ---- lines ----------------------------------------------------------------------------------- */

static bool is_chosen(const struct reading *reading, const char *id, const char *name) {
    return reading->chosen == NULL || strcmp(reading->chosen, id) == 0 ||
           strcmp(reading->chosen, name) == 0;
}

static enum gw_status add_communicator(struct reading *reading, const char *id, const char *name,
                                       size_t ranks, size_t nodes, struct gw_error *error) {
    struct inspected_communicator *larger =
        gw_grow(reading->communicators, reading->communicator_count + 1,
                &reading->communicator_capacity, sizeof *larger);
    if (larger == NULL) {
        return gw_fail_memory(error, "importing calls");
    }
    reading->communicators = larger;
    struct inspected_communicator *added = &larger[reading->communicator_count];
    *added = (struct inspected_communicator){
        .id = strdup(id), .name = strdup(name), .ranks = ranks, .nodes = nodes};
    reading->communicator_count++;
    return added->id != NULL && added->name != NULL ? GW_OK
                                                    : gw_fail_memory(error, "importing calls");
}

/* Finds the communicator of a header, or adds it. */
static enum gw_status find_communicator(struct reading *reading, const struct gw_json *header,
                                        const char *id, const char *name, size_t *out,
                                        struct gw_error *error) {
    struct gw_json ranks_place = gw_json_member(header, "n_ranks");
    struct gw_json nodes_place = gw_json_member(header, "nnodes");
    uint64_t ranks = 0;
    uint64_t nodes = 0;
    GW_TRY(gw_json_integer(&ranks_place, 1, &ranks, error));
    GW_TRY(gw_json_integer(&nodes_place, 1, &nodes, error));
    if (ranks > GW_IMPORT_MAX_RANKS) {
        return gw_json_expected(&ranks_place, "at most 2^24", error);
    }
    if (nodes > ranks) {
        return gw_json_expected(&nodes_place, "at most a node for each rank", error);
    }
    GW_TRY(gw_import_find_name(&reading->ids, id, out, error));
    if (*out == reading->communicator_count) {
        return add_communicator(reading, id, name, ranks, nodes, error);
    }
    const struct inspected_communicator *known = &reading->communicators[*out];
    return known->ranks == ranks && known->nodes == nodes
               ? GW_OK
               : gw_json_expected(header, "the ranks and nodes of the same id before", error);
}

/* Finds a function by its name; FUNCTIONS: it is another one. */
static size_t find_function(const char *name) {
    size_t i = 0;
    while (i < FUNCTIONS && strcmp(functions[i].name, name) != 0) {
        i++;
    }
    return i;
}

/* Tells whether the GPU's clock took a time; earlier versions do not say which clock did.
 */
static bool is_timed_on_gpu(const struct gw_json *performance) {
    struct gw_json source = gw_json_member(performance, "coll_timing_source");
    return source.node == NULL ||
           (cJSON_IsString(source.node) && strcmp(source.node->valuestring, "kernel_gpu") == 0);
}

static enum gw_status add_record(struct reading *reading, const struct record *record,
                                 struct gw_error *error) {
    struct record *larger = gw_grow(reading->records, reading->record_count + 1,
                                    &reading->record_capacity, sizeof *larger);
    if (larger == NULL) {
        return gw_fail_memory(error, "importing calls");
    }
    reading->records = larger;
    larger[reading->record_count++] = *record;
    return GW_OK;
}

static enum gw_status read_record(struct reading *reading, const struct gw_json *header,
                                  const struct gw_json *performance, struct record *record,
                                  struct gw_error *error) {
    struct gw_json rank = gw_json_member(header, "rank");
    struct gw_json number = gw_json_member(performance, "coll_sn");
    struct gw_json bytes = gw_json_member(performance, "coll_msg_size_bytes");
    struct gw_json time = gw_json_member(performance, "coll_exec_time_us");
    uint64_t size = 0;
    GW_TRY(gw_json_integer(&rank, 0, &record->rank, error));
    if (record->rank >= reading->communicators[record->communicator].ranks) {
        return gw_json_expected(&rank, "less than n_ranks", error);
    }
    GW_TRY(gw_json_integer(&number, 0, &record->call, error));
    GW_TRY(gw_json_integer(&bytes, 0, &size, error));
    GW_TRY(gw_json_not_negative(&time, &record->time_us, error));
    if (record->time_us > GW_IMPORT_MAX_US) {
        return gw_json_expected(&time, "at most 1e12 us", error);
    }
    record->bytes = (double)size;
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

/* Reads {"header": {...}, "metadata": {...}, "coll_perf": {...}}; messages have "p2p_perf". */
static enum gw_status read_object(struct reading *reading, const struct gw_json *root,
                                  struct gw_error *error) {
    struct gw_json header = gw_json_member(root, "header");
    struct gw_json metadata = gw_json_member(root, "metadata");
    struct gw_json performance = gw_json_member(root, "coll_perf");
    struct gw_json id_place = gw_json_member(&header, "id");
    struct gw_json name_place = gw_json_member(&header, "comm_name");
    struct gw_json function_place = gw_json_member(&performance, "coll");
    struct record record = {0};
    const char *id = "";
    const char *name = "";
    const char *function = "";
    GW_TRY(gw_json_object(root, error));
    GW_TRY(gw_json_object(&header, error));
    GW_TRY(gw_json_text(&id_place, &id, error));
    GW_TRY(name_place.node == NULL ? GW_OK : gw_json_text(&name_place, &name, error));
    if (performance.node == NULL && gw_json_member(root, "p2p_perf").node != NULL) {
        return GW_OK;
    }
    GW_TRY(gw_json_object(&performance, error));
    GW_TRY(gw_json_text(&function_place, &function, error));
    GW_TRY(find_communicator(reading, &header, id, name, &record.communicator, error));
    GW_TRY(read_record(reading, &header, &performance, &record, error));
    record.function = find_function(function);
    read_metadata(reading, &metadata);
    bool counts = record.function < FUNCTIONS && is_timed_on_gpu(&performance) &&
                  reading->communicators[record.communicator].ranks > 1 &&
                  is_chosen(reading, id, name);
    return counts ? add_record(reading, &record, error) : GW_OK;
}

/* Tells whether a line is the last one, which a job that was killed leaves half written. */
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

static int by_call(const void *a, const void *b) {
    const struct record *left = a, *right = b;
    if (left->communicator != right->communicator) {
        return left->communicator < right->communicator ? -1 : 1;
    }
    if (left->function != right->function) {
        return left->function < right->function ? -1 : 1;
    }
    if (left->call != right->call) {
        return left->call < right->call ? -1 : 1;
    }
    return (left->rank > right->rank) - (left->rank < right->rank);
}

static bool is_of_one_call(const struct record *a, const struct record *b) {
    return a->communicator == b->communicator && a->function == b->function && a->call == b->call;
}

/* Adds a call that `count` ranks have recorded, unless other ranks lack it. */
static enum gw_status end_call(struct reading *reading, const struct record *records, size_t count,
                               struct gw_error *error) {
    struct inspected_communicator *communicator = &reading->communicators[records->communicator];
    double shortest_us = records->time_us;
    for (size_t i = 1; i < count; i++) {
        if (records[i].rank == records[i - 1].rank || records[i].bytes != records->bytes) {
            return gw_fail(
                error, GW_BAD_INPUT, "%s: communicator %s: %s %zu of rank %zu: expected %s, got %s",
                reading->first, communicator->id, functions[records->function].name,
                (size_t)records->call, (size_t)records[i].rank,
                records[i].rank == records[i - 1].rank ? "it once" : "one size in all ranks",
                records[i].rank == records[i - 1].rank ? "it twice" : "two");
        }
        shortest_us = records[i].time_us < shortest_us ? records[i].time_us : shortest_us;
    }
    if (count == communicator->ranks && shortest_us > 0 && records->bytes > 0) {
        communicator->calls++;
        reading->calls[reading->call_count++] =
            (struct inspected_call){.communicator = records->communicator,
                                    .ranks = communicator->ranks,
                                    .function = records->function,
                                    .bytes = records->bytes,
                                    .time_us = shortest_us};
    }
    return GW_OK;
}

static enum gw_status join_ranks(struct reading *reading, struct gw_error *error) {
    size_t first = 0;
    if (reading->record_count == 0) {
        return GW_OK;
    }
    reading->calls = calloc(reading->record_count, sizeof *reading->calls);
    if (reading->calls == NULL) {
        return gw_fail_memory(error, "importing calls");
    }
    qsort(reading->records, reading->record_count, sizeof *reading->records, by_call);
    for (size_t end = 1; end <= reading->record_count; end++) {
        if (end == reading->record_count ||
            !is_of_one_call(&reading->records[first], &reading->records[end])) {
            GW_TRY(end_call(reading, &reading->records[first], end - first, error));
            first = end;
        }
    }
    return GW_OK;
}

/* ---- which communicators --------------------------------------------------------------------- */

/* Lists "0x7f8c (DP Group 0) of 8 ranks in 2 nodes; ...". */
static void list_communicators(const struct reading *reading, char *out, size_t size) {
    size_t length = 0;
    out[0] = '\0';
    for (size_t i = 0; i < reading->communicator_count && length + 1 < size; i++) {
        const struct inspected_communicator *one = &reading->communicators[i];
        int written = snprintf(out + length, size - length, "%s%s%s%s%s of %zu ranks in %zu nodes",
                               i == 0 ? "" : "; ", one->id, one->name[0] == '\0' ? "" : " (",
                               one->name, one->name[0] == '\0' ? "" : ")", one->ranks, one->nodes);
        length += written > 0 ? (size_t)written : 0;
    }
}

static int by_ranks_and_nodes(const void *a, const void *b) {
    const struct inspected_communicator *left = *(struct inspected_communicator *const *)a;
    const struct inspected_communicator *right = *(struct inspected_communicator *const *)b;
    int order = (left->ranks > right->ranks) - (left->ranks < right->ranks);
    return order != 0 ? order : (left->nodes > right->nodes) - (left->nodes < right->nodes);
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
    char list[512];
    list_communicators(reading, list, sizeof list);
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
    if (a->function != b->function) {
        return a->function < b->function ? -1 : 1;
    }
    return (a->ranks > b->ranks) - (a->ranks < b->ranks);
}

static int by_curve_and_size(const void *a, const void *b) {
    const struct inspected_call *left = a, *right = b;
    int order = by_curve(left, right);
    return order != 0 ? order : (left->bytes > right->bytes) - (left->bytes < right->bytes);
}

/* Takes the median of sorted calls of one size. */
static enum gw_status add_size(struct gw_import_table *table, const struct inspected_call *calls,
                               size_t count, double *times_us, struct gw_error *error) {
    struct gw_summary summary;
    for (size_t i = 0; i < count; i++) {
        times_us[i] = calls[i].time_us;
    }
    gw_summarise(times_us, count, &summary);
    return gw_import_point(table, calls->bytes, summary.median, (double)count, error);
}

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
    size_t first = 0;
    memcpy(table.version, reading->version, sizeof table.version);
    memcpy(table.date, reading->date, sizeof table.date);
    for (size_t end = 1; status == GW_OK && end <= count; end++) {
        if (end == count || calls[end].bytes != calls[first].bytes) {
            status = add_size(&table, &calls[first], end - first, times_us, error);
            first = end;
        }
    }
    status = status == GW_OK ? gw_import_add(&table, paths, cluster, error) : status;
    free(table.means);
    return status;
}

static enum gw_status add_curves(struct reading *reading, const struct gw_import_paths *paths,
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

static enum gw_status import(struct reading *reading, const struct gw_import_paths *paths,
                             struct gw_cluster *cluster, struct gw_error *error) {
    for (size_t i = 0; i < paths->count; i++) {
        GW_TRY(read_file(reading, paths->list[i], error));
    }
    GW_TRY(join_ranks(reading, error));
    GW_TRY(check_communicators(reading, error));
    return add_curves(reading, paths, cluster, error);
}

enum gw_status gw_import_inspector(const struct gw_import_paths *paths, const char *communicator,
                                   struct gw_cluster *cluster, struct gw_error *error) {
    struct reading reading = {.first = paths->list[0], .chosen = communicator};
    enum gw_status status = import(&reading, paths, cluster, error);
    for (size_t i = 0; i < reading.communicator_count; i++) {
        free(reading.communicators[i].id);
        free(reading.communicators[i].name);
    }
    free(reading.communicators);
    gw_import_free_names(&reading.ids);
    free(reading.records);
    free(reading.calls);
    return status;
}
