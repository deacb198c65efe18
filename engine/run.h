/* A run of events in order: what the queue takes from next. */
#ifndef GW_ENGINE_RUN_H
#define GW_ENGINE_RUN_H

#include "engine/engine.h"

static inline bool gw_event_before(const struct gw_event *a, const struct gw_event *b) {
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

struct gw_run {
    size_t next, count, capacity;
    struct gw_event *events;
    size_t spare_capacity;
    struct gw_event *spare; /* for merging */
};

/* Empties the run and makes room for `count` events, which the caller writes to run->events. */
enum gw_status gw_run_start(struct gw_run *run, size_t count, struct gw_error *error);

/* Sorts the run: in one pass if it is in order, as events of symmetric simulations mostly are. */
enum gw_status gw_run_sort(struct gw_run *run, struct gw_error *error);

void gw_run_free(struct gw_run *run);

#endif
