#include "traces/timeline.h"

#include <math.h>
#include <stdlib.h>

#include "traces/timeline_parts.h"

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
    GW_GROW(timeline->spans, timeline->span_count + 1, timeline->span_capacity,
            "recording a timeline", error);
    timeline->spans[timeline->span_count++] = span;
    return GW_OK;
}

enum gw_status gw_timeline_add_iteration(struct gw_timeline *timeline, double start_s, double end_s,
                                         struct gw_error *error) {
    GW_GROW(timeline->iterations, timeline->iteration_count + 1, timeline->iteration_capacity,
            "recording a timeline", error);
    timeline->iterations[timeline->iteration_count++] =
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

static size_t row_of(const struct gw_span *span) {
    return span->lane * GW_STREAM_COUNT + span->stream;
}

void gw_timeline_free_rows(struct gw_timeline_rows *rows) {
    free(rows->first);
    free(rows->order);
}

enum gw_status gw_timeline_sort_rows(const struct gw_timeline *timeline,
                                     struct gw_timeline_rows *out, struct gw_error *error) {
    size_t row_count = timeline->lane_count * GW_STREAM_COUNT;
    out->first = calloc(row_count + 2, sizeof *out->first);
    out->order = calloc(timeline->span_count + 1, sizeof *out->order);
    if (out->first == NULL || out->order == NULL) {
        gw_timeline_free_rows(out);
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

/* Returns the time of one row not covered by the other, merging two ordered lists. */
static double uncovered_time(const struct gw_timeline *timeline,
                             const struct gw_timeline_rows *rows, size_t row, size_t cover_row) {
    double total = 0;
    size_t cover = rows->first[cover_row];
    for (size_t i = rows->first[row]; i < rows->first[row + 1]; i++) {
        const struct gw_span *span = &timeline->spans[rows->order[i]];
        total += span->end_s - span->start_s;
        while (cover < rows->first[cover_row + 1]) {
            const struct gw_span *other = &timeline->spans[rows->order[cover]];
            total -= fmax(0, fmin(span->end_s, other->end_s) - fmax(span->start_s, other->start_s));
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
    struct gw_timeline_rows rows;
    GW_TRY(gw_timeline_sort_rows(timeline, &rows, error));
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
        exposed += share * uncovered_time(timeline, &rows, row + GW_STREAM_COMMUNICATION,
                                          row + GW_STREAM_COMPUTE);
    }
    gw_timeline_free_rows(&rows);
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

/* ---- bytes -------------------------------------------------------------------------------- */

double gw_timeline_bytes_per_lane(const struct gw_timeline *timeline) {
    double bytes = 0;
    for (size_t i = 0; i < timeline->span_count; i++) {
        bytes += (double)timeline->spans[i].bytes;
    }
    return bytes / (double)timeline->lane_count;
}
