/* What happens next: a binary heap of events; those of equal time come as they were scheduled. */
#ifndef GW_SIM_EVENT_QUEUE_H
#define GW_SIM_EVENT_QUEUE_H

#include "core/core.h"

struct gw_event {
    double time_s;
    uint64_t sequence; /* set by the queue */
    size_t lane, operation;
};

struct gw_event_queue {
    size_t count, capacity;
    struct gw_event *heap;
    uint64_t next_sequence;
};

enum gw_status gw_event_push(struct gw_event_queue *queue, struct gw_event event,
                             struct gw_error *error);

/* Takes the earliest event; false if there is none. */
bool gw_event_pop(struct gw_event_queue *queue, struct gw_event *out);

void gw_event_queue_free(struct gw_event_queue *queue);

#endif
