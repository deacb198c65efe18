/*
 * The event queue of all simulations: what happens next, among up to millions of pending events.
 *
 * A ladder queue (Tang, Goh and Thng, "Ladder queue: an O(1) priority queue structure for
 * large-scale discrete event simulation", 2005): events far ahead lie unsorted, those of the next
 * stretch of time are spread over buckets, and only the bucket that comes next is sorted. Taking an
 * event costs a constant on average, whatever is pending, and reads memory in a row.
 */
#ifndef GW_ENGINE_ENGINE_H
#define GW_ENGINE_ENGINE_H

#include "core/core.h"

/* Events come by time; those of equal time by order, which the caller gives. */
struct gw_event {
    uint64_t time;
    uint32_t order;
    uint32_t id; /* the caller's */
};

struct gw_queue;

enum gw_status gw_queue_open(struct gw_queue **out, struct gw_error *error);
void gw_queue_close(struct gw_queue *queue);

/* Any time will do, also one that has passed: it then comes next. */
enum gw_status gw_queue_push(struct gw_queue *queue, struct gw_event event, struct gw_error *error);

/* Takes the earliest event; *any is false if there is none. */
enum gw_status gw_queue_pop(struct gw_queue *queue, struct gw_event *out, bool *any,
                            struct gw_error *error);

/*
 * The event that is likely to come `ahead` events after the next one, or NULL: for asking for its
 * memory early. It may be overtaken by events that are pushed meanwhile.
 */
const struct gw_event *gw_queue_ahead(const struct gw_queue *queue, size_t ahead);

/* False when the events ahead have come together since the last one was taken. */
bool gw_queue_is_warm(const struct gw_queue *queue);

#endif
