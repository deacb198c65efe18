#include "traces/timeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *gw_stream_name(enum gw_stream stream) {
    static const char *const names[GW_STREAM_COUNT] = {"compute", "communication"};
    return names[stream];
}

const char *gw_activity_name(enum gw_activity activity) {
    static const char *const names[GW_ACTIVITY_COUNT] = {"forward", "backward", "compress",
                                                         "wait",    "exchange", "update"};
    return names[activity];
}

/* ---- building ------------------------------------------------------------------------------ */

enum gw_status gw_timeline_create(struct gw_timeline *out, size_t lane_count,
                                  struct gw_error *error) {
    *out = (struct gw_timeline){.lane_count = lane_count,
                                .lanes = calloc(lane_count, sizeof *out->lanes)};
    if (out->lanes == NULL) {
        *out = (struct gw_timeline){0};
        return gw_fail_memory(error, "making a timeline");
    }
    for (size_t lane = 0; lane < lane_count; lane++) {
        out->lanes[lane] = (struct gw_lane){.worker = lane, .workers = 1};
    }
    return GW_OK;
}

enum gw_status gw_timeline_add(struct gw_timeline *timeline, struct gw_span span,
                               struct gw_error *error) {
    struct gw_span *spans = gw_grow(timeline->spans, timeline->span_count + 1,
                                    &timeline->span_capacity, sizeof *timeline->spans);
    if (spans == NULL) {
        return gw_fail_memory(error, "recording a timeline");
    }
    timeline->spans = spans;
    spans[timeline->span_count++] = span;
    return GW_OK;
}

enum gw_status gw_timeline_add_iteration(struct gw_timeline *timeline, double start_s, double end_s,
                                         struct gw_error *error) {
    struct gw_iteration *iterations =
        gw_grow(timeline->iterations, timeline->iteration_count + 1, &timeline->iteration_capacity,
                sizeof *timeline->iterations);
    if (iterations == NULL) {
        return gw_fail_memory(error, "recording a timeline");
    }
    timeline->iterations = iterations;
    iterations[timeline->iteration_count++] =
        (struct gw_iteration){.start_s = start_s, .end_s = end_s};
    return GW_OK;
}

enum gw_status gw_timeline_append(struct gw_timeline *timeline, const struct gw_timeline *more,
                                  struct gw_error *error) {
    for (size_t i = 0; i < more->span_count; i++) {
        GW_TRY(gw_timeline_add(timeline, more->spans[i], error));
    }
    for (size_t i = 0; i < more->iteration_count; i++) {
        const struct gw_iteration *iteration = &more->iterations[i];
        GW_TRY(gw_timeline_add_iteration(timeline, iteration->start_s, iteration->end_s, error));
    }
    return GW_OK;
}

void gw_timeline_clear(struct gw_timeline *timeline) {
    timeline->span_count = 0;
    timeline->iteration_count = 0;
}

void gw_timeline_free(struct gw_timeline *timeline) {
    free(timeline->lanes);
    free(timeline->spans);
    free(timeline->iterations);
    *timeline = (struct gw_timeline){0};
}

/* ---- checking and measuring ---------------------------------------------------------------- */

/* Indices of spans by lane and stream, otherwise in their order: row r is first[r]..first[r+1]. */
struct rows {
    size_t *first, *order;
};

static size_t row_of(const struct gw_span *span) {
    return span->lane * GW_STREAM_COUNT + span->stream;
}

static void free_rows(struct rows *rows) {
    free(rows->first);
    free(rows->order);
}

static enum gw_status sort_rows(const struct gw_timeline *timeline, struct rows *out,
                                struct gw_error *error) {
    size_t row_count = timeline->lane_count * GW_STREAM_COUNT;
    out->first = calloc(row_count + 2, sizeof *out->first);
    out->order = calloc(timeline->span_count + 1, sizeof *out->order);
    if (out->first == NULL || out->order == NULL) {
        free_rows(out);
        return gw_fail_memory(error, "sorting a timeline");
    }
    size_t *next = out->first + 1;
    for (size_t i = 0; i < timeline->span_count; i++) {
        next[row_of(&timeline->spans[i]) + 1]++;
    }
    for (size_t row = 0; row < row_count; row++) {
        next[row + 1] += next[row];
    }
    for (size_t i = 0; i < timeline->span_count; i++) {
        out->order[next[row_of(&timeline->spans[i])]++] = i;
    }
    return GW_OK;
}

enum gw_status gw_timeline_check(const struct gw_timeline *timeline, struct gw_error *error) {
    struct rows rows;
    GW_TRY(sort_rows(timeline, &rows, error));
    enum gw_status status = GW_OK;
    const struct gw_span *previous = NULL;
    for (size_t i = 0; i < timeline->span_count && status == GW_OK; i++) {
        const struct gw_span *span = &timeline->spans[rows.order[i]];
        /* Traces hold microseconds; their rounding must not look like an overlap. */
        double slack = 1e-9 * (1 + span->end_s);
        if (span->end_s < span->start_s || (previous != NULL && row_of(previous) == row_of(span) &&
                                            span->start_s < previous->end_s - slack)) {
            status = gw_fail(error, GW_BAD_INPUT,
                             "timeline: span %zu (%s %s): expected to start after the one before "
                             "it on its stream and to end after its start",
                             rows.order[i], gw_activity_name(span->activity), span->label);
        }
        previous = span;
    }
    free_rows(&rows);
    return status;
}

static double overlap(const struct gw_span *a, const struct gw_span *b) {
    double start = a->start_s > b->start_s ? a->start_s : b->start_s;
    double end = a->end_s < b->end_s ? a->end_s : b->end_s;
    return end > start ? end - start : 0;
}

/* How much of one row's time has no counterpart in the other: a merge of two ordered lists. */
static double uncovered(const struct gw_timeline *timeline, const struct rows *rows, size_t row,
                        size_t cover_row) {
    double total = 0;
    size_t cover = rows->first[cover_row];
    for (size_t i = rows->first[row]; i < rows->first[row + 1]; i++) {
        const struct gw_span *span = &timeline->spans[rows->order[i]];
        total += span->end_s - span->start_s;
        while (cover < rows->first[cover_row + 1]) {
            const struct gw_span *other = &timeline->spans[rows->order[cover]];
            total -= overlap(span, other);
            if (other->end_s > span->end_s) {
                break;
            }
            cover++;
        }
    }
    return total > 0 ? total : 0;
}

enum gw_status gw_timeline_measure(const struct gw_timeline *timeline, struct gw_measure *out,
                                   struct gw_error *error) {
    if (timeline->iteration_count == 0) {
        return gw_fail(error, GW_BAD_INPUT, "timeline: expected an iteration to measure, got none");
    }
    struct rows rows;
    GW_TRY(sort_rows(timeline, &rows, error));
    double total[GW_ACTIVITY_COUNT] = {0};
    double workers = 0;
    for (size_t lane = 0; lane < timeline->lane_count; lane++) {
        workers += (double)timeline->lanes[lane].workers;
    }
    double exposed = 0;
    for (size_t lane = 0; lane < timeline->lane_count; lane++) {
        double share = (double)timeline->lanes[lane].workers / workers;
        size_t row = lane * GW_STREAM_COUNT;
        for (size_t i = rows.first[row]; i < rows.first[row + GW_STREAM_COUNT]; i++) {
            const struct gw_span *span = &timeline->spans[rows.order[i]];
            total[span->activity] += share * (span->end_s - span->start_s);
        }
        exposed += share * uncovered(timeline, &rows, row + GW_STREAM_COMMUNICATION,
                                     row + GW_STREAM_COMPUTE);
    }
    free_rows(&rows);
    const struct gw_iteration *iteration = &timeline->iterations[timeline->iteration_count - 1];
    out->iteration_s = iteration->end_s - iteration->start_s;
    out->breakdown = (struct gw_breakdown){.forward_s = total[GW_FORWARD],
                                           .backward_s = total[GW_BACKWARD],
                                           .compress_s = total[GW_COMPRESS],
                                           .exposed_comm_s = exposed};
    out->breakdown.other_s =
        out->iteration_s - total[GW_FORWARD] - total[GW_BACKWARD] - total[GW_COMPRESS] - exposed;
    if (fabs(out->breakdown.other_s) < 1e-12 * out->iteration_s) { /* rounding of the sums */
        out->breakdown.other_s = 0;
    }
    out->comm_s = total[GW_EXCHANGE];
    return GW_OK;
}

/* ---- as a Chrome trace: a process for each worker, a thread for each stream ------------------ */

static const double us_per_s = 1e6;

static void write_metadata(struct gw_json_writer *writer, const char *kind, size_t process,
                           size_t thread, const char *name) {
    gw_writer_object(writer, NULL);
    gw_writer_text(writer, "ph", "M");
    gw_writer_text(writer, "name", kind);
    gw_writer_number(writer, "pid", (double)process);
    if (thread != SIZE_MAX) {
        gw_writer_number(writer, "tid", (double)thread);
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
    write_metadata(writer, "process_name", lane->worker, SIZE_MAX, name);
    for (size_t stream = 0; stream < GW_STREAM_COUNT; stream++) {
        write_metadata(writer, "thread_name", lane->worker, stream,
                       gw_stream_name((enum gw_stream)stream));
    }
}

/* Leaves the span's arguments open for more. */
static void open_span(struct gw_json_writer *writer, const struct gw_span *span, size_t process,
                      size_t thread) {
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
    gw_writer_number(writer, "pid", (double)process);
    gw_writer_number(writer, "tid", (double)thread);
    gw_writer_number(writer, "ts", us_per_s * span->start_s);
    gw_writer_number(writer, "dur", us_per_s * (span->end_s - span->start_s));
    gw_writer_object(writer, "args");
    gw_writer_text(writer, "label", span->label);
    if (span->group != GW_NO_GROUP) {
        gw_writer_number(writer, "group", span->group);
    }
    gw_writer_number(writer, "elements", (double)span->elements);
    gw_writer_number(writer, "bytes", (double)span->bytes);
}

static void close_span(struct gw_json_writer *writer) {
    gw_writer_end(writer);
    gw_writer_end(writer);
}

/* What the viewer has no use for: who stands for how many, and where iterations begin and end. */
static void write_other(struct gw_json_writer *writer, const struct gw_timeline *timeline) {
    gw_writer_object(writer, "otherData");
    gw_writer_text(writer, "schema", "gradweave/timeline@1");
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
        const struct gw_span *span = &timeline->spans[i];
        open_span(&writer, span, timeline->lanes[span->lane].worker, span->stream);
        close_span(&writer);
    }
    gw_writer_end(&writer);
    return gw_writer_finish_compact_file(&writer, path, error);
}

/* ---- timelines beside each other: a process for each, a thread for each stream of a lane ------
 */

static void write_process(struct gw_json_writer *writer, size_t process,
                          const struct gw_named_timeline *named) {
    write_metadata(writer, "process_name", process, SIZE_MAX, named->name);
    for (size_t thread = 0; thread < named->timeline->lane_count * GW_STREAM_COUNT; thread++) {
        char name[64];
        snprintf(name, sizeof name, "worker %zu %s",
                 named->timeline->lanes[thread / GW_STREAM_COUNT].worker,
                 gw_stream_name((enum gw_stream)(thread % GW_STREAM_COUNT)));
        write_metadata(writer, "thread_name", process, thread, name);
    }
}

/* What the span takes in each of the timelines. */
static void write_beside(struct gw_json_writer *writer, const struct gw_named_timeline *timelines,
                         size_t count, size_t number) {
    for (size_t t = 0; t < count; t++) {
        const struct gw_span *span = &timelines[t].timeline->spans[number];
        char key[64];
        snprintf(key, sizeof key, "%s_s", timelines[t].name);
        gw_writer_number(writer, key, span->end_s - span->start_s);
    }
}

enum gw_status gw_timelines_write(const struct gw_named_timeline *timelines, size_t count,
                                  const char *path, struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "displayTimeUnit", "ms");
    gw_writer_object(&writer, "otherData");
    gw_writer_text(&writer, "schema", "gradweave/timeline@1");
    gw_writer_end(&writer);
    gw_writer_array(&writer, "traceEvents");
    for (size_t t = 0; t < count; t++) {
        const struct gw_timeline *timeline = timelines[t].timeline;
        write_process(&writer, t, &timelines[t]);
        for (size_t i = 0; i < timeline->span_count; i++) {
            const struct gw_span *span = &timeline->spans[i];
            open_span(&writer, span, t, span->lane * GW_STREAM_COUNT + span->stream);
            write_beside(&writer, timelines, count, i);
            close_span(&writer);
        }
    }
    gw_writer_end(&writer);
    return gw_writer_finish_compact_file(&writer, path, error);
}

double gw_timeline_bytes_per_lane(const struct gw_timeline *timeline) {
    double bytes = 0;
    for (size_t i = 0; i < timeline->span_count; i++) {
        bytes += (double)timeline->spans[i].bytes;
    }
    return bytes / (double)timeline->lane_count;
}
