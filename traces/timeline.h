/*
 * Timelines: spans on the streams of workers, in virtual time (sim) or real time (exec). Both write
 * the same timeline, so that a prediction and its measurement compare.
 */
#ifndef GW_TRACES_TIMELINE_H
#define GW_TRACES_TIMELINE_H

#include "core/core.h"

/* A worker's streams: each runs one operation at a time, in order. */
enum gw_stream { GW_STREAM_COMPUTE, GW_STREAM_COMMUNICATION, GW_STREAM_COUNT };

enum gw_activity {
    GW_FORWARD,
    GW_BACKWARD,
    GW_COMPRESS,
    GW_WAIT, /* in a collective, for the last worker to arrive */
    GW_EXCHANGE,
    GW_UPDATE,
    GW_ACTIVITY_COUNT
};

const char *gw_stream_name(enum gw_stream stream);
const char *gw_activity_name(enum gw_activity activity);

enum { GW_NO_GROUP = UINT32_MAX };

struct gw_span {
    size_t lane;
    enum gw_stream stream;
    enum gw_activity activity;
    uint32_t group;    /* GW_NO_GROUP: serves no group */
    const char *label; /* the tensor, compressor or collective; lives longer than the timeline */
    uint64_t elements, bytes;
    double start_s, end_s;
};

/* A worker, or several that behave alike and are shown once. */
struct gw_lane {
    size_t worker;  /* the first one */
    size_t workers; /* how many */
};

struct gw_iteration {
    double start_s, end_s;
};

struct gw_timeline {
    size_t lane_count;
    struct gw_lane *lanes;
    size_t span_count, span_capacity;
    struct gw_span *spans; /* of one lane and stream: in order, without overlap */
    size_t iteration_count, iteration_capacity;
    struct gw_iteration *iterations;
};

enum gw_status gw_timeline_create(struct gw_timeline *out, size_t lane_count,
                                  struct gw_error *error);
enum gw_status gw_timeline_add(struct gw_timeline *timeline, struct gw_span span,
                               struct gw_error *error);
enum gw_status gw_timeline_add_iteration(struct gw_timeline *timeline, double start_s, double end_s,
                                         struct gw_error *error);
/* Appends the spans and iterations of `more`, which has the same lanes, in its own times. */
enum gw_status gw_timeline_append(struct gw_timeline *timeline, const struct gw_timeline *more,
                                  struct gw_error *error);
/* Forgets spans and iterations, keeps lanes and memory. */
void gw_timeline_clear(struct gw_timeline *timeline);
void gw_timeline_free(struct gw_timeline *timeline);

/*
 * Writes the Chrome trace format, for ui.perfetto.dev: one process per worker, one thread per
 * stream, and "schema": "gradweave/timeline@1" in otherData.
 */
enum gw_status gw_timeline_write(const struct gw_timeline *timeline, const char *path,
                                 struct gw_error *error);

/*
 * Writes timelines side by side: one process each, with a thread for each stream of each lane. Span
 * i is of the same operation in all of them, and states its time in each.
 */
struct gw_named_timeline {
    const char *name;
    const struct gw_timeline *timeline;
};
enum gw_status gw_timelines_write(const struct gw_named_timeline *timelines, size_t count,
                                  const char *path, struct gw_error *error);

/* Parts of an iteration's time: means over workers, which add up to its length. */
struct gw_breakdown {
    double forward_s, backward_s, compress_s;
    double exposed_comm_s; /* communication stream busy or waiting while the compute stream idles */
    double other_s;        /* the update, and all remaining time */
};

struct gw_measure {
    double iteration_s;
    struct gw_breakdown breakdown;
    double comm_s; /* exchanges, without waiting where waiting is known */
};

/* Measures the timeline's only iteration, or fails if there is none; O(spans). */
enum gw_status gw_timeline_measure(const struct gw_timeline *timeline, struct gw_measure *out,
                                   struct gw_error *error);

/* Returns the mean of the bytes that a worker sends in the whole timeline. */
double gw_timeline_bytes_per_lane(const struct gw_timeline *timeline);

#endif
