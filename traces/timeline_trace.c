/* Timelines as Chrome traces: microseconds, one process per worker, one thread per stream. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/timeline.h"

static const char *const schema = "gradweave/timeline@1";
static const double us_per_s = 1e6;

/* ---- writing ------------------------------------------------------------------------------- */

static void write_metadata(struct gw_json_writer *writer, const char *kind, size_t worker,
                           int stream, const char *name) {
    gw_writer_object(writer, NULL);
    gw_writer_text(writer, "ph", "M");
    gw_writer_text(writer, "name", kind);
    gw_writer_number(writer, "pid", (double)worker);
    if (stream >= 0) {
        gw_writer_number(writer, "tid", stream);
    }
    gw_writer_object(writer, "args");
    gw_writer_text(writer, "name", name);
    gw_writer_end(writer);
    gw_writer_end(writer);
}

static void write_lane(struct gw_json_writer *writer, const struct gw_lane *lane) {
    char name[64];
    if (lane->workers == 1) {
        snprintf(name, sizeof name, "worker %zu", lane->worker);
    } else {
        snprintf(name, sizeof name, "worker %zu and %zu like it", lane->worker, lane->workers - 1);
    }
    write_metadata(writer, "process_name", lane->worker, -1, name);
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        write_metadata(writer, "thread_name", lane->worker, stream,
                       gw_stream_name((enum gw_stream)stream));
    }
}

static void write_span(struct gw_json_writer *writer, const struct gw_timeline *timeline,
                       const struct gw_span *span) {
    const char *activity = gw_activity_name(span->activity);
    char name[160];
    if (span->label[0] == '\0') {
        snprintf(name, sizeof name, "%s", activity);
    } else if (span->activity == GW_BACKWARD || span->group == GW_NO_GROUP) {
        snprintf(name, sizeof name, "%s %s", activity, span->label);
    } else {
        snprintf(name, sizeof name, "%s %s, group %u", activity, span->label, span->group);
    }
    gw_writer_object(writer, NULL);
    gw_writer_text(writer, "ph", "X");
    gw_writer_text(writer, "name", name);
    gw_writer_text(writer, "cat", activity);
    gw_writer_number(writer, "pid", (double)timeline->lanes[span->lane].worker);
    gw_writer_number(writer, "tid", span->stream);
    gw_writer_number(writer, "ts", us_per_s * span->start_s);
    gw_writer_number(writer, "dur", us_per_s * (span->end_s - span->start_s));
    gw_writer_object(writer, "args");
    gw_writer_text(writer, "label", span->label);
    if (span->group != GW_NO_GROUP) {
        gw_writer_number(writer, "group", span->group);
    }
    gw_writer_number(writer, "elements", (double)span->elements);
    gw_writer_number(writer, "bytes", (double)span->bytes);
    gw_writer_end(writer);
    gw_writer_end(writer);
}

/* What the viewer has no use for: who stands for how many, and where iterations begin and end. */
static void write_other(struct gw_json_writer *writer, const struct gw_timeline *timeline) {
    gw_writer_object(writer, "otherData");
    gw_writer_text(writer, "schema", schema);
    gw_writer_array(writer, "lanes");
    for (size_t i = 0; i < timeline->lane_count; i++) {
        double pair[2] = {(double)timeline->lanes[i].worker, (double)timeline->lanes[i].workers};
        gw_writer_numbers(writer, NULL, pair, 2);
    }
    gw_writer_end(writer);
    gw_writer_array(writer, "iterations_s");
    for (size_t i = 0; i < timeline->iteration_count; i++) {
        double pair[2] = {timeline->iterations[i].start_s, timeline->iterations[i].end_s};
        gw_writer_numbers(writer, NULL, pair, 2);
    }
    gw_writer_end(writer);
    gw_writer_end(writer);
}

enum gw_status gw_timeline_write(const struct gw_timeline *timeline, const char *path,
                                 struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "displayTimeUnit", "ms");
    write_other(&writer, timeline);
    gw_writer_array(&writer, "traceEvents");
    for (size_t i = 0; i < timeline->lane_count; i++) {
        write_lane(&writer, &timeline->lanes[i]);
    }
    for (size_t i = 0; i < timeline->span_count; i++) {
        write_span(&writer, timeline, &timeline->spans[i]);
    }
    gw_writer_end(&writer);
    return gw_writer_finish_compact_file(&writer, path, error);
}

/* ---- reading ------------------------------------------------------------------------------- */

/* Which lane shows a worker. */
struct place {
    uint64_t worker;
    size_t lane;
};

struct reader {
    struct gw_timeline *timeline;
    struct place *places; /* of all lanes, by worker */
};

static int by_worker(const void *a, const void *b) {
    const struct place *x = a;
    const struct place *y = b;
    return (x->worker > y->worker) - (x->worker < y->worker);
}

/* Each worker has one lane, so that spans can be told apart. */
static enum gw_status sort_lanes(const struct gw_json *lanes, struct reader *reader,
                                 struct gw_error *error) {
    size_t count = reader->timeline->lane_count;
    reader->places = calloc(count, sizeof *reader->places);
    if (reader->places == NULL) {
        return gw_fail_memory(error, "reading a timeline");
    }
    for (size_t lane = 0; lane < count; lane++) {
        reader->places[lane] =
            (struct place){.worker = reader->timeline->lanes[lane].worker, .lane = lane};
    }
    qsort(reader->places, count, sizeof *reader->places, by_worker);
    for (size_t i = 1; i < count; i++) {
        if (reader->places[i].worker == reader->places[i - 1].worker) {
            return gw_json_expected(lanes, "every worker at most once", error);
        }
    }
    return GW_OK;
}

static enum gw_status read_pair(const struct gw_json *place, double pair[2],
                                struct gw_error *error) {
    if (!cJSON_IsArray(place->node) || cJSON_GetArraySize(place->node) != 2) {
        return gw_json_expected(place, "a pair of numbers", error);
    }
    for (int i = 0; i < 2; i++) {
        struct gw_json item = gw_json_item(place, cJSON_GetArrayItem(place->node, i), (size_t)i);
        GW_TRY(gw_json_not_negative(&item, &pair[i], error));
    }
    return GW_OK;
}

static enum gw_status read_lanes(const struct gw_json *other, struct reader *reader,
                                 struct gw_error *error) {
    struct gw_timeline *timeline = reader->timeline;
    struct gw_json lanes = gw_json_member(other, "lanes");
    GW_TRY(gw_json_array(&lanes, error));
    size_t count = (size_t)cJSON_GetArraySize(lanes.node);
    if (count == 0) {
        return gw_json_expected(&lanes, "at least one pair", error);
    }
    GW_TRY(gw_timeline_create(timeline, count, error));
    size_t index = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, lanes.node) {
        struct gw_json place = gw_json_item(&lanes, node, index);
        double pair[2] = {0};
        uint64_t worker = 0;
        uint64_t workers = 0;
        GW_TRY(read_pair(&place, pair, error));
        struct gw_json first = gw_json_item(&place, cJSON_GetArrayItem(node, 0), 0);
        struct gw_json alike = gw_json_item(&place, cJSON_GetArrayItem(node, 1), 1);
        GW_TRY(gw_json_integer(&first, 0, &worker, error));
        GW_TRY(gw_json_integer(&alike, 1, &workers, error));
        timeline->lanes[index++] =
            (struct gw_lane){.worker = (size_t)worker, .workers = (size_t)workers};
    }
    return sort_lanes(&lanes, reader, error);
}

static enum gw_status read_iterations(const struct gw_json *other, struct gw_timeline *timeline,
                                      struct gw_error *error) {
    struct gw_json iterations = gw_json_member(other, "iterations_s");
    GW_TRY(gw_json_array(&iterations, error));
    size_t index = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, iterations.node) {
        struct gw_json place = gw_json_item(&iterations, node, index++);
        double pair[2] = {0};
        GW_TRY(read_pair(&place, pair, error));
        GW_TRY(gw_timeline_add_iteration(timeline, pair[0], pair[1], error));
    }
    return GW_OK;
}

static enum gw_status read_activity(const struct gw_json *event, enum gw_activity *out,
                                    struct gw_error *error) {
    struct gw_json category = gw_json_member(event, "cat");
    const char *name = NULL;
    GW_TRY(gw_json_text(&category, &name, error));
    for (int activity = 0; activity < GW_ACTIVITY_COUNT; activity++) {
        if (strcmp(gw_activity_name((enum gw_activity)activity), name) == 0) {
            *out = (enum gw_activity)activity;
            return GW_OK;
        }
    }
    return gw_json_expected(&category, "the name of an activity", error);
}

static enum gw_status read_lane(const struct gw_json *event, const struct reader *reader,
                                size_t *out, struct gw_error *error) {
    struct gw_json process = gw_json_member(event, "pid");
    struct place key = {0};
    GW_TRY(gw_json_integer(&process, 0, &key.worker, error));
    const struct place *found = reader->places == NULL
                                    ? NULL
                                    : bsearch(&key, reader->places, reader->timeline->lane_count,
                                              sizeof *reader->places, by_worker);
    if (found == NULL) {
        return gw_json_expected(&process, "one of the workers in otherData.lanes", error);
    }
    *out = found->lane;
    return GW_OK;
}

/* The label becomes the timeline's. */
static enum gw_status read_label(const struct gw_json *arguments, struct gw_timeline *timeline,
                                 const char **out, struct gw_error *error) {
    struct gw_json place = gw_json_member(arguments, "label");
    const char *text = NULL;
    GW_TRY(gw_json_text(&place, &text, error));
    char *copy = strdup(text);
    if (copy == NULL) {
        return gw_fail_memory(error, "reading a timeline");
    }
    timeline->labels[timeline->label_count++] = copy;
    *out = copy;
    return GW_OK;
}

static enum gw_status read_span(const struct gw_json *event, const struct reader *reader,
                                struct gw_error *error) {
    struct gw_json arguments = gw_json_member(event, "args");
    struct gw_json thread = gw_json_member(event, "tid");
    struct gw_json start = gw_json_member(event, "ts");
    struct gw_json duration = gw_json_member(event, "dur");
    struct gw_json group = gw_json_member(&arguments, "group");
    struct gw_json elements = gw_json_member(&arguments, "elements");
    struct gw_json bytes = gw_json_member(&arguments, "bytes");
    struct gw_span span = {.group = GW_NO_GROUP};
    uint64_t stream = 0;
    double duration_us = 0;
    GW_TRY(read_lane(event, reader, &span.lane, error));
    GW_TRY(read_activity(event, &span.activity, error));
    GW_TRY(gw_json_integer(&thread, 0, &stream, error));
    if (stream >= GW_STREAM_COUNT) {
        return gw_json_expected(&thread, "the number of a stream", error);
    }
    span.stream = (enum gw_stream)stream;
    GW_TRY(gw_json_not_negative(&start, &span.start_s, error));
    GW_TRY(gw_json_not_negative(&duration, &duration_us, error));
    span.end_s = (span.start_s + duration_us) / us_per_s;
    span.start_s /= us_per_s;
    if (group.node != NULL) {
        uint64_t number = 0;
        GW_TRY(gw_json_integer(&group, 0, &number, error));
        if (number >= GW_NO_GROUP) {
            return gw_json_expected(&group, "the number of a group", error);
        }
        span.group = (uint32_t)number;
    }
    GW_TRY(gw_json_integer(&elements, 0, &span.elements, error));
    GW_TRY(gw_json_integer(&bytes, 0, &span.bytes, error));
    GW_TRY(read_label(&arguments, reader->timeline, &span.label, error));
    return gw_timeline_add(reader->timeline, span, error);
}

static enum gw_status read_document(const cJSON *document, const char *path, struct reader *reader,
                                    struct gw_error *error) {
    struct gw_timeline *timeline = reader->timeline;
    struct gw_json top = {.node = document, .file = path};
    struct gw_json other = gw_json_member(&top, "otherData");
    struct gw_json events = gw_json_member(&top, "traceEvents");
    struct gw_json root;
    GW_TRY(gw_json_root(other.node, path, schema, &root, error));
    GW_TRY(read_lanes(&other, reader, error));
    GW_TRY(read_iterations(&other, timeline, error));
    GW_TRY(gw_json_array(&events, error));
    timeline->labels =
        calloc((size_t)cJSON_GetArraySize(events.node) + 1, sizeof *timeline->labels);
    if (timeline->labels == NULL) {
        return gw_fail_memory(error, "reading a timeline");
    }
    size_t index = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, events.node) {
        struct gw_json event = gw_json_item(&events, node, index++);
        struct gw_json phase = gw_json_member(&event, "ph");
        const char *kind = NULL;
        GW_TRY(gw_json_text(&phase, &kind, error));
        if (strcmp(kind, "X") == 0) {
            GW_TRY(read_span(&event, reader, error));
        }
    }
    return gw_timeline_check(timeline, error);
}

enum gw_status gw_timeline_read(const char *path, struct gw_timeline *out, struct gw_error *error) {
    cJSON *document = NULL;
    *out = (struct gw_timeline){0};
    GW_TRY(gw_json_read(path, &document, error));
    struct reader reader = {.timeline = out};
    enum gw_status status = read_document(document, path, &reader, error);
    free(reader.places);
    cJSON_Delete(document);
    if (status != GW_OK) {
        gw_timeline_free(out);
    }
    return status;
}
