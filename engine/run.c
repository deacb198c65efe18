#include "engine/run.h"

#include <stdlib.h>
#include <string.h>

enum { INSERTED = 24 }; /* as many are sorted by insertion */

enum gw_status gw_run_start(struct gw_run *run, size_t count, struct gw_error *error) {
    struct gw_event *events = gw_grow(run->events, count, &run->capacity, sizeof *events);
    if (events == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    run->events = events;
    run->next = 0;
    run->count = count;
    return GW_OK;
}

static void insert(struct gw_event *events, size_t count) {
    for (size_t i = 1; i < count; i++) {
        struct gw_event event = events[i];
        size_t hole = i;
        for (; hole > 0 && gw_event_before(&event, &events[hole - 1]); hole--) {
            events[hole] = events[hole - 1];
        }
        events[hole] = event;
    }
}

/* How many events from `first` on are in order. */
static size_t ascending(const struct gw_event *events, size_t first, size_t count) {
    size_t end = first + 1;
    while (end < count && !gw_event_before(&events[end], &events[end - 1])) {
        end++;
    }
    return end - first;
}

static void merge(const struct gw_event *a, size_t a_count, const struct gw_event *b,
                  size_t b_count, struct gw_event *out) {
    while (a_count > 0 && b_count > 0) {
        bool second = gw_event_before(b, a);
        *out++ = second ? *b : *a;
        b += second;
        b_count -= second;
        a += !second;
        a_count -= !second;
    }
    memcpy(out, a_count > 0 ? a : b, (a_count + b_count) * sizeof *out);
}

/* Merges neighbouring ascending stretches once; returns whether there was more than one. */
static bool merge_stretches(const struct gw_event *from, size_t count, struct gw_event *to) {
    size_t first = ascending(from, 0, count);
    if (first == count) {
        return false;
    }
    for (size_t done = 0; done < count;) {
        size_t a = ascending(from, done, count);
        size_t b = done + a < count ? ascending(from, done + a, count) : 0;
        merge(from + done, a, from + done + a, b, to + done);
        done += a + b;
    }
    return true;
}

enum gw_status gw_run_sort(struct gw_run *run, struct gw_error *error) {
    if (run->count <= INSERTED) {
        insert(run->events, run->count);
        return GW_OK;
    }
    if (ascending(run->events, 0, run->count) == run->count) {
        return GW_OK;
    }
    struct gw_event *spare =
        gw_grow(run->spare, run->count, &run->spare_capacity, sizeof *run->spare);
    if (spare == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    run->spare = spare;
    while (merge_stretches(run->events, run->count, run->spare)) {
        struct gw_event *events = run->events;
        size_t capacity = run->capacity;
        run->events = run->spare;
        run->capacity = run->spare_capacity;
        run->spare = events;
        run->spare_capacity = capacity;
    }
    return GW_OK;
}

void gw_run_free(struct gw_run *run) {
    free(run->events);
    free(run->spare);
}
