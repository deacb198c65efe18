/*
 * The event queue of all simulations: takes the earliest of up to millions of pending events.
 *
 * It is a ladder queue (Tang, Goh and Thng, "Ladder queue: an O(1) priority queue structure for
 * large-scale discrete event simulation", 2005): events of the far future lie unsorted, events of
 * the near future are spread over buckets, and only the next bucket is sorted. Taking an event
 * takes constant time on average, however many are pending, and reads memory sequentially.
 */
#ifndef GW_ENGINE_ENGINE_H
#define GW_ENGINE_ENGINE_H

#include "core/core.h"

/*
 * An event. The earlier time comes first; at equal times, the lower order, which the caller gives.
 */
struct gw_event {
    uint64_t time;
    uint32_t order;
    uint32_t id; /* the caller's */
};

struct gw_queue;

enum gw_status gw_queue_open(struct gw_queue **out, struct gw_error *error);
void gw_queue_close(struct gw_queue *queue);

/* Adds an event. A time that has passed already is allowed: the event then comes next. */
enum gw_status gw_queue_push(struct gw_queue *queue, struct gw_event event, struct gw_error *error);

/* Takes the earliest event; *any is false if there is none. */
enum gw_status gw_queue_pop(struct gw_queue *queue, struct gw_event *out, bool *any,
                            struct gw_error *error);

/* The event that will probably be taken `ahead` events after the next one, or NULL, so that a
 * caller can prefetch its memory. Events that are pushed meanwhile may come before it. */
const struct gw_event *gw_queue_ahead(const struct gw_queue *queue, size_t ahead);

/* False if the events ahead were sorted since the last one was taken. */
bool gw_queue_is_warm(const struct gw_queue *queue);

#endif
