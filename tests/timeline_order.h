/* The order that spans of every timeline have. */
#ifndef GW_TESTS_TIMELINE_ORDER_H
#define GW_TESTS_TIMELINE_ORDER_H

#include "tests/support.h"
#include "traces/timeline.h"

static inline int compare_spans(const void *a, const void *b) {
    const struct gw_span *left = a;
    const struct gw_span *right = b;
    if (left->lane != right->lane) {
        return left->lane < right->lane ? -1 : 1;
    }
    if (left->stream != right->stream) {
        return left->stream < right->stream ? -1 : 1;
    }
    return (left->start_s > right->start_s) - (left->start_s < right->start_s);
}

/* Whether each span ends after its start, and none overlaps another of its lane and stream. */
static inline bool spans_are_ordered(const struct gw_timeline *timeline) {
    size_t count = timeline->span_count;
    struct gw_span *spans = malloc((count + 1) * sizeof *spans);
    bool ordered = spans != NULL;
    for (size_t i = 0; ordered && i < count; i++) {
        spans[i] = timeline->spans[i];
        ordered = spans[i].end_s >= spans[i].start_s;
    }
    if (ordered) {
        qsort(spans, count, sizeof *spans, compare_spans);
    }
    for (size_t i = 1; ordered && i < count; i++) {
        bool same_row =
            spans[i].lane == spans[i - 1].lane && spans[i].stream == spans[i - 1].stream;
        /* Traces hold microseconds; their rounding must not look like an overlap. */
        double slack_s = 1e-9 * (1 + spans[i].end_s);
        ordered = !same_row || spans[i].start_s >= spans[i - 1].end_s - slack_s;
    }
    free(spans);
    return ordered;
}

#endif
