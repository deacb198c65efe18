/*
 * Timelines as Chrome traces, which ui.perfetto.dev opens: a process for each worker, a thread for
 * each stream; counters of bytes in flight and of exposed communication; arrows from a group's last
 * compute span to its exchange.
 */
#include "traces/timeline.h"

#include <stdio.h>
#include <stdlib.h>

#include "traces/timeline_parts.h"

/* ---- processes, threads and spans ------------------------------------------------------------ */

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

/* Writes a span, and leaves its arguments open for more. */
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

/* Writes data that viewers ignore: each lane's count of workers, and the iterations' ends. */
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

/* ---- counters -------------------------------------------------------------------------------- */

static void write_counter(struct gw_json_writer *writer, size_t process, double at_s,
                          const char *name, const char *unit, double value) {
    gw_writer_object(writer, NULL);
    gw_writer_text(writer, "ph", "C");
    gw_writer_text(writer, "name", name);
    gw_writer_number(writer, "pid", (double)process);
    gw_writer_number(writer, "ts", us_per_s * at_s);
    gw_writer_object(writer, "args");
    gw_writer_number(writer, unit, value);
    gw_writer_end(writer);
    gw_writer_end(writer);
}

/* Counts a lane's bytes in flight: an exchange's bytes while it lasts. */
static void count_bytes(struct gw_json_writer *writer, const struct gw_timeline *timeline,
                        const struct gw_timeline_rows *rows, size_t lane) {
    static const char name[] = "bytes in flight";
    size_t process = timeline->lanes[lane].worker;
    size_t row = lane * GW_STREAM_COUNT + GW_STREAM_COMMUNICATION;
    for (size_t i = rows->first[row]; i < rows->first[row + 1]; i++) {
        const struct gw_span *span = &timeline->spans[rows->order[i]];
        if (span->activity == GW_EXCHANGE) {
            write_counter(writer, process, span->start_s, name, "bytes", (double)span->bytes);
            write_counter(writer, process, span->end_s, name, "bytes", 0);
        }
    }
}

/* Counts the exposed communication so far: the communication stream is busy, compute idle. */
struct exposure {
    struct gw_json_writer *writer;
    size_t process;
    double total_s;
};

static void expose_span(struct exposure *exposure, double start_s, double end_s) {
    static const char name[] = "exposed communication";
    static const double ms_per_s = 1e3;
    if (end_s > start_s) {
        write_counter(exposure->writer, exposure->process, start_s, name, "ms",
                      ms_per_s * exposure->total_s);
        exposure->total_s += end_s - start_s;
        write_counter(exposure->writer, exposure->process, end_s, name, "ms",
                      ms_per_s * exposure->total_s);
    }
}

static void count_exposed(struct gw_json_writer *writer, const struct gw_timeline *timeline,
                          const struct gw_timeline_rows *rows, size_t lane) {
    struct exposure exposure = {.writer = writer, .process = timeline->lanes[lane].worker};
    size_t row = lane * GW_STREAM_COUNT + GW_STREAM_COMMUNICATION;
    size_t cover_row = lane * GW_STREAM_COUNT + GW_STREAM_COMPUTE;
    size_t cover = rows->first[cover_row];
    for (size_t i = rows->first[row]; i < rows->first[row + 1]; i++) {
        const struct gw_span *span = &timeline->spans[rows->order[i]];
        double at_s = span->start_s;
        for (; cover < rows->first[cover_row + 1]; cover++) {
            const struct gw_span *other = &timeline->spans[rows->order[cover]];
            if (other->start_s < span->end_s) {
                expose_span(&exposure, at_s, other->start_s);
                at_s = other->end_s > at_s ? other->end_s : at_s;
            }
            if (other->end_s > span->end_s) {
                break; /* it may cover the next one, too */
            }
        }
        expose_span(&exposure, at_s, span->end_s);
    }
}

/* ---- arrows ---------------------------------------------------------------------------------- */

/* A span, by the group that it serves. */
struct served {
    size_t lane, span;
    uint32_t group;
    double start_s;
};

static int by_group(const void *a, const void *b) {
    const struct served *left = a, *right = b;
    if (left->lane != right->lane) {
        return left->lane < right->lane ? -1 : 1;
    }
    if (left->group != right->group) {
        return left->group < right->group ? -1 : 1;
    }
    return (left->start_s > right->start_s) - (left->start_s < right->start_s);
}

static void write_end_of_arrow(struct gw_json_writer *writer, const struct gw_timeline *timeline,
                               const struct gw_span *span, const char *phase, size_t number) {
    bool begins = phase[0] == 's';
    double at_s = begins ? (span->start_s + span->end_s) / 2 : span->start_s;
    gw_writer_object(writer, NULL);
    gw_writer_text(writer, "ph", phase);
    gw_writer_text(writer, "name", "group");
    gw_writer_text(writer, "cat", "group");
    gw_writer_number(writer, "id", (double)number);
    gw_writer_number(writer, "pid", (double)timeline->lanes[span->lane].worker);
    gw_writer_number(writer, "tid", span->stream);
    gw_writer_number(writer, "ts", us_per_s * at_s);
    if (!begins) {
        gw_writer_text(writer, "bp", "e"); /* to the span that begins there */
    }
    gw_writer_end(writer);
}

/* Writes arrows from each group's last compute span to its exchange. */
static enum gw_status write_arrows(struct gw_json_writer *writer,
                                   const struct gw_timeline *timeline, struct gw_error *error) {
    struct served *served = calloc(timeline->span_count + 1, sizeof *served);
    const struct gw_span *ready = NULL;
    size_t count = 0;
    if (served == NULL) {
        return gw_fail_memory(error, "writing a timeline");
    }
    for (size_t i = 0; i < timeline->span_count; i++) {
        const struct gw_span *span = &timeline->spans[i];
        bool serves = span->activity == GW_BACKWARD || span->activity == GW_COMPRESS ||
                      span->activity == GW_EXCHANGE;
        if (serves && span->group != GW_NO_GROUP) {
            served[count++] = (struct served){span->lane, i, span->group, span->start_s};
        }
    }
    qsort(served, count, sizeof *served, by_group);
    for (size_t i = 0; i < count; i++) {
        const struct gw_span *span = &timeline->spans[served[i].span];
        if (span->stream == GW_STREAM_COMPUTE) {
            ready = span;
        } else if (ready != NULL && ready->lane == span->lane && ready->group == span->group) {
            write_end_of_arrow(writer, timeline, ready, "s", served[i].span);
            write_end_of_arrow(writer, timeline, span, "f", served[i].span);
        }
    }
    free(served);
    return GW_OK;
}

/* ---- one timeline ---------------------------------------------------------------------------- */

enum gw_status gw_timeline_write(const struct gw_timeline *timeline, const char *path,
                                 struct gw_error *error) {
    struct gw_json_writer writer;
    struct gw_timeline_rows rows;
    GW_TRY(gw_timeline_sort_rows(timeline, &rows, error));
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
    for (size_t i = 0; i < timeline->lane_count; i++) {
        count_bytes(&writer, timeline, &rows, i);
        count_exposed(&writer, timeline, &rows, i);
    }
    gw_timeline_free_rows(&rows);
    enum gw_status status = write_arrows(&writer, timeline, error);
    gw_writer_end(&writer);
    enum gw_status written = gw_writer_finish_compact_file(&writer, path, error);
    return status != GW_OK ? status : written;
}

/* ---- several timelines ----------------------------------------------------------------------- */

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
            for (size_t other = 0; other < count; other++) { /* the span's time in each of them */
                const struct gw_span *beside = &timelines[other].timeline->spans[i];
                char key[64];
                snprintf(key, sizeof key, "%s_s", timelines[other].name);
                gw_writer_number(&writer, key, beside->end_s - beside->start_s);
            }
            close_span(&writer);
        }
    }
    gw_writer_end(&writer);
    return gw_writer_finish_compact_file(&writer, path, error);
}
