/* Rows of spans, for measuring and writing timelines; private to this room. */
#ifndef GW_TRACES_TIMELINE_PARTS_H
#define GW_TRACES_TIMELINE_PARTS_H

#include "traces/timeline.h"

/*
 * Spans by rows, one for each stream of each lane; row r has the numbers, in their order,
 * order[first[r]] to order[first[r + 1] - 1].
 */
struct gw_timeline_rows {
    size_t *first, *order;
};

enum gw_status gw_timeline_sort_rows(const struct gw_timeline *timeline,
                                     struct gw_timeline_rows *out, struct gw_error *error);
void gw_timeline_free_rows(struct gw_timeline_rows *rows);

#endif
